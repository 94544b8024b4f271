"""How large the records of a Kafka topic are, from the history of its partitions' logs: the query is never changed."""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from penstock.spark.gates.kafka.end_offsets import Ends

Part: TypeAlias = tuple[str, int]

_POINTS = 512
# An offset without a record (compacted away, the mark of a transaction) takes a place too, and is not nothing.
_LEAST_BYTES = 1.0


class LogSize(NamedTuple):
    """The log of a partition at one look: its first offset, the one after its last, and its bytes on disk."""

    start: int
    end: int
    bytes: int


def parse_sizes(text: str) -> dict[Part, LogSize]:
    """Logs as our part in the JVM tells them.

    >>> parse_sizes('{"rides": {"0": [0, 12, 1200]}}')
    {('rides', 0): LogSize(start=0, end=12, bytes=1200)}
    """
    topics = json.loads(text)
    return {(topic, int(part)): LogSize(*log) for topic, parts in topics.items() for part, log in parts.items()}


class ByteHistory:
    """Bytes up to every offset of every partition.

    Each look pairs the end of a log with its size. With looks (o_0, b_0), (o_1, b_1), ... the records between two of
    them have

        (b_i - b_(i-1)) / (o_i - o_(i-1))

    bytes each: straight lines from look to look. Records from before the first look have the mean of the log that it
    found, and those after the last look are taken to be like those just before it.

    Where something was deleted between two looks (the log's start has moved, or it has shrunk) the difference tells
    nothing, and the records in between count as those before them. A log that ends earlier than before is another one.
    A size that runs ahead of the end, as it does until a record is replicated, waits for the end to follow.

    >>> history = ByteHistory()
    >>> for end, size in ((1000, 100_000), (2000, 200_000), (2100, 1_200_000)):
    ...     history.see({("a", 0): LogSize(0, end, size)})
    >>> history.between({("a", 0): 0}, {("a", 0): 500}), history.between({("a", 0): 1990}, {("a", 0): 2010})
    (50000.0, 101000.0)
    """

    def __init__(self) -> None:
        self._logs: dict[Part, _Log] = {}
        self.newest = _LEAST_BYTES
        """The bytes of a record that comes next: as those that came last, in all partitions."""

    @property
    def known(self) -> bool:
        """Whether any record was seen."""
        return any(log.last.end > log.last.start for log in self._logs.values())

    @property
    def ends(self) -> dict[Part, int]:
        """Where the partitions ended at the last look."""
        return {part: log.last.end for part, log in self._logs.items()}

    @property
    def starts(self) -> dict[Part, int]:
        """Where they began."""
        return {part: log.last.start for part, log in self._logs.items()}

    def see(self, sizes: Mapping[Part, LogSize]) -> None:
        """A look at the logs; a partition that did not answer keeps what is known of it."""
        rows, bytes_ = 0, 0.0
        for part, size in sizes.items():
            if not 0 <= size.start <= size.end or size.bytes < 0:
                continue
            log = self._logs.get(part)
            if log is None or size.end < log.last.end:
                log = self._logs[part] = _Log(size)
                came = size.end - size.start
            else:
                came = log.see(size)
            rows, bytes_ = rows + came, bytes_ + came * log.newest
        if rows:
            self.newest = bytes_ / rows

    def between(self, start: Ends, end: Ends) -> float:
        """The bytes between two offsets; a partition that is new at the end counts from its beginning."""
        return sum(self.of(part, start.get(part, 0), stop) for part, stop in end.items())

    def of(self, part: Part, start: int, stop: int) -> float:
        """The bytes between two offsets of one partition."""
        if stop <= start:
            return 0.0
        log = self._logs.get(part)
        return (stop - start) * self.newest if log is None else log.upto(stop) - log.upto(start)

    def forget(self, start: Ends) -> None:
        """Drop what only tells of records before these offsets."""
        for part, log in self._logs.items():
            log.forget(start.get(part, 0))


class _Log:
    """One partition: points on the line of bytes over offsets, and the slope before the first and after the last."""

    def __init__(self, first: LogSize) -> None:
        self.last = first
        self.newest = self._mean = max(first.bytes / max(first.end - first.start, 1), _LEAST_BYTES)
        self._offsets = [first.end]
        self._bytes = [0.0]

    def see(self, size: LogSize) -> int:
        """How many records have come."""
        before, came = self.last, size.end - self.last.end
        deleted = size.start != before.start or size.bytes < before.bytes
        if came == 0:
            self.last = size if deleted else before
            return 0
        if not deleted:
            self.newest = max((size.bytes - before.bytes) / came, _LEAST_BYTES)
        self.last = size
        self._offsets.append(size.end)
        self._bytes.append(self._bytes[-1] + came * self.newest)
        if len(self._offsets) > _POINTS:
            self._thin()
        return came

    def upto(self, offset: int) -> float:
        """Bytes from the first point to this offset; below zero for one before it."""
        at = bisect_right(self._offsets, offset)
        if at == 0:
            return (offset - self._offsets[0]) * self._mean
        if at == len(self._offsets):
            return self._bytes[-1] + (offset - self._offsets[-1]) * self.newest
        return self._bytes[at - 1] + (offset - self._offsets[at - 1]) * self._slope(at)

    def forget(self, offset: int) -> None:
        known = bisect_right(self._offsets, offset) - 1
        if known > 0:
            self._mean = self._slope(known)
            del self._offsets[:known], self._bytes[:known]

    def _slope(self, at: int) -> float:
        return (self._bytes[at] - self._bytes[at - 1]) / (self._offsets[at] - self._offsets[at - 1])

    def _thin(self) -> None:
        """Half of the points go: those at which sizes change least, so that the changes stay."""
        inner = range(1, len(self._offsets) - 1)
        bends = {at: abs(math.log(self._slope(at + 1) / self._slope(at))) for at in inner}
        gone = set(sorted(bends, key=bends.__getitem__)[: _POINTS // 2])
        self._offsets = [offset for at, offset in enumerate(self._offsets) if at not in gone]
        self._bytes = [size for at, size in enumerate(self._bytes) if at not in gone]
