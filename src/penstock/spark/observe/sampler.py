"""From events to samples: an estimate at the end of a batch's job, the confirmed truth from its progress event."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Protocol

from penstock.clock import Clock, SystemClock
from penstock.sample import BatchSample, Status
from penstock.spark.observe.report import BatchProgress, JobEnd, SourceRange

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
    last_job_end_s: float
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

    def job_ended(self, job: JobEnd) -> BatchSample | None:
        """An estimate of the batch as it stands, or None where the event cannot tell."""
        stepped = self._clock_stepped()
        if job.trigger_s is None or not job.sources:
            return None
        batch = self._batches.get(job.batch_id)
        if batch is None:
            batch = _Batch(self.meter.admitted(job.sources), job.planned, job.ended_s)
            self._remember(job.batch_id, batch)
        batch.last_job_end_s = max(batch.last_job_end_s, job.ended_s)
        batch.stepped |= stepped
        batch.see_oldest(job.oldest_s)
        rows = batch.admitted.rows
        items = batch.admitted.size * self._items_per_unit if rows is None else rows
        return self._sample(
            job.batch_id,
            batch,
            processing_s=job.ended_s - job.trigger_s + self._tail_s,
            items=round(items) if math.isfinite(items) else 0,
            started_s=job.trigger_s,
            failed=not job.succeeded,
        )

    def progressed(self, progress: BatchProgress) -> BatchSample | None:
        """The batch as Spark reports it, or None for a trigger that ran no batch."""
        stepped = self._clock_stepped()
        if not progress.executed:
            return None
        batch = self._batches.get(progress.batch_id)
        if batch is None or math.isnan(batch.admitted.size):
            batch = _Batch(self.meter.admitted(progress.sources), progress.planned, math.nan)
            self._remember(progress.batch_id, batch)
        batch.see_oldest(progress.oldest_s)
        batch.planned &= progress.planned
        batch.stepped |= stepped
        rows = batch.admitted.rows
        sample = self._sample(
            progress.batch_id,
            batch,
            processing_s=progress.trigger_execution_s,
            # Spark counts a row as often as the query scans it, a self-join twice; what was admitted is one row. But
            # not every offset of Kafka is a row: some were compacted away, some mark transactions.
            items=progress.items if rows is None or math.isnan(rows) else min(round(rows), progress.items),
            started_s=progress.started_s,
            confirmed=True,
            durations_s=progress.durations_s,
        )
        if sample.status is not Status.EMPTY:
            self._seen += 1
        if sample.status is Status.OK:
            self._learn(batch, sample)
        return sample

    def _sample(
        self,
        batch_id: int,
        batch: _Batch,
        *,
        processing_s: float,
        items: int,
        started_s: float,
        confirmed: bool = False,
        failed: bool = False,
        durations_s: object = None,
    ) -> BatchSample:
        admitted, wait_s = batch.admitted, batch.admitted.wait_s
        if wait_s is None and batch.oldest_s is not None:
            # A time in the future has not waited.
            wait_s = max(started_s - batch.oldest_s, 0.0)
        if failed:
            status = Status.FAILED
        elif not batch.planned:
            status = Status.REPLAYED
        elif batch.stepped:
            status = Status.CLOCK_STEP
        elif (confirmed and items == 0) or admitted.size == 0:
            status = Status.EMPTY
        elif self._seen < self.warm_up:
            status = Status.WARM_UP
        else:
            status = Status.OK
        return BatchSample(
            batch_id=batch_id,
            size=admitted.size,
            items=items,
            processing_s=processing_s,
            wait_s=wait_s,
            status=status,
            confirmed=confirmed,
            started_s=started_s,
            backlog=admitted.backlog,
            load=admitted.load,
            part=admitted.part,
            durations_s=dict(durations_s) if isinstance(durations_s, dict) else {},
        )

    def _learn(self, batch: _Batch, sample: BatchSample) -> None:
        if sample.size > 0 and math.isfinite(sample.size):
            self._items_per_unit = sample.items / sample.size
        if sample.started_s is not None and math.isfinite(batch.last_job_end_s):
            tail_s = sample.started_s + sample.processing_s - batch.last_job_end_s
            if 0 <= tail_s < sample.processing_s:
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
