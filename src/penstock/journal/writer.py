"""Writing a journal: cheap, safe against crashes, and never in the way of the run."""

from __future__ import annotations

import errno
import logging
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from penstock.clock import Clock, SystemClock
from penstock.distribution import penstock_version
from penstock.errors import BadInputError, PenstockError
from penstock.journal.records import VERSION, Record, echo_to_record, to_line, to_record
from penstock.journal.segments import numbered, numbers, repair
from penstock.plan import BatchEcho
from penstock.sample import BatchSample, Decision

SEGMENT_BYTES = 16 * 2**20
KEPT_SEGMENTS = 64
_HEADER_FIELDS = ("kind", "version", "penstock", "segment", "opened_s", "t")
_MISTAKEN_PATH = (PermissionError, IsADirectoryError, NotADirectoryError, FileExistsError)
_log = logging.getLogger(__name__)


class Journal:
    """Writes a run down, and never stands in its way.

    No write raises: what the disk refuses is counted in `lost`, and said in a `journal-lost` event as soon as the
    disk takes records again. Opening an existing journal continues it, after cutting off a last line that a crash
    tore. Segments of `segment_bytes` are kept up to `kept_segments` beside the current one (64 of 16 MiB: 1 GiB,
    some millions of batches); then the oldest goes, with a `journal-dropped` event.

    >>> from tempfile import mkdtemp
    >>> from penstock.journal import read
    >>> path = Path(mkdtemp()) / "run.jsonl"
    >>> with Journal.open(path, {"slo": "1 s ± 10%", "unit": "rows"}) as journal:
    ...     journal.sample(BatchSample(batch_id=0, size=100, items=100, processing_s=0.8), control_s=0.0002)
    ...     journal.decision(0, Decision(120.0, "below the band"), applied=True)
    >>> recording = read(path)
    >>> recording.header["unit"], recording.samples[0].processing_s, recording.decisions[0].decision.size
    ('rows', 0.8, 120.0)
    """

    def __init__(self, path: Path, header: Mapping[str, Any], clock: Clock, segment_bytes: int, kept: int) -> None:
        self._path = path
        self._header = dict(header)
        self._clock = clock
        self._segment_bytes = segment_bytes
        self._kept = kept
        self._opened_s = clock.wall_s()
        self._lock = threading.Lock()
        self._file: BinaryIO | None = None
        self._segment = 0
        self._size = 0
        self._size_at_header = 0
        self._header_due = True
        self._warned = False
        self._lost = 0
        self._unreported = 0
        self._closed = False

    @classmethod
    def open(
        cls,
        path: str | Path,
        header: Mapping[str, Any],
        *,
        clock: Clock | None = None,
        segment_bytes: int = SEGMENT_BYTES,
        kept_segments: int = KEPT_SEGMENTS,
    ) -> Journal:
        """Start a journal, or continue the one that is there; a path that can never work is refused here."""
        if taken := [name for name in _HEADER_FIELDS if name in header]:
            raise BadInputError("header", taken[0], "the journal writes this field itself", "choose another name")
        if segment_bytes <= 0:
            raise BadInputError("segment_bytes", segment_bytes, "a segment holds something", "give e.g. 16 * 2**20")
        if kept_segments < 0:
            raise BadInputError("kept_segments", kept_segments, "not a number of files", "give 0 or more")
        if Path(path).exists() and not Path(path).is_file():
            raise BadInputError("journal", str(path), "not a regular file", "give the path of a file")
        journal = cls(Path(path), header, clock or SystemClock(), segment_bytes, kept_segments)
        cut_bytes, continued = 0, False
        try:
            cut_bytes = journal._open_segment()
            continued = journal._size > 0
        except _MISTAKEN_PATH as error:
            raise BadInputError("journal", str(path), str(error.strerror), "give a path that can be written") from error
        except OSError as error:
            _log.warning("journal %s cannot be opened yet (%s); the run goes on", path, error)
        if continued:
            journal.event("resumed")
        if cut_bytes:
            journal.event("journal-repaired", cut_bytes=cut_bytes)
        with journal._lock:
            journal._guarded(journal._make_ready)
        return journal

    @property
    def lost(self) -> int:
        """How many records the disk has refused since the opening."""
        return self._lost

    def sample(self, sample: BatchSample, *, control_s: float | None = None, obeyed: int | None = None) -> None:
        """Write what a batch did, how long the loop took to think about it, and the decision that governed it.

        `obeyed` is the batch on whose sample that decision was taken, -1 for the first size.
        """
        told = {"control_s": control_s, "obeyed": obeyed}
        extra = {name: value for name, value in told.items() if value is not None}
        self._write({"kind": "sample", "t": self._clock.wall_s(), **to_record(sample), **extra})

    def decision(self, batch_id: int, decision: Decision, *, applied: bool) -> None:
        """Write what was decided on the sample of a batch, and whether a gate took it."""
        mark = {"kind": "decision", "t": self._clock.wall_s(), "batch_id": batch_id, "applied": applied}
        self._write({**mark, **to_record(decision)})

    def echo(self, echo: BatchEcho) -> None:
        """Write what the workers of a batch echoed of their plan."""
        self._write({"kind": "echo", "t": self._clock.wall_s(), **echo_to_record(echo)})

    def event(self, name: str, **details: Any) -> None:
        """Write what else happened: a fault, a detach, a changed configuration. A detail called t or kind gets a _."""
        safe = {f"{key}_" if key in ("t", "kind") else key: value for key, value in details.items()}
        self._write(self._event(name, **safe))

    def close(self) -> None:
        """Close the file; later records count as lost."""
        with self._lock:
            self._closed = True
            self._drop_file()

    def __enter__(self) -> Journal:
        """The journal itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close."""
        self.close()

    def _write(self, record: Record) -> None:
        line = to_line(record)
        with self._lock:
            if self._closed or not self._guarded(lambda: self._put(line)):
                self._lost += 1
                self._unreported += 1

    def _event(self, name: str, **details: Any) -> Record:
        return {"kind": "event", "t": self._clock.wall_s(), "name": name, **details}

    def _guarded(self, action: Callable[[], None]) -> bool:
        try:
            action()
        except (OSError, PenstockError) as error:
            self._drop_file()
            if not self._warned:
                self._warned = True
                _log.warning("journal %s cannot be written (%s); the run goes on, records are lost", self._path, error)
            return False
        return True

    def _put(self, line: bytes) -> None:
        self._make_ready()
        if self._size_at_header < self._size and self._size + len(line) > self._segment_bytes:
            self._rotate()
        self._append(line)

    def _make_ready(self) -> None:
        if self._file is None:
            self._open_segment()
        if self._header_due:
            own = {"kind": "header", "version": VERSION, "penstock": penstock_version(), "segment": self._segment}
            times = {"opened_s": self._opened_s, "t": self._clock.wall_s()}
            self._append(to_line({**own, **times, **self._header}))
            self._header_due = False
            self._size_at_header = self._size
        if self._unreported:
            self._append(to_line(self._event("journal-lost", records=self._unreported)))
            self._unreported = 0

    def _open_segment(self) -> int:
        cut_bytes = 0
        try:
            self._segment, cut_bytes = repair(self._path)
        except FileNotFoundError:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(self._path, "ab", buffering=0)  # noqa: SIM115 - lives as long as the journal
        self._size = os.fstat(self._file.fileno()).st_size
        if self._size == 0:
            self._segment = max(numbers(self._path), default=0) + 1
            self._header_due = True
        return cut_bytes

    def _append(self, line: bytes) -> None:
        assert self._file is not None
        if self._file.write(line) != len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._size += len(line)

    def _rotate(self) -> None:
        full = numbered(self._path, self._segment)
        try:
            if full.exists():
                return
            self._path.rename(full)
        except OSError:
            return  # a segment that grows too long is better than a lost record
        self._drop_file()
        self._make_ready()
        full_ones = numbers(self._path)
        for number in full_ones[: max(0, len(full_ones) - self._kept)]:
            try:
                numbered(self._path, number).unlink(missing_ok=True)
            except OSError:
                continue
            self._append(to_line(self._event("journal-dropped", segment=number)))

    def _drop_file(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError as error:
                _log.debug("closing %s: %s", self._path, error)
