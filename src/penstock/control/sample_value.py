"""How controllers and wrappers read a sample: the SLO's value where it teaches something, else why it does not."""

from __future__ import annotations

import math

from penstock.sample import BatchSample, Decision, Status
from penstock.size import format_size
from penstock.slo import Metric, Slo
from penstock.units import format_duration

_NAMES = {Metric.PROCESSING: "latency", Metric.END_TO_END: "end-to-end latency", Metric.THROUGHPUT: "throughput"}


def usable_value(slo: Slo, sample: BatchSample) -> float | None:
    """The measured value, or None for a batch that trains nobody.

    >>> slo = Slo.parse("1 s ± 10%")
    >>> usable_value(slo, BatchSample(batch_id=0, size=10, items=10, processing_s=0.8))
    0.8
    >>> usable_value(slo, BatchSample(batch_id=1, size=10, items=10, processing_s=0.8, status=Status.WARM_UP))
    """
    if not sample.usable:
        return None
    value = slo.measure(sample)
    return value if value is not None and math.isfinite(value) and value > 0 else None


def keep(size: float, sample: BatchSample) -> Decision:
    """The decision on a batch that trains nobody: the same size, and what was wrong.

    >>> keep(100.0, BatchSample(batch_id=3, size=0, items=0, processing_s=0.1, status=Status.EMPTY)).reason
    'batch 3 is ignored (empty): size stays at 100'
    """
    why = sample.status.value if sample.status is not Status.OK else "no usable measure"
    return Decision(size, f"batch {sample.batch_id} is ignored ({why}): size stays at {format_size(size)}")


def measure_name(slo: Slo) -> str:
    """The SLO's metric in a reason.

    >>> measure_name(Slo.parse("<= 2 s e2e")), measure_name(Slo.parse(">= 5k/s")), measure_name(Slo.parse("1 s"))
    ('end-to-end latency', 'throughput', 'latency')
    """
    return _NAMES[slo.metric]


def shown(duration_s: float) -> str:
    """A duration in a reason: three digits.

    >>> shown(0.123456), shown(0.0)
    ('123 ms', '0 s')
    """
    return format_duration(float(f"{duration_s:.3g}"))
