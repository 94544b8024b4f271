"""Says when no size can meet the objective, because the fixed time of a batch is beyond it."""

from __future__ import annotations

import statistics
from collections import deque

from penstock.sample import BatchSample
from penstock.size import format_size
from penstock.slo import Metric, Slo
from penstock.units import format_duration

# Batches in a row that are beyond the objective, before the user is told; and that keep it, before he is told anew.
_BATCHES = 10
# A batch of one item, file or row, and a fraction: nothing smaller can be admitted.
_SMALLEST = 1.5
# Where a batch of half the size takes at least this share of the time, the time is hardly the size's.
_HALF, _HARDLY_LESS = 0.5, 0.8


class OutOfReach:
    """Tells the user, once, that the objective is out of reach for any size, and what is in reach.

    Told after ten batches in a row that took longer than the objective allows, where the smallest of them cannot be
    made smaller, or where smaller ones were hardly shorter. A wait is not counted: it may be the backlog's.

    >>> reach = OutOfReach(Slo.parse("1 s ± 10%"))
    >>> for batch_id in range(10):
    ...     news = reach.see(BatchSample(batch_id, 1, 500, processing_s=1.2))
    >>> print(news.split(", ")[0])
    no size meets the objective: the last 10 batches all took longer than 1.1 s
    >>> print(news.split(", ")[1])
    the smallest of them (size 1) took 1.2 s; ask for 1.3 s or more
    """

    def __init__(self, slo: Slo) -> None:
        self.slo = slo
        self._late: deque[tuple[float, float]] = deque(maxlen=_BATCHES)
        self._in_time = 0
        self._told = False

    @property
    def told(self) -> bool:
        """Whether the user was told, and no batch since then says otherwise."""
        return self._told

    def see(self, sample: BatchSample) -> str | None:
        """One more batch, confirmed; what to tell the user now."""
        if not sample.usable or self.slo.metric is Metric.THROUGHPUT:
            return None
        if sample.processing_s <= self.slo.high:
            self._late.clear()
            self._in_time += 1
            self._told &= self._in_time < _BATCHES
            return None
        self._in_time = 0
        self._late.append((sample.size, sample.processing_s))
        if len(self._late) < _BATCHES or self._told:
            return None
        size, took_s = min(self._late)
        larger = [other_s for other, other_s in self._late if size <= _HALF * other]
        if size > _SMALLEST and (not larger or took_s < _HARDLY_LESS * statistics.median(larger)):
            return None
        self._told = True
        asked_s, found_s = (float(f"{took_s * factor:.2g}") for factor in (1 + self.slo.tolerance, 1))
        return (
            f"no size meets the objective: the last {_BATCHES} batches all took longer than "
            f"{format_duration(self.slo.high)}, the smallest of them (size {format_size(size)}) took "
            f"{format_duration(found_s)}; ask for {format_duration(asked_s)} or more, or make a batch cheaper (fewer "
            "partitions, sources and sinks, less work a batch in foreachBatch)"
        )
