"""Slow start: reach the neighbourhood of the target in a few batches, then let the controller work."""

from __future__ import annotations

import math

from penstock.control.protocol import Controller
from penstock.control.sample_value import keep, measure_name, usable_value
from penstock.control.wrappers import Wrapper
from penstock.errors import BadInputError
from penstock.sample import BatchSample, Decision
from penstock.size import clamp, format_change
from penstock.slo import Metric, Slo


class SlowStart(Wrapper):
    """Multiplies the size while every value so far is far below the aim, then hands over for good.

    While value < below * aim, with n the batch's own size:

        size' = max(size, min(factor * size, n * aim / value))

    The second limit is the size that would hit the aim if the value grew in proportion: a latency with a fixed part
    grows less, so the ramp does not overshoot, also when samples come late or the source had too little to fill the
    batch. A throughput that no longer grows hands over too: it is not the size that holds it down.

    >>> from penstock.control.faf import Faf
    >>> slo = Slo.parse("1 s ± 10%")
    >>> controller = SlowStart(Faf(slo, size=100), slo)
    >>> for size, latency_s in ((100, 0.2), (400, 0.5), (800, 0.8)):
    ...     controller.decide(BatchSample(batch_id=0, size=size, items=size, processing_s=latency_s)).reason
    'ramp-up, latency 200 ms is under 700 ms: +300% to 400'
    'ramp-up, latency 500 ms is under 700 ms: +100% to 800'
    'latency 800 ms is under 900 ms: +1.2% to 810'
    """

    def __init__(self, inner: Controller, slo: Slo, below: float = 0.7, factor: float = 4.0) -> None:
        super().__init__(inner)
        if not 0 < below < 1:
            raise BadInputError("below", below, "a ramp ends at a share of the aim", "write e.g. 0.7")
        if not (math.isfinite(factor) and factor > 1):
            raise BadInputError("factor", factor, "a ramp needs a factor above 1", "write e.g. 2")
        self.slo = slo
        self.below = below
        self.factor = factor
        self.ramping = True
        self._highest = 0.0

    def decide(self, sample: BatchSample) -> Decision:
        """A larger size while ramping, the inner decision ever after."""
        if not self.ramping:
            return self.inner.decide(sample)
        value = usable_value(self.slo, sample)
        if value is None:
            return keep(self.size, sample)
        end = self.below * self.slo.aim
        saturated = self.slo.metric is Metric.THROUGHPUT and value <= self._highest
        self._highest = max(self._highest, value)
        if value >= end or saturated:
            self.ramping = False
            return self.inner.decide(sample)
        before = self.size
        after = clamp(max(before, min(self.factor * before, sample.size * (self.slo.aim / value))))
        if after != before:
            self.inner.size = after
        shown = self.slo.format_value
        finding = f"{measure_name(self.slo)} {shown(value)} is under {shown(end)}"
        return Decision(after, f"ramp-up, {finding}: {format_change(before, after)}")
