"""Das: fixed-point iteration on the last two batches."""

from __future__ import annotations

import math

from penstock.control.learning import LearningController
from penstock.control.protocol import Change
from penstock.errors import BadInputError
from penstock.sample import BatchSample
from penstock.size import format_size
from penstock.slo import Slo


class Das(LearningController):
    """Fixed-point iteration: the size at which this batch would have hit the target, were time proportional to size.

    With n the size of the batch that was measured and r = its latency / target:

        size' = n * rho / r
        size' = (1 - reduction) * min(n1, n2)    superlinear, and both of the last two batches were over the band

    Superlinear: the larger of the last two batches took longer per item. There the iteration alone may swing for ever.

    Source: Das, Zhong, Stoica and Shenker, "Adaptive Stream Processing using Dynamic Batch Sizing" (2014). They look
    for the batch interval x that takes rho * x to process and iterate x' = p / rho, because the interval is both what
    they set and what they compare with. An SLO fixes the time instead, and the size is iterated: p(n) = rho * target.
    Their slack rho below 1 keeps a distance from instability; here a bound is aimed at from inside already (`Slo.aim`),
    so rho is 1. Their test "p > rho * x" is the upper edge of the band: within it nothing is wrong. A throughput
    takes the place of the latency, as it does for every controller. On a batch below the band the size never shrinks,
    above it never grows.

    >>> controller = Das(Slo.parse("1 s ± 10%"), size=100)
    >>> for batch_id, (size, latency_s) in enumerate(((100, 0.5), (150, 1.2), (200, 1.8))):
    ...     controller.decide(BatchSample(batch_id=batch_id, size=size, items=size, processing_s=latency_s)).reason
    'size 200 (+100%): the last batch took 500 ms, under 900 ms; 5 ms an item'
    'size 125 (-38%): the last batch took 1.2 s, over 1.1 s; 8 ms an item'
    'size 112 (-10%): the last batch took 1.8 s, over 1.1 s; superlinear, so below the smaller of 150 and 200'
    """

    def __init__(self, slo: Slo, size: float, rho: float = 1.0, reduction: float = 0.25) -> None:
        super().__init__(slo, size)
        if not (math.isfinite(rho) and rho > 0):
            raise BadInputError("rho", rho, "a share of the target to aim at is positive", "write e.g. 0.9")
        if not 0 < reduction < 1:
            raise BadInputError("reduction", reduction, "a cut lies between 0 and 1", "write e.g. 25%")
        self.rho = rho
        self.reduction = reduction
        self._last: tuple[float, float] | None = None

    def plan_from(self, sample: BatchSample, ratio: float) -> float:
        """One iteration."""
        before, self._last = self._last, (sample.size, ratio)
        if before is not None and self._superlinear(before, self._last):
            sizes = f"{format_size(before[0])} and {format_size(sample.size)}"
            self.belief = f"superlinear, so below the smaller of {sizes}"
            planned = (1 - self.reduction) * min(before[0], sample.size)
        else:
            each = self.slo.format_value(float(f"{ratio * self.slo.aim / sample.size:.3g}"))
            self.belief = f"{each} an item"
            planned = sample.size * self.rho / ratio
        return self.agreeing(planned, ratio)

    def changed(self, change: Change) -> None:
        """Forget the batch before the last."""
        self._last = None

    def _superlinear(self, first: tuple[float, float], second: tuple[float, float]) -> bool:
        (small, ratio_of_small), (large, ratio_of_large) = sorted((first, second))
        over = self.rho * self._high
        both_over = ratio_of_small > over and ratio_of_large > over
        return both_over and small < large and ratio_of_large / large > ratio_of_small / small
