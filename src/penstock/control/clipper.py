"""Clipper: additive increase, multiplicative decrease."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from penstock.control.base import BaseController
from penstock.control.step import Step
from penstock.errors import BadInputError
from penstock.slo import Kind, Slo


class Clipper(BaseController):
    """Additive increase, multiplicative decrease (AIMD), as TCP does: probe upwards in steps, back off by a share.

    With r = latency / target, and the band target (1 ± h):

        size' = size + step              below the band; under a bound ("<= 2 s"), always while it is kept
        size' = size * (1 - back_off)    above the band, which ends at the bound

    Source: Crankshaw et al., "Clipper: A Low-Latency Online Prediction Serving System" (2017): a batch grows
    by a constant until its latency exceeds the objective, then shrinks by a small share, 10%. It never rests, since it
    looks for the largest batch within a bound, and pays for every probe with a miss. An SLO that holds a value has a
    band to rest in, and one on throughput rests there too: more of it is not wanted.

    >>> from penstock.sample import BatchSample
    >>> controller = Clipper(Slo.parse("<= 1 s"), size=100)
    >>> controller.decide(BatchSample(batch_id=0, size=100, items=100, processing_s=0.98)).reason
    'size 110 (+10%): the last batch took 980 ms, within 818.2 ms to 1 s'
    >>> controller.decide(BatchSample(batch_id=1, size=110, items=110, processing_s=1.05)).reason
    'size 99 (-10%): the last batch took 1.05 s, over 1 s'
    """

    live_defaults: ClassVar[Mapping[str, object]] = {"warm_up": True, "step": "3%"}
    """Far below the 10% of a back-off, so that of the batches under a bound most are probes that succeed."""

    def __init__(self, slo: Slo, size: float, step: Step | float | str = 10, back_off: float = 0.1) -> None:
        super().__init__(slo, size)
        if not 0 < back_off < 1:
            raise BadInputError("back_off", back_off, "a share of the size lies between 0 and 1", "write e.g. 10%")
        self.step = Step.parse(step)
        self.back_off = back_off

    def plan(self, ratio: float) -> float:
        """Up by the step, down by the share."""
        if ratio > self._high:
            return self.size * (1 - self.back_off)
        return self.step.up(self.size) if ratio < self._low or self.slo.kind is Kind.AT_MOST else self.size
