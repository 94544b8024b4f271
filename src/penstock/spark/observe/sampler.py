"""From reports to samples: an estimate at the end of a batch's job, the confirmed truth from its progress event."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Protocol

from penstock.clock import Clock, SystemClock
from penstock.sample import BatchSample, Status
from penstock.spark.observe.report import BatchReport, SourceRange

_REMEMBERED_BATCHES = 64
_TAIL_WEIGHT = 0.3
_CLOCK_STEP_S = 0.5


@dataclass(frozen=True, slots=True)
class Admitted:
    """What a gate knows of a batch that passed it: size in its unit, and what its source can tell.

    `rows` is for a gate whose unit is something else and that knows the rows all the same.
    """

    size: float
    wait_s: float | None = None
    backlog: float | None = None
    load: float | None = None
    part: str | None = None
    rows: float | None = None


class Meter(Protocol):
    """The measuring side of a gate."""

    def admitted(self, sources: tuple[SourceRange, ...]) -> Admitted:
        """What the batch with these ranges took; a size of NaN where it cannot be told."""
        ...


@dataclass
class _Batch:
    admitted: Admitted
    planned: bool
    # From the start of the trigger to the end of the last job; 0 before one has ended.
    jobs_s: float = 0.0
    stepped: bool = False
    oldest_s: float | None = None

    def see_oldest(self, oldest_s: float | None) -> None:
        """An event time of this batch that the query's own watermark saw: the oldest counts."""
        if oldest_s is not None:
            self.oldest_s = oldest_s if self.oldest_s is None else min(self.oldest_s, oldest_s)


@dataclass
class Sampler:
    """Builds the samples of one query. `warm_up` batches are marked as such and train nobody.

    The estimate at a job's end is the time since the trigger began plus the usual tail between a batch's last job
    and the end of its trigger (commit of offsets, mostly), learned from confirmed batches.
    """

    meter: Meter
    warm_up: int = 0
    clock: Clock = field(default_factory=SystemClock)
    _batches: OrderedDict[int, _Batch] = field(default_factory=OrderedDict)
    _tail_s: float = 0.03
    _items_per_unit: float = 1.0
    _seen: int = 0
    _clock_offset_s: float | None = None

    def sample(self, report: BatchReport) -> BatchSample | None:
        """The batch as far as it is known, or None where no batch was run or the report cannot tell which."""
        stepped = self._clock_stepped()
        if not report.executed:
            return None
        batch = self._batches.get(report.batch_id)
        if batch is None or (report.confirmed and math.isnan(batch.admitted.size)):
            batch = _Batch(self.meter.admitted(report.sources), report.planned)
            self._remember(report.batch_id, batch)
        batch.see_oldest(report.oldest_s)
        batch.planned &= report.planned
        batch.stepped |= stepped
        sample = self._of(report, batch)
        if not report.confirmed:
            batch.jobs_s = max(batch.jobs_s, report.took_s)
            return sample
        if sample.status is not Status.EMPTY:
            self._seen += 1
        if sample.status is Status.OK:
            self._learn(batch, sample)
        return sample

    def _of(self, report: BatchReport, batch: _Batch) -> BatchSample:
        admitted, wait_s, items = batch.admitted, batch.admitted.wait_s, self._items(report, batch.admitted)
        if wait_s is None and batch.oldest_s is not None:
            # A time in the future has not waited.
            wait_s = max(report.started_s - batch.oldest_s, 0.0)
        if report.failed:
            status = Status.FAILED
        elif not batch.planned:
            status = Status.REPLAYED
        elif batch.stepped:
            status = Status.CLOCK_STEP
        elif (report.confirmed and items == 0) or admitted.size == 0:
            status = Status.EMPTY
        elif self._seen < self.warm_up:
            status = Status.WARM_UP
        else:
            status = Status.OK
        return BatchSample(
            batch_id=report.batch_id,
            size=admitted.size,
            items=items,
            processing_s=report.took_s if report.confirmed else report.took_s + self._tail_s,
            wait_s=wait_s,
            status=status,
            confirmed=report.confirmed,
            started_s=report.started_s,
            backlog=admitted.backlog,
            load=admitted.load,
            part=admitted.part,
            durations_s=dict(report.durations_s),
        )

    def _items(self, report: BatchReport, admitted: Admitted) -> int:
        rows = admitted.rows
        if report.items is None:
            usual = admitted.size * self._items_per_unit if rows is None else rows
            return round(usual) if math.isfinite(usual) else 0
        # Spark counts a row as often as the query scans it, a self-join twice; what was admitted is one row. But not
        # every offset of Kafka is a row: some were compacted away, some mark transactions.
        return report.items if rows is None or math.isnan(rows) else min(round(rows), report.items)

    def _learn(self, batch: _Batch, sample: BatchSample) -> None:
        if sample.size > 0 and math.isfinite(sample.size):
            self._items_per_unit = sample.items / sample.size
        tail_s = sample.processing_s - batch.jobs_s
        if batch.jobs_s > 0 and 0 <= tail_s < sample.processing_s:
            self._tail_s += _TAIL_WEIGHT * (tail_s - self._tail_s)

    def _remember(self, batch_id: int, batch: _Batch) -> None:
        self._batches[batch_id] = batch
        while len(self._batches) > _REMEMBERED_BATCHES:
            self._batches.popitem(last=False)

    def _clock_stepped(self) -> bool:
        # Spark times batches with the wall clock; where that was set, the batch's duration is fiction.
        offset_s = self.clock.wall_s() - self.clock.monotonic_s()
        before_s, self._clock_offset_s = self._clock_offset_s, offset_s
        return before_s is not None and abs(offset_s - before_s) > _CLOCK_STEP_S
