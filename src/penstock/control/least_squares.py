"""Least squares: a fixed time a batch plus a time per item, fitted to the last batches."""

from __future__ import annotations

import math

from penstock.control.learning import LearningController
from penstock.control.protocol import Change
from penstock.errors import BadInputError
from penstock.model.linear_cost import Line, fit
from penstock.model.past import Past
from penstock.sample import BatchSample
from penstock.size import clamp
from penstock.slo import Metric, Slo

# No size gives the whole of 1 / a: what is left of it beyond this costs ever more latency for ever less throughput.
_IN_REACH = 0.9


class LeastSquares(LearningController):
    """Least squares: learns the fixed time of a batch and the time per item, and solves for the target.

    With duration = a n + b fitted to the last `window` batches:

        size' = (target - b) / a               latency
        size' = b target / (1 - a target)      throughput: n / (a n + b) = target, or 0.9 / a where that is less

    by at most a factor of `limit` a decision. Where there is no line (one size only, a slope that cannot be), or the
    line would move the size away from what the batch calls for, the step is n / r, in proportion to the batch itself
    (n its size, r = latency / target). Within the band the size stays.

    Source: the dispatcher of BentoML, which keeps 50 batches and predicts from them how long the next one will take, to
    decide whether to wait for more requests. Solving the same line for the size is ours.

    >>> controller = LeastSquares(Slo.parse("1 s ± 10%"), size=100)
    >>> controller.decide(BatchSample(batch_id=0, size=100, items=100, processing_s=0.5)).reason
    'size 200 (+100%): the last batch took 500 ms, under 900 ms; no line fits, so in proportion to it'
    >>> controller.decide(BatchSample(batch_id=1, size=200, items=200, processing_s=0.7)).reason
    'size 350 (+75%): the last batch took 700 ms, under 900 ms; a batch takes 300 ms + 2 ms an item'
    """

    def __init__(self, slo: Slo, size: float, window: int = 50, limit: float = 4.0) -> None:
        super().__init__(slo, size)
        if not (math.isfinite(limit) and limit > 1):
            raise BadInputError("limit", limit, "a change needs a factor above 1", "write e.g. 4")
        self.limit = limit
        self._past = Past(window)

    def changed(self, change: Change) -> None:
        """Forget the last batches."""
        self._past = Past(self._past.window)

    def plan_from(self, sample: BatchSample, ratio: float) -> float:
        """What the line says, where it and the batch agree on the direction."""
        rate = self.slo.metric is Metric.THROUGHPUT
        duration_s = sample.items / (ratio * self.slo.aim) if rate else ratio * self.slo.aim
        self._past.add(sample.size, duration_s)
        if self._low <= ratio <= self._high:
            return self.size
        line = fit(self._past)
        planned = None if line is None else self._solve(line, sample.items / sample.size)
        if planned is not None and (planned > self.size) == (ratio < 1):
            self.belief = str(line)
        else:
            self.belief = f"{'no line fits' if line is None else f'no longer: {line}'}, so in proportion to it"
            planned = self.agreeing(sample.size / ratio, ratio)
        return clamp(planned, self.size / self.limit, self.size * self.limit)

    def _solve(self, line: Line, items_per_size: float) -> float:
        if self.slo.metric is not Metric.THROUGHPUT:
            return (self.slo.aim - line.fixed_s) / line.per_item_s
        # A throughput counts items, whatever the unit of the size.
        rate = min(self.slo.aim / items_per_size, _IN_REACH / line.per_item_s)
        return line.fixed_s * rate / (1 - line.per_item_s * rate)
