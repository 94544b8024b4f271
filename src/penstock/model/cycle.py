"""Loads that come back: when, counted in items, and what items cost at each place of a period."""

from __future__ import annotations

import math
from array import array
from itertools import pairwise, takewhile

import numpy as np

from penstock.model.crossings import Crossings
from penstock.model.shape import FARTHEST, Floats, Shape, sums
from penstock.model.steps import fit_steps
from penstock.model.waves import Known, fit_waves

# So many batches are remembered, and no period is longer.
_HISTORY = 400
# Extremes of so many batches say what is high and what is low. A range of less is no swing: as a logarithm, or in
# standard deviations of noise. Noise alone has a range of 4.5 of them, and more on a ramp or where a part of a batch is
# fixed time. Where the level cannot follow a swing, that looks like noise too: no more range than this is asked for.
_RECENT = 48
_LEAST_RANGE, _NOISE_RANGE, _ENOUGH_RANGE = 0.35, 10.0, 1.8
# Intervals between crossings that differ by less are the same period.
_REGULAR = 0.25
# Crossings are known to a batch or two: periods around the mean interval, from which a fit finds its way.
_AROUND = np.linspace(0.88, 1.12, 25)
# A trusted period that is no farther from that is kept, to begin with.
_KNOWN = 0.1
# A shape is learned from the last periods and what came just before; not again within so much of one.
_LEARNED, _BEFORE, _AGAIN = 4.0, 0.2, 0.7
# Of little more than one period, as at first, two levels explain a swing as well as waves do: not before so many.
_FOR_STEPS = 1.9
# Fewer tell no shape of as many coefficients.
_LEAST_BATCHES = 12
# A forecast of what was seen already is better than one of what comes.
_CAUTION = 1.5
_LOSS_GAIN = 0.04
# So many forecasts in a row beyond 30%, where the one without the cycle was less than half as far off: it has ended.
# One that made a batch take three times as long is enough.
_MISSES, _NEARER, _DANGEROUS = 3, 0.5, 1.1
# So much of a batch's noise is felt in the next one, and no more noise than this is believed.
_MEMORY, _MOST_NOISE = 0.5, 0.5
# What is off everywhere is followed slowly, and forgotten.
_OFFSET_GAIN, _OFFSET_DECAY = 0.1, 0.9
# Some of the goal is always for items, also where the fixed part is beyond it.
_LEAST_SHARE = 0.03
# A batch that is so many times all before it leaves no digits for them.
_SWALLOWS = 1e9


class Cycle:
    """Finds out that the work of items repeats itself, learns a period of it, and predicts the next one.

    The load has a period when it crosses the middle between its recent extremes at regular intervals, counted in items:
    twice upwards and twice downwards, or three times in one direction. What items cost over a period, and how long
    it is exactly, is then fitted to the last batches, and anew about once a period: as a swing
    (`penstock.model.waves`) or as two levels (`penstock.model.steps`), whichever explains them
    better.

    The forecast is used only while its errors are smaller than those without it. Where noise lasts, half of what the
    last batch was off by is taken out of the next: whether it does is seen from which forecast is better.

    >>> cycle = Cycle()
    >>> for batch in range(60):
    ...     work = 100 * math.exp(math.sin(2 * math.pi * batch / 12))
    ...     cycle.learn(100, work, fixed=0.0, error_without=0.3)
    >>> cycle.trusted and round(cycle.period, -1)
    1200.0
    >>> [round(cycle.size_for(100.0, fixed=0.0, ahead=ahead), -1) for ahead in (250.0, 850.0)]
    [40.0, 250.0]
    """

    def __init__(self) -> None:
        self._shape: Shape | None = None
        self._place = self._origin = 0.0
        self._sizes = array("d")
        self._works = array("d")
        self._crossings = Crossings(_RECENT)
        # Of its forecasts: with what is left of the last noise, without that, and without any cycle.
        self._loss = self._loss_forgetting = self._loss_without = 0.0
        self._misses = 0
        self._noise = self._offset = 0.0

    @property
    def period(self) -> float | None:
        """In items, if there is one."""
        return None if self._shape is None else self._shape.period

    @property
    def trusted(self) -> bool:
        """Whether there is a period, and its forecasts are better than those without it."""
        return self._shape is not None and min(self._loss, self._loss_forgetting) < self._loss_without

    def learn(self, size: float, work: float, fixed: float, error_without: float, noise: float = 0.0) -> None:
        """One more batch; `error_without` is the error of the forecast that knows no cycle, as a logarithm.

        `noise` is the standard deviation of such errors.
        """
        if size > _SWALLOWS * self._place > 0:
            self._shape = None
            return
        self._loss_without += _LOSS_GAIN * (min(error_without**2, FARTHEST) - self._loss_without)
        if self._shape is not None:
            self._compare(self._shape, size, work, fixed, error_without)
        self._place += size
        self._sizes.append(size)
        self._works.append(work)
        if len(self._sizes) > _HISTORY:
            del self._sizes[0], self._works[0]
        crossings = self._crossings
        crossings.see(math.log(work / size))
        if crossings.range < max(_LEAST_RANGE, min(_NOISE_RANGE * noise, _ENOUGH_RANGE)):
            return
        # Upwards somewhere within this batch, downwards about where it began: heavy batches are short.
        if crossings.cross(up=self._place - size / 2, down=self._place - size):
            self._look_for_period(fixed)

    def size_for(self, goal: float, fixed: float, ahead: float = 0.0, batches: int = 1) -> float:
        """How many items, after the `ahead` next ones, take the goal with the fixed time, so many batches from now."""
        assert self._shape is not None
        lasting = _MEMORY**batches * self._noise if self._noise_lasts else 0.0
        work = max(goal * math.exp(-lasting) - fixed, _LEAST_SHARE * goal)
        return self._shape.size_for(work * math.exp(-self._offset), self._place + ahead - self._origin)

    def _compare(self, shape: Shape, size: float, work: float, fixed: float, error_without: float) -> None:
        """Judge the forecast of a batch, with what is left of the last one's noise and without."""
        begin = self._place - self._origin
        forecast = shape.work(begin, begin + size) * math.exp(self._offset)
        if not 0 < forecast < math.inf:
            self._shape = None
            return
        noise = math.log((fixed + work) / (fixed + forecast))
        fresh = noise - _MEMORY * self._noise
        error = fresh if self._noise_lasts else noise
        self._noise = min(max(noise, -_MOST_NOISE), _MOST_NOISE)
        self._offset = _OFFSET_DECAY * (self._offset + _OFFSET_GAIN * self._noise)
        self._loss += _LOSS_GAIN * (min(fresh * fresh, FARTHEST) - self._loss)
        self._loss_forgetting += _LOSS_GAIN * (min(noise * noise, FARTHEST) - self._loss_forgetting)
        missed = error * error > FARTHEST and abs(error_without) < _NEARER * abs(error)
        self._misses = self._misses + 1 if missed else 0
        if self._misses >= _MISSES or (missed and noise > _DANGEROUS):
            ended = _CAUTION * self._loss_without
            self._loss, self._loss_forgetting = max(self._loss, ended), max(self._loss_forgetting, ended)

    @property
    def _noise_lasts(self) -> bool:
        return self._loss < self._loss_forgetting

    def _look_for_period(self, fixed: float) -> None:
        """Adopt a period where the last intervals are alike, drop one that the last of them denies."""
        others = self._crossings.others
        intervals = [later - earlier for earlier, later in pairwise(self._crossings.last)]
        if not intervals or not all(interval > 0 for interval in intervals):
            return
        last = intervals[-1]
        regular = list(takewhile(lambda each: abs(math.log(each / last)) <= _REGULAR, reversed(intervals)))
        if self._shape is not None:
            if len(regular) == 1 and abs(math.log(regular[0] / self._shape.period)) > _REGULAR:
                self._shape = None
            elif len(regular) == 1 or self._place - self._origin < _AGAIN * self._shape.period:
                return
        if len(regular) == 1:
            other = others[-1] - others[-2] if len(others) > 1 else 0.0
            if not other > 0 or abs(math.log(other / regular[0])) > _REGULAR:
                return
            regular = [(other + regular[0]) / 2]
        total = math.fsum(regular)
        self._adopt(total / len(regular), total, fixed)

    def _adopt(self, period: float, regular: float, fixed: float) -> None:
        """Learn the shape of a period from the batches that were `regular`, the last four periods at most."""
        edges = sums(np.array(self._sizes))
        edges -= edges[-1]
        works = np.array(self._works)
        first = int(edges.searchsorted(-min(regular + _BEFORE * period, _LEARNED * period)))
        if -edges[0] < period or works.size - first < _LEAST_BATCHES:
            return
        known, shape, since = None, self._shape, self._place - self._origin
        # What absurd sizes make of it is refused.
        with np.errstate(all="ignore"):
            if shape is not None and self.trusted and abs(math.log(period / shape.period)) < _KNOWN:
                period, known = shape.period, lambda places: shape.works(places + since)
            else:
                period = _refined(edges, works, period)
            found = _fitted(edges[first:], works[first:], fixed, period, known)
        if found is None:
            return
        if self._shape is None:
            self._loss = self._loss_forgetting = _CAUTION * found[1]
            self._misses, self._noise, self._offset = 0, 0.0, 0.0
        self._shape, self._origin = found[0], self._place


def _fitted(
    edges: Floats, works: Floats, fixed: float, period: float, known: Known | None
) -> tuple[Shape, float] | None:
    """The shape that explains the batches best."""
    swing = fit_waves(edges, works, fixed, period, known)
    if -edges[0] < _FOR_STEPS * period:
        return swing
    jumps = fit_steps(edges, works, fixed, period, math.inf if swing is None else swing[1])
    return min((each for each in (jumps, swing) if each is not None), key=lambda each: each[1], default=None)


def _refined(edges: Floats, works: Floats, mean: float) -> float:
    """The period, around the mean interval, under which the last one is most like those before, in cumulated work."""
    done = sums(works)
    tried = mean * _AROUND
    spread = np.zeros(tried.size)
    for cycles in (1, 2):
        last = (edges > -(1 + _BEFORE) * mean) & (edges > edges[0] + cycles * tried[-1])
        if np.count_nonzero(last) < _LEAST_BATCHES:
            break
        before = edges[last] - cycles * tried[:, None]
        earlier = np.interp(before.ravel(), edges, done).reshape(before.shape)
        spread += np.var(done[last] - earlier, axis=1)
    return float(tried[int(np.argmin(spread))]) if spread.any() else mean
