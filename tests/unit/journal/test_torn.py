"""Journals that a crash has torn, and files that are none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import BadInputError
from penstock.journal import Journal, read
from penstock.journal.records import to_line, to_record
from penstock.sample import BatchSample

Sampled = Callable[..., BatchSample]
Lines = Callable[[Path], list[dict[str, Any]]]


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_torn_last_line_is_skipped_when_read_and_cut_when_continued(
    path: Path, cut: int, header: dict[str, str], a_sample: Sampled
) -> None:
    with Journal.open(path, header) as journal:
        journal.sample(a_sample(0))
        journal.sample(a_sample(1))
    path.write_bytes(path.read_bytes()[: -1 - cut])
    before = read(path)
    assert ([s.batch_id for s in before.samples], before.torn) == ([0], 1)
    with Journal.open(path, header) as journal:
        journal.sample(a_sample(2))
    after = read(path)
    assert ([s.batch_id for s in after.samples], after.torn) == ([0, 2], 0)
    assert [event.name for event in after.events] == ["resumed", "journal-repaired"]
    assert after.events[1].details["cut_bytes"] > 0


def test_a_last_record_that_lacks_only_its_line_end_is_kept(
    path: Path, header: dict[str, str], a_sample: Sampled
) -> None:
    with Journal.open(path, header) as journal:
        journal.sample(a_sample(0))
    path.write_bytes(path.read_bytes()[:-1])
    assert len(read(path).samples) == 1
    with Journal.open(path, header) as journal:
        journal.sample(a_sample(1))
    recording = read(path)
    assert (len(recording.samples), recording.torn) == (2, 0)


def test_a_last_line_of_zeros_is_cut_however_long_it_is(path: Path, header: dict[str, str], a_sample: Sampled) -> None:
    with Journal.open(path, header) as journal:
        journal.sample(a_sample(0))
    with path.open("ab") as file:
        file.write(b'{"kind":"sam\n' + bytes(200_000))
    Journal.open(path, header).close()
    recording = read(path)
    assert (len(recording.samples), recording.torn) == (1, 0)


@pytest.mark.parametrize("left", [0, 5, 16, 40])
def test_a_journal_that_died_in_its_header_starts_again(
    path: Path, left: int, header: dict[str, str], a_sample: Sampled, lines: Lines
) -> None:
    Journal.open(path, header).close()
    path.write_bytes(path.read_bytes()[:left])
    with Journal.open(path, header) as journal:
        journal.sample(a_sample(0))
    assert [each["kind"] for each in lines(path) if each["kind"] != "event"] == ["header", "sample"]


def test_a_torn_line_in_the_middle_is_counted_and_the_rest_is_read(
    path: Path, header: dict[str, str], a_sample: Sampled
) -> None:
    with Journal.open(path, header) as journal:
        journal.sample(a_sample(0))
    with path.open("ab") as file:
        file.write(b'{"kind":"sample","batch\n{"kind":"sample","batch_id":5}\n{"kind":"weather","t":0}\n')
        file.write(to_line({"kind": "sample", "t": 0.0, **to_record(a_sample(9)), "colour": "red"}))
    recording = read(path)
    assert [sample.batch_id for sample in recording.samples] == [0, 9]
    assert recording.torn == 2


def test_a_newer_version_is_refused_by_readers_and_writers(path: Path, header: dict[str, str]) -> None:
    path.parent.mkdir()
    path.write_text('{"kind":"header","version":2,"segment":1}\n')
    for attempt in (lambda: read(path), lambda: Journal.open(path, header)):
        with pytest.raises(BadInputError, match=r"journal version = 2: .* reads version 1; upgrade Penstock"):
            attempt()


@pytest.mark.parametrize("content", [b"dear diary\n", b"dear diary", b'{"kind":"sample"}\n', b"\x00" * 64])
def test_a_file_that_is_no_journal_is_refused_and_left_as_it_was(
    path: Path, content: bytes, header: dict[str, str]
) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    for attempt in (lambda: read(path), lambda: Journal.open(path, header)):
        with pytest.raises(BadInputError, match="not a Penstock journal"):
            attempt()
    assert path.read_bytes() == content


def test_paths_that_cannot_work_are_refused_at_the_opening(tmp_path: Path, header: dict[str, str]) -> None:
    (tmp_path / "file").write_text("")
    for bad in (tmp_path, tmp_path / "file" / "run.jsonl"):
        with pytest.raises(BadInputError, match="journal = "):
            Journal.open(bad, header)
    with pytest.raises(BadInputError, match="no journal is there"):
        read(tmp_path / "none.jsonl")
    with pytest.raises(BadInputError, match="header = 'version'"):
        Journal.open(tmp_path / "run.jsonl", {"version": 3})
