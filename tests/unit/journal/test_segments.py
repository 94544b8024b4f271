"""A journal in segments, and written by several threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.journal import Journal, read
from penstock.sample import BatchSample

Sampled = Callable[..., BatchSample]
Lines = Callable[[Path], list[dict[str, Any]]]


def test_segments_are_read_in_order_and_each_starts_with_a_header(
    path: Path, header: dict[str, str], a_sample: Sampled, lines: Lines
) -> None:
    with Journal.open(path, header, segment_bytes=1000) as journal:
        for batch_id in range(100):
            journal.sample(a_sample(batch_id))
    segments = sorted(path.parent.iterdir())
    assert len(segments) > 10
    assert all(lines(each)[0]["kind"] == "header" for each in segments)
    assert all(each.stat().st_size <= 1000 for each in segments)
    assert [sample.batch_id for sample in read(path).samples] == list(range(100))


def test_the_oldest_segments_go_when_the_cap_is_reached_and_the_journal_says_so(
    path: Path, header: dict[str, str], a_sample: Sampled
) -> None:
    with Journal.open(path, header, segment_bytes=1000, kept_segments=2) as journal:
        for batch_id in range(100):
            journal.sample(a_sample(batch_id))
    assert len(list(path.parent.iterdir())) == 3
    recording = read(path)
    ids = [sample.batch_id for sample in recording.samples]
    assert ids == list(range(ids[0], 100))
    assert ids[0] > 50
    assert {event.name for event in recording.events} == {"journal-dropped"}


def test_a_record_longer_than_a_segment_is_still_written(path: Path, header: dict[str, str]) -> None:
    with Journal.open(path, header, segment_bytes=10) as journal:
        for number in range(3):
            journal.event("long", number=number, text="x" * 500)
    assert [event.details["number"] for event in read(path).events] == [0, 1, 2]
    assert len(list(path.parent.iterdir())) == 3


def test_a_journal_goes_on_numbering_after_a_restart(path: Path, header: dict[str, str], a_sample: Sampled) -> None:
    for start in (0, 20):
        with Journal.open(path, {**header, "query_id": "q"}, segment_bytes=600) as journal:
            for batch_id in range(start, start + 20):
                journal.sample(a_sample(batch_id))
    assert [sample.batch_id for sample in read(path).samples] == list(range(40))


def test_threads_never_mix_their_lines(path: Path, header: dict[str, str], a_sample: Sampled) -> None:
    journal = Journal.open(path, header, segment_bytes=5000)

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
