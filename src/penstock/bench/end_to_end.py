"""How long data took from its arrival to the end of its batch, and how much was processed in the time it took.

`BatchSample` tells the wait of a batch's oldest item. Here the arrivals are known, so every item is counted: an item's
end-to-end latency is the end of its batch minus its own arrival. A dataset (rows that arrive at the same moment, as
LMStream has them) is delivered with its last row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.journal import Recording
from penstock.patterns.arrivals import Arrivals
from penstock.patterns.datasets import Datasets
from penstock.sample import BatchSample, Status
from penstock.score import percentiles
from penstock.workloads.workload import Workload


@dataclass(frozen=True)
class Reached:
    """How far a query came: how many items it took, and when its schedule of arrivals began, in Unix seconds.

    `whole` is for all items of the workload, and all results of them.
    """

    items: int = 0
    epoch_s: float | None = None
    whole: bool = False


def delivered(recording: Recording) -> list[BatchSample]:
    """The batches that brought items to their end, in order, with the number of items that they admitted.

    Spark counts a row as often as a query scans it, and a self-join scans it twice; what was admitted is counted once.
    """
    by_rows = recording.header.get("unit") == "rows"
    samples = sorted(recording.samples, key=lambda sample: sample.batch_id)
    return [
        counted(sample) if by_rows else sample
        for sample in samples
        if sample.confirmed and sample.items > 0 and sample.status is not Status.FAILED
    ]


def counted(sample: BatchSample) -> BatchSample:
    """The sample of a gate in rows with its items as they were admitted."""
    return replace(sample, items=int(sample.size)) if np.isfinite(sample.size) else sample


def end_to_end(recording: Recording, workload: Workload, reached: Reached) -> dict[str, Any] | None:
    """End-to-end latency in seconds by batches (of their oldest item), by datasets and by items; None if unknown.

    Every delivered batch counts, also a first one from which no controller learned: users wait for it all the same.
    The journal has no ranges of items, but batches follow each other without a gap, so they are counted back from the
    last item: a first batch that ended before the loop was closed is not in the journal. One that is missing in the
    middle would shift all before it, so then nothing is told.
    """
    batches = delivered(recording)
    numbers = sorted(sample.batch_id for sample in recording.samples if sample.confirmed)
    rows = np.array([sample.items for sample in batches], dtype=np.int64)
    ends_s = np.array([_end_s(sample) for sample in batches]) - (reached.epoch_s or 0.0)
    stops = reached.items - rows.sum() + np.cumsum(rows)
    starts = stops - rows
    known = reached.epoch_s is not None and len(rows) > 0 and bool(np.isfinite(ends_s).all())
    if not known or starts[0] < 0 or numbers[-1] - numbers[0] != len(numbers) - 1:
        return None
    items = np.arange(starts[0], stops[-1], dtype=np.int64)
    arrivals_s = workload.arrivals.arrival_s(items)
    return {
        "batches": _told(ends_s - arrivals_s[starts - starts[0]]),
        "datasets": _of_datasets(workload, starts[0], stops, ends_s),
        "items": _told(np.repeat(ends_s, rows) - arrivals_s),
    }


def processed(recording: Recording, row_bytes: float | None) -> dict[str, float | None]:
    """Throughput as LMStream counts it: all that was processed over the time of processing, without the waiting.

    Batches without data, in which windows are closed, take their time too.
    """
    rows = sum(sample.items for sample in delivered(recording))
    busy_s = sum(sample.processing_s for sample in recording.samples if sample.confirmed)
    size = None if row_bytes is None else rows * row_bytes
    return {
        "rows": rows,
        "bytes": size,
        "processing_s": busy_s,
        "rows_per_s": rows / busy_s if busy_s > 0 else None,
        "bytes_per_s": size / busy_s if size is not None and busy_s > 0 else None,
    }


def _of_datasets(
    workload: Workload, first: int, stops: NDArray[np.int64], ends_s: NDArray[np.float64]
) -> Mapping[str, float | None] | None:
    pattern = workload.arrivals.pattern if isinstance(workload.arrivals, Arrivals) else None
    if not isinstance(pattern, Datasets):
        return None
    begin, end = (int(pattern.number_of(np.array(row))) for row in (first, stops[-1] - 1))
    numbers = np.arange(begin, end + 1, dtype=np.int64)
    last = pattern.first_of(numbers + 1) - 1
    if workload.items is not None:
        last = np.minimum(last, workload.items - 1)
    whole = last < stops[-1]
    batch = np.searchsorted(stops, last[whole], side="right")
    return _told(ends_s[batch] - (numbers[whole] + 1) * pattern.every)


def _end_s(sample: BatchSample) -> float:
    return np.nan if sample.started_s is None else sample.started_s + sample.processing_s


def _told(latencies_s: NDArray[np.float64] | Sequence[float]) -> dict[str, float | None]:
    # Spark tells its times in whole milliseconds, so a latency may come out a moment below zero.
    values = np.maximum(np.asarray(latencies_s, dtype=np.float64), 0.0)
    return {"count": len(values), **percentiles(values)}
