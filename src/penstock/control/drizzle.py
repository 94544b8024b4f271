"""Drizzle: multiplicative increase, additive decrease."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from penstock.control.base import BaseController
from penstock.control.step import Step
from penstock.errors import BadInputError
from penstock.slo import Slo


class Drizzle(BaseController):
    """Multiplicative increase, additive decrease: by a factor up into the band, step by step down into it.

    With r = latency / target, outside the band target (1 ± h):

        size' = size * factor    below
        size' = size - step      above

    Source: Venkataraman et al., "Drizzle: Fast and Adaptable Stream Processing at Scale" (2017), which tunes how many
    micro-batches are scheduled together so that the share of time lost to scheduling stays between two bounds. That
    overhead falls as the group grows, where latency rises with the batch, so the two ends change places: an overhead
    above its upper bound, where the group is multiplied, is a latency below the band; an overhead below its lower
    bound, where the group loses a step, is a latency above it. TCP does the opposite (see `clipper`): there growing is
    dangerous, here being small is expensive. The constants are ours. A step in percent divides, as `Step` says.

    >>> from penstock.sample import BatchSample
    >>> controller = Drizzle(Slo.parse("1 s ± 10%"), size=100, step=20)
    >>> controller.decide(BatchSample(batch_id=0, size=100, items=100, processing_s=0.6)).reason
    'size 200 (+100%): the last batch took 600 ms, under 900 ms'
    >>> controller.decide(BatchSample(batch_id=1, size=200, items=200, processing_s=1.2)).reason
    'size 180 (-10%): the last batch took 1.2 s, over 1.1 s'
    """

    live_defaults: ClassVar[Mapping[str, object]] = {"warm_up": True, "step": "20%", "factor": 1.3}
    """After the ramp a factor of 2 jumps far over a band of ± 10%; 1.3 lands in it or one step above."""

    def __init__(self, slo: Slo, size: float, factor: float = 2.0, step: Step | float | str = 10) -> None:
        super().__init__(slo, size)
        if not (math.isfinite(factor) and factor > 1):
            raise BadInputError("factor", factor, "growing needs a factor above 1", "write e.g. 2")
        self.factor = factor
        self.step = Step.parse(step)

    def plan(self, ratio: float) -> float:
        """Up by the factor, down by the step."""
        if ratio < self._low:
            return self.size * self.factor
        return self.step.down(self.size) if ratio > self._high else self.size
