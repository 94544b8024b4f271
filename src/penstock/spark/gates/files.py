"""The gate of Spark's file source."""

from __future__ import annotations

import math
import re
from typing import Any

from penstock.errors import BadInputError, UnsupportedError
from penstock.sample import Decision
from penstock.spark.gates.protocol import SourceGate
from penstock.spark.jvm.bridge import LiveQuery
from penstock.spark.observe.report import SourceRange
from penstock.spark.observe.sampler import Admitted
from penstock.spark.reader import FIRST_FILES

FIRST_BYTES = 1_000_000
_MOST_BYTES = 2**63 - 1
_SIZE_WEIGHT = 0.3


class FileGate(SourceGate):
    """The engine gate of Spark's file source, in files or in bytes; a batch takes at least one file, whatever its size.

    Files of one size are best counted. Where sizes differ, bytes say more about the work; they are those on disk, so
    compressed ones where files are compressed. A batch ends before the first file that would pass the limit: in bytes
    it is smaller than the limit by up to a file, or larger where its one file is.

    The source knows how many files wait, not how large they are. In bytes the backlog is that number times the mean
    size of the files taken lately: so sizes and backlogs of several sources add up in one unit, zero is still zero, and
    a reader of the journal finds one unit in it.
    """

    waits = False

    def __init__(self, query: LiveQuery, source: int, user_limit: Any, unit: str = "files") -> None:
        if unit not in ("files", "bytes"):
            raise BadInputError("unit", unit, "not a unit of files", "write files or bytes")
        self.unit = unit
        self._query = query
        self._source = source
        self._user_limit = user_limit
        self._file_bytes: float | None = None
        self.first_size = float(FIRST_FILES)
        if unit == "bytes":
            self.first_size = _first_bytes(query.sources[source].limit, str(user_limit))
            query.measure_bytes(source)

    def apply(self, decision: Decision) -> None:
        """Set `maxFiles` or `maxBytes`: a composite with a minimum makes the source fail, so it is refused here."""
        if decision.min_size:
            raise UnsupportedError("Spark's file source knows no minimum; decide a size only")
        size = max(math.floor(decision.size), 1)
        if self.unit == "files":
            self._query.set_max_files(self._source, size)
        else:
            self._query.set_max_bytes(self._source, min(size, _MOST_BYTES))

    def restore(self) -> None:
        """Put the user's own read limit back."""
        self._query.set_limit(self._source, self._user_limit)

    def admitted(self, sources: tuple[SourceRange, ...]) -> Admitted:
        """Files taken, from the source's own log, or their bytes; and what waits, in the same unit."""
        taken = sources[self._source] if self._source < len(sources) else None
        if taken is None or taken.files is None:
            return Admitted(math.nan)
        if self.unit == "files":
            return Admitted(float(taken.files), backlog=taken.backlog)
        if taken.bytes is None:
            return Admitted(math.nan)
        return Admitted(float(taken.bytes), backlog=self._backlog_bytes(taken.files, taken.bytes, taken.backlog))

    def _backlog_bytes(self, files: int, taken_bytes: int, backlog: float | None) -> float | None:
        if files:
            mean = taken_bytes / files
            known = mean if self._file_bytes is None else self._file_bytes
            self._file_bytes = known + _SIZE_WEIGHT * (mean - known)
        if backlog is None:
            return None
        # Empty files wait too, and what waits must not pass for nothing.
        return backlog * max(self._file_bytes or 0.0, 1.0)


def _first_bytes(in_force: str, user_limit: str) -> float:
    """The limit in force; but `gated` leaves 1 byte there, for one file, and no ramp should begin at a byte."""
    now = _max_bytes(in_force)
    if now is not None and now > 1:
        return now
    return min(_max_bytes(user_limit) or FIRST_BYTES, float(FIRST_BYTES))


def _max_bytes(limit: str) -> float | None:
    """The number in Spark's own words for a limit in bytes."""
    found = re.search(r"MaxBytes\D*(\d+)", limit)
    return None if found is None else float(found.group(1))
