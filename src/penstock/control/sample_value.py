"""How controllers and wrappers read a sample: the SLO's value where it teaches something, else why it does not."""

from __future__ import annotations

import math

from penstock.sample import BatchSample, Code, Decision, Status
from penstock.size import format_limit, format_size
from penstock.slo import Metric, Slo
from penstock.units import format_duration

_INSTEAD = "; instead of "
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
    'size stays at 100: batch 3 is ignored (empty)'
    """
    why = sample.status.value if sample.status is not Status.OK else "no usable measure"
    return Decision(size, f"size stays at {format_size(size)}: batch {sample.batch_id} is ignored ({why})")


def begin(size: float) -> Decision:
    """The decision before the first batch.

    >>> begin(1000.0).reason
    'size 1,000: the first, nothing is measured yet'
    """
    return Decision(size, f"{format_limit(size)}: the first, nothing is measured yet", code=Code.FIRST)


def overruled(decided: str, why: str, reason: str) -> str:
    """The reason of a decision that replaces another; of several that were replaced, the controller's own is kept.

    >>> once = overruled("size 105 (+5%)", "the maximum", "size 110 (+10%): the last batch took 0.5 s, under 0.9 s")
    >>> overruled("size 200", "the oldest item was 41 s old", once)
    'size 200: the oldest item was 41 s old; instead of size 110 (+10%): the last batch took 0.5 s, under 0.9 s'
    """
    return f"{decided}: {why}{_INSTEAD}{reason.rpartition(_INSTEAD)[2]}"


def measured(slo: Slo, value: float) -> str:
    """A measured value in a reason.

    >>> measured(Slo.parse("1 s"), 0.82), measured(Slo.parse("<= 2 s e2e"), 1.4), measured(Slo.parse(">= 5k/s"), 4100)
    ('the last batch took 820 ms', 'the last batch took 1.4 s end to end', 'the last batch reached 4.1k/s')
    """
    if slo.metric is Metric.THROUGHPUT:
        return f"the last batch reached {slo.format_value(value)}"
    return f"the last batch took {slo.format_value(value)}{' end to end' if slo.metric is Metric.END_TO_END else ''}"


def measure_name(slo: Slo) -> str:
    """The SLO's metric in words.

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
