"""Least squares: a fixed time a batch plus a time per item, fitted to the last batches."""

from __future__ import annotations

import math
from operator import mul
from typing import NamedTuple

from penstock.control.learning import LearningController, Past
from penstock.control.size import clamp
from penstock.errors import BadInputError
from penstock.sample import BatchSample
from penstock.slo import Metric, Slo
from penstock.units import format_duration

# No size gives the whole of 1 / a: what is left of it beyond this costs ever more latency for ever less throughput.
_IN_REACH = 0.9


class Line(NamedTuple):
    """A batch of n takes `fixed_s + per_item_s * n`."""

    per_item_s: float
    fixed_s: float

    def at(self, size: float) -> float:
        """How long a batch of this size takes, in seconds."""
        return self.fixed_s + self.per_item_s * size

    def __str__(self) -> str:
        """The line in words."""
        fixed, each = (format_duration(float(f"{value:.3g}")) for value in (self.fixed_s, self.per_item_s))
        return f"a batch takes {fixed} + {each} an item"


def fit(past: Past) -> Line | None:
    """The line of least squares, or None where the batches show none: one size only, or a slope that cannot be.

    A larger batch takes longer, and no batch takes less than no time: a line that falls, or that starts below zero, was
    drawn by noise.

    >>> past = Past(50)
    >>> for size, duration_s in ((100, 0.3), (200, 0.5), (300, 0.7)):
    ...     past.add(size, duration_s)
    >>> str(fit(past))
    'a batch takes 100 ms + 2 ms an item'
    """
    line = regress(past)
    # A fixed time of nothing may come out a rounding error below it.
    if line is None or line.per_item_s <= 0 or line.fixed_s < -1e-9 * sum(past.values) / len(past.values):
        return None
    return Line(line.per_item_s, max(line.fixed_s, 0.0))


def regress(past: Past) -> Line | None:
    """The line of least squares as it comes out, be it possible or not; None for batches that are all of one size.

    >>> past = Past(50)
    >>> for size, duration_s in ((100, 0.1), (200, 0.3)):
    ...     past.add(size, duration_s)
    >>> round(regress(past).fixed_s, 3), fit(past)
    (-0.1, None)
    """
    count = len(past.sizes)
    # Summed anew each time: running sums would never recover from one huge batch that has left the window.
    mean_size, mean_s = sum(past.sizes) / count, sum(past.values) / count
    squares = sum(map(mul, past.sizes, past.sizes))
    spread = squares - count * mean_size * mean_size
    # Less than this is what rounding leaves of batches that are all alike.
    if spread <= 1e-9 * squares:
        return None
    per_item_s = (sum(map(mul, past.sizes, past.values)) - count * mean_size * mean_s) / spread
    return Line(per_item_s, mean_s - per_item_s * mean_size)


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
