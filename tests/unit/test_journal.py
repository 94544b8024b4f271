from __future__ import annotations

import errno
import json
import logging
import math
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.clock import ManualClock
from penstock.errors import BadInputError
from penstock.journal import Follower, Journal, read, writer
from penstock.journal.records import parse, to_decision, to_line, to_record, to_sample
from penstock.sample import BatchSample, Decision, Status

HEADER = {"slo": "1 s ± 10%", "unit": "rows", "controller": "faf"}


def a_sample(batch_id: int, **other: Any) -> BatchSample:
    return BatchSample(**{"batch_id": batch_id, "size": 10.0, "items": 10, "processing_s": 1.0, **other})


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "run.jsonl"


class FullDisk:
    """A raw file that takes `room_bytes` more and then refuses, as a full disk does: a short write, then ENOSPC."""

    room_bytes = 0

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, data: bytes) -> int:
        if FullDisk.room_bytes <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = data[: FullDisk.room_bytes]
        FullDisk.room_bytes -= len(taken)
        return int(self._file.write(taken))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> type[FullDisk]:
    FullDisk.room_bytes = 10**9

    def open_on_full_disk(*args: Any, **kw: Any) -> FullDisk:
        return FullDisk(open(*args, **kw))

    monkeypatch.setattr(writer, "open", open_on_full_disk, raising=False)
    return FullDisk


def test_what_is_written_is_read_back(path: Path) -> None:
    clock = ManualClock(_wall_s=100.0)
    full = BatchSample(3, 20.5, 20, 0.5, 0.1, Status.WARM_UP, True, 99.0, 7.0, 1.5, "wave", {"addBatch": 0.4})
    decided = Decision(12.0, "above the band", min_size=2.0, max_wait_s=0.5)
    with Journal.open(path, HEADER, clock=clock) as journal:
        journal.sample(a_sample(2), control_s=0.001)
        journal.sample(full)
        clock.advance(1.0)
        journal.decision(3, decided, applied=False)
        journal.event("detach", reason="the user asked", kind="calm")
    recording = read(path)
    assert recording.samples == [a_sample(2), full]
    assert recording.decisions == [(3, decided, False, 101.0)]
    assert recording.events == [("detach", 101.0, {"reason": "the user asked", "kind_": "calm"})]
    assert recording.control_s == [0.001]
    assert recording.torn == 0


def test_first_line_is_a_versioned_header_and_every_record_has_time_and_kind(path: Path) -> None:
    with Journal.open(path, HEADER, clock=ManualClock(_wall_s=5.0)) as journal:
        journal.sample(a_sample(0))
        journal.event("fault")
    first, *others = lines(path)
    assert (first["kind"], first["version"], first["segment"], first["slo"]) == ("header", 1, 1, "1 s ± 10%")
    assert isinstance(first["penstock"], str)
    assert [(each["kind"], each["t"]) for each in others] == [("sample", 5.0), ("event", 5.0)]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_valid_json_and_comes_back(path: Path, value: float) -> None:
    with Journal.open(path, HEADER) as journal:
        journal.sample(a_sample(0, processing_s=value, durations_s={"addBatch": value}))
        journal.event("odd", ratio=value, deep={"a": [np.float64(value)]})

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    for line in path.read_text().splitlines():
        json.loads(line, parse_constant=refuse)
    (sample,) = read(path).samples
    np.testing.assert_equal(sample.processing_s, value)
    np.testing.assert_equal(sample.durations_s["addBatch"], value)
    assert float(read(path).events[0].details["ratio"]) == pytest.approx(value, nan_ok=True)


def test_numpy_values_and_odd_objects_do_not_break_a_record(path: Path) -> None:
    circle: list[Any] = []
    circle.append(circle)
    with Journal.open(path, HEADER) as journal:
        journal.sample(a_sample(0, items=np.int64(7), size=np.float64(7.0)))
        journal.event("odd", error=RuntimeError("no"), where=Path("x"), circle=circle, text="\udc80", keys={(1, 2): 3})
    recording = read(path)
    assert recording.samples[0].items == 7
    assert recording.events[0].details["error"] == "no"
    assert recording.events[0].details["keys"] == {"(1, 2)": 3}
    assert recording.torn == 0


numbers = st.none() | st.floats(allow_nan=False)
samples = st.builds(
    BatchSample,
    batch_id=st.integers(0, 2**40),
    size=st.floats(allow_nan=False),
    items=st.integers(0, 2**40),
    processing_s=st.floats(allow_nan=False),
    wait_s=numbers,
    status=st.sampled_from(Status),
    confirmed=st.booleans(),
    started_s=numbers,
    backlog=numbers,
    load=numbers,
    part=st.none() | st.text(),
    durations_s=st.dictionaries(st.text(), st.floats(allow_nan=False)),
)


@given(samples)
def test_any_sample_survives_its_line(sample: BatchSample) -> None:
    line = to_line({"kind": "sample", **to_record(sample)})
    assert line.count(b"\n") == 1
    record = parse(line)
    assert record is not None
    assert to_sample(record) == sample


@given(st.floats(1e-3, 1e12), st.text(), st.none() | st.floats(0, 1e6))
def test_any_decision_survives_its_line(size: float, reason: str, max_wait_s: float | None) -> None:
    decision = Decision(size, reason, min_size=None if max_wait_s is None else size / 2, max_wait_s=max_wait_s)
    record = parse(to_line({"kind": "decision", **to_record(decision)}))
    assert record is not None
    assert to_decision(record) == decision


def test_a_confirmed_sample_replaces_its_estimates_and_is_not_replaced_by_one(path: Path) -> None:
    with Journal.open(path, HEADER) as journal:
        journal.sample(a_sample(0, processing_s=1.0, confirmed=False))
        journal.sample(a_sample(0, processing_s=2.0, confirmed=False))
        journal.sample(a_sample(1, processing_s=9.0, confirmed=False))
        journal.sample(a_sample(0, processing_s=3.0))
        journal.sample(a_sample(0, processing_s=4.0, confirmed=False))
    assert [(s.batch_id, s.processing_s, s.confirmed) for s in read(path).samples] == [(0, 3.0, True), (1, 9.0, False)]


def test_batch_ids_of_another_query_do_not_replace_those_of_the_first(path: Path) -> None:
    for query, seconds in (("a", 1.0), ("b", 2.0), ("b", 3.0)):
        with Journal.open(path, {**HEADER, "query_id": query}) as journal:
            journal.sample(a_sample(0, processing_s=seconds))
    assert [sample.processing_s for sample in read(path).samples] == [1.0, 3.0]


def test_without_a_query_id_each_opening_has_its_own_batches(path: Path) -> None:
    clock = ManualClock()
    for seconds in (1.0, 2.0):
        clock.advance(1.0)
        with Journal.open(path, HEADER, clock=clock, segment_bytes=400) as journal:
            journal.sample(a_sample(0, processing_s=seconds, confirmed=False))
            journal.event("padding", text="x" * 300)
            journal.sample(a_sample(0, processing_s=seconds + 0.5))
    assert len(list(path.parent.iterdir())) > 2
    assert [sample.processing_s for sample in read(path).samples] == [1.5, 2.5]


def test_opening_again_continues_and_the_latest_header_holds(path: Path) -> None:
    with Journal.open(path, {**HEADER, "query_id": "q"}) as journal:
        journal.sample(a_sample(0))
    with Journal.open(path, {**HEADER, "query_id": "q", "controller": "pid"}) as journal:
        journal.sample(a_sample(1))
    recording = read(path)
    assert [sample.batch_id for sample in recording.samples] == [0, 1]
    assert recording.header["controller"] == "pid"
    assert [event.name for event in recording.events] == ["resumed"]


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_torn_last_line_is_skipped_when_read_and_cut_when_continued(path: Path, cut: int) -> None:
    with Journal.open(path, HEADER) as journal:
        journal.sample(a_sample(0))
        journal.sample(a_sample(1))
    path.write_bytes(path.read_bytes()[: -1 - cut])
    before = read(path)
    assert ([s.batch_id for s in before.samples], before.torn) == ([0], 1)
    with Journal.open(path, HEADER) as journal:
        journal.sample(a_sample(2))
    after = read(path)
    assert ([s.batch_id for s in after.samples], after.torn) == ([0, 2], 0)
    assert [event.name for event in after.events] == ["resumed", "journal-repaired"]
    assert after.events[1].details["cut_bytes"] > 0


def test_a_last_record_that_lacks_only_its_line_end_is_kept(path: Path) -> None:
    with Journal.open(path, HEADER) as journal:
        journal.sample(a_sample(0))
    path.write_bytes(path.read_bytes()[:-1])
    assert len(read(path).samples) == 1
    with Journal.open(path, HEADER) as journal:
        journal.sample(a_sample(1))
    recording = read(path)
    assert (len(recording.samples), recording.torn) == (2, 0)


def test_a_last_line_of_zeros_is_cut_however_long_it_is(path: Path) -> None:
    with Journal.open(path, HEADER) as journal:
        journal.sample(a_sample(0))
    with path.open("ab") as file:
        file.write(b'{"kind":"sam\n' + bytes(200_000))
    Journal.open(path, HEADER).close()
    recording = read(path)
    assert (len(recording.samples), recording.torn) == (1, 0)


@pytest.mark.parametrize("left", [0, 5, 16, 40])
def test_a_journal_that_died_in_its_header_starts_again(path: Path, left: int) -> None:
    Journal.open(path, HEADER).close()
    path.write_bytes(path.read_bytes()[:left])
    with Journal.open(path, HEADER) as journal:
        journal.sample(a_sample(0))
    assert [each["kind"] for each in lines(path) if each["kind"] != "event"] == ["header", "sample"]


def test_a_torn_line_in_the_middle_is_counted_and_the_rest_is_read(path: Path) -> None:
    with Journal.open(path, HEADER) as journal:
        journal.sample(a_sample(0))
    with path.open("ab") as file:
        file.write(b'{"kind":"sample","batch\n{"kind":"sample","batch_id":5}\n{"kind":"weather","t":0}\n')
        file.write(to_line({"kind": "sample", "t": 0.0, **to_record(a_sample(9)), "colour": "red"}))
    recording = read(path)
    assert [sample.batch_id for sample in recording.samples] == [0, 9]
    assert recording.torn == 2


def test_a_newer_version_is_refused_by_readers_and_writers(path: Path) -> None:
    path.parent.mkdir()
    path.write_text('{"kind":"header","version":2,"segment":1}\n')
    for attempt in (lambda: read(path), lambda: Journal.open(path, HEADER)):
        with pytest.raises(BadInputError, match=r"journal version = 2: .* reads version 1; upgrade Penstock"):
            attempt()


@pytest.mark.parametrize("content", [b"dear diary\n", b"dear diary", b'{"kind":"sample"}\n', b"\x00" * 64])
def test_a_file_that_is_no_journal_is_refused_and_left_as_it_was(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    for attempt in (lambda: read(path), lambda: Journal.open(path, HEADER)):
        with pytest.raises(BadInputError, match="not a Penstock journal"):
            attempt()
    assert path.read_bytes() == content


def test_paths_that_cannot_work_are_refused_at_the_opening(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for bad in (tmp_path, tmp_path / "file" / "run.jsonl"):
        with pytest.raises(BadInputError, match="journal = "):
            Journal.open(bad, HEADER)
    with pytest.raises(BadInputError, match="no journal is there"):
        read(tmp_path / "none.jsonl")
    with pytest.raises(BadInputError, match="header = 'version'"):
        Journal.open(tmp_path / "run.jsonl", {"version": 3})


def test_segments_are_read_in_order_and_each_starts_with_a_header(path: Path) -> None:
    with Journal.open(path, HEADER, segment_bytes=1000) as journal:
        for batch_id in range(100):
            journal.sample(a_sample(batch_id))
    segments = sorted(path.parent.iterdir())
    assert len(segments) > 10
    assert all(lines(each)[0]["kind"] == "header" for each in segments)
    assert all(each.stat().st_size <= 1000 for each in segments)
    assert [sample.batch_id for sample in read(path).samples] == list(range(100))


def test_the_oldest_segments_go_when_the_cap_is_reached_and_the_journal_says_so(path: Path) -> None:
    with Journal.open(path, HEADER, segment_bytes=1000, kept_segments=2) as journal:
        for batch_id in range(100):
            journal.sample(a_sample(batch_id))
    assert len(list(path.parent.iterdir())) == 3
    recording = read(path)
    ids = [sample.batch_id for sample in recording.samples]
    assert ids == list(range(ids[0], 100))
    assert ids[0] > 50
    assert {event.name for event in recording.events} == {"journal-dropped"}


def test_a_record_longer_than_a_segment_is_still_written(path: Path) -> None:
    with Journal.open(path, HEADER, segment_bytes=10) as journal:
        for number in range(3):
            journal.event("long", number=number, text="x" * 500)
    assert [event.details["number"] for event in read(path).events] == [0, 1, 2]
    assert len(list(path.parent.iterdir())) == 3


def test_a_journal_goes_on_numbering_after_a_restart(path: Path) -> None:
    for start in (0, 20):
        with Journal.open(path, {**HEADER, "query_id": "q"}, segment_bytes=600) as journal:
            for batch_id in range(start, start + 20):
                journal.sample(a_sample(batch_id))
    assert [sample.batch_id for sample in read(path).samples] == list(range(40))


def test_a_full_disk_never_raises_and_the_loss_is_reported_once_there_is_room(
    path: Path, disk: type[FullDisk], caplog: pytest.LogCaptureFixture
) -> None:
    journal = Journal.open(path, HEADER)
    journal.sample(a_sample(0))
    disk.room_bytes = 30
    with caplog.at_level(logging.WARNING):
        for batch_id in (1, 2, 3):
            journal.sample(a_sample(batch_id))
    assert journal.lost == 3
    assert len(caplog.records) == 1
    assert "No space left" in caplog.text
    disk.room_bytes = 10**9
    journal.sample(a_sample(4))
    journal.sample(a_sample(5))
    recording = read(path)
    assert ([s.batch_id for s in recording.samples], recording.torn) == ([0, 4, 5], 0)
    assert [(event.name, event.details) for event in recording.events] == [("journal-lost", {"records": 3})]
    assert journal.lost == 3


@pytest.mark.parametrize("room_bytes", [0, 8, 60])
def test_a_disk_that_is_full_from_the_start_only_costs_records(
    path: Path, disk: type[FullDisk], room_bytes: int
) -> None:
    disk.room_bytes = room_bytes
    journal = Journal.open(path, HEADER)
    journal.sample(a_sample(0))
    assert journal.lost == 1
    disk.room_bytes = 10**9
    journal.sample(a_sample(1))
    assert [each["kind"] for each in lines(path)] == ["header", "event", "sample"]


def test_a_file_that_cannot_be_opened_any_more_costs_records_and_never_raises(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal.open(path, HEADER, segment_bytes=10)

    def refuse(*args: Any, **kw: Any) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(writer, "open", refuse, raising=False)
        for _ in range(3):
            journal.event("padding")
    assert journal.lost == 2
    journal.event("padding")
    assert [event.name for event in read(path).events] == ["padding", "journal-lost", "padding"]


def test_a_segment_that_cannot_be_renamed_grows_instead_of_losing_records(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal.open(path, HEADER, segment_bytes=10)

    def refuse(self: Path, target: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "rename", refuse)
    for batch_id in range(5):
        journal.sample(a_sample(batch_id))
    assert journal.lost == 0
    assert len(read(path).samples) == 5


def test_records_after_closing_count_as_lost(path: Path) -> None:
    journal = Journal.open(path, HEADER)
    journal.close()
    journal.event("late")
    journal.close()
    assert journal.lost == 1
    assert read(path).events == []


def test_threads_never_mix_their_lines(path: Path) -> None:
    journal = Journal.open(path, HEADER, segment_bytes=5000)

    def write(start: int) -> None:
        for batch_id in range(start, start + 100):
            journal.sample(a_sample(batch_id))

    threads = [threading.Thread(target=write, args=(start,)) for start in (0, 100, 200, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recording = read(path)
    assert sorted(sample.batch_id for sample in recording.samples) == list(range(400))
    assert (recording.torn, journal.lost) == (0, 0)


def test_a_follower_sees_each_record_once_across_rotations(path: Path) -> None:
    follower = Follower(path)
    assert follower.poll() == []
    journal = Journal.open(path, HEADER, segment_bytes=600)
    seen = []
    for batch_id in range(40):
        journal.sample(a_sample(batch_id))
        if batch_id % 7 == 0:
            seen += follower.poll()
    seen += follower.poll()
    assert [record["batch_id"] for record in seen if record["kind"] == "sample"] == list(range(40))
    assert (follower.poll(), follower.torn) == ([], 0)


@pytest.mark.parametrize("tail", [b'{"kind":"event","t":0,', b'{"kind":"ev\n', b"\x00\n\x00\n"])
def test_a_follower_waits_at_a_torn_tail_and_survives_its_repair(path: Path, tail: bytes) -> None:
    Journal.open(path, HEADER).close()
    follower = Follower(path)
    follower.poll()
    with path.open("ab") as file:
        file.write(tail)
    assert follower.poll() == []
    with Journal.open(path, HEADER) as journal:
        journal.event("after")
    names = [record.get("name") for record in follower.poll() if record["kind"] == "event"]
    assert names == ["resumed", "journal-repaired", "after"]
    assert follower.torn == 0


def test_a_follower_counts_torn_lines_once_something_follows_them(path: Path) -> None:
    Journal.open(path, HEADER).close()
    follower = Follower(path)
    for text in (b'{"kind":"ev\n', to_line({"kind": "event", "t": 0.0, "name": "after"})):
        with path.open("ab") as file:
            file.write(text)
        names = [record.get("name") for record in follower.poll()]
    assert (names, follower.torn) == (["after"], 1)
