"""What cannot be written costs records, never the run."""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.journal import Journal, read, writer
from penstock.sample import BatchSample

Sampled = Callable[..., BatchSample]
Lines = Callable[[Path], list[dict[str, Any]]]


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


def test_a_full_disk_never_raises_and_the_loss_is_reported_once_there_is_room(
    path: Path, disk: type[FullDisk], caplog: pytest.LogCaptureFixture, header: dict[str, str], a_sample: Sampled
) -> None:
    journal = Journal.open(path, header)
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
    path: Path, disk: type[FullDisk], room_bytes: int, header: dict[str, str], a_sample: Sampled, lines: Lines
) -> None:
    disk.room_bytes = room_bytes
    journal = Journal.open(path, header)
    journal.sample(a_sample(0))
    assert journal.lost == 1
    disk.room_bytes = 10**9
    journal.sample(a_sample(1))
    assert [each["kind"] for each in lines(path)] == ["header", "event", "sample"]


def test_a_file_that_cannot_be_opened_any_more_costs_records_and_never_raises(
    path: Path, monkeypatch: pytest.MonkeyPatch, header: dict[str, str]
) -> None:
    journal = Journal.open(path, header, segment_bytes=10)

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
    path: Path, monkeypatch: pytest.MonkeyPatch, header: dict[str, str], a_sample: Sampled
) -> None:
    journal = Journal.open(path, header, segment_bytes=10)

    def refuse(self: Path, target: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "rename", refuse)
    for batch_id in range(5):
        journal.sample(a_sample(batch_id))
    assert journal.lost == 0
    assert len(read(path).samples) == 5


def test_records_after_closing_count_as_lost(path: Path, header: dict[str, str]) -> None:
    journal = Journal.open(path, header)
    journal.close()
    journal.event("late")
    journal.close()
    assert journal.lost == 1
    assert read(path).events == []
