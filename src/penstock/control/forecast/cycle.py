"""Loads that come back: the period in items, and what items cost at each phase of it."""

from __future__ import annotations

import math
from array import array

import numpy as np
from numpy.typing import NDArray

PHASES = 96
_HISTORY = 400
# Extremes of so many batches say what is high and what is low.
_RECENT = 48
_LEAST_RANGE = 0.35
_HYSTERESIS = 0.15
# Intervals between crossings that differ by less are the same period.
_REGULAR = 0.25
_CROSSINGS = 6
_AROUND = np.linspace(0.88, 1.12, 61)
_UNMOVED = 0.012
_GAIN = 0.4
_LEARNED, _PASSES = 3, 8
_FARTHEST_RATIO = 10.0
_LOSS_GAIN = 0.04
# Beyond an error of 30% a batch is off the target, and how far makes no forecast better than another.
_FARTHEST = 0.1
_OFFSET_GAIN, _OFFSET_DECAY = 0.3, 0.9
_MOST_OFFSET = 0.5
_HORIZON = 2


class Cycle:
    """Finds out that the work of items repeats itself, learns a period of it, and predicts the next one.

    The load has a period when it crosses the middle between its recent extremes upwards (or downwards) at regular
    intervals, counted in items. The period is then the one, around the mean interval, under which the cumulated work
    of the last cycle is most like that of the one before.

    A period is divided into 96 phases, each with the work of an item. Batches are longer than phases: a batch whose
    work differs from the forecast multiplies all phases that it covered by the ratio. As each cycle is cut into other
    batches, jumps are found more exactly every time.

    The forecast is used only while its errors are smaller than those without it.

    >>> cycle = Cycle()
    >>> for batch in range(60):
    ...     cycle.learn(100, 100 * (4.0 if batch % 10 >= 7 else 1.0), 0.0, 0.0)
    >>> cycle.period is not None and round(cycle.period, -2)
    1000.0
    >>> round(cycle.size_for(1000.0), -1)
    780.0
    """

    def __init__(self) -> None:
        self.period: float | None = None
        self._place = 0.0
        self._sizes = array("d")
        self._works = array("d")
        # Of the last batches: the logarithm of an item's work.
        self._heavy = array("d")
        self._high: bool | None = None
        self._ups = array("d")
        self._downs = array("d")
        self._origin = 0.0
        self._phases: NDArray[np.float64] = np.ones(PHASES)
        self._loss = self._loss_without = 0.0
        self._offset = 0.0

    @property
    def trusted(self) -> bool:
        """Whether there is a period, and its forecasts are better than those without it."""
        return self.period is not None and self._loss < self._loss_without

    def learn(self, size: float, work: float, fixed: float, error_without: float) -> None:
        """One more batch; `error_without` is the error of the forecast that knows no cycle, as a logarithm."""
        # A batch of several periods tells nothing of their phases.
        if self.period is not None and size <= _HORIZON * self.period:
            self._compare(size, work, fixed, error_without)
        self._place += size
        self._sizes.append(size)
        self._works.append(work)
        self._heavy.append(math.log(work / size))
        del self._sizes[:-_HISTORY], self._works[:-_HISTORY], self._heavy[:-_RECENT]
        self._look_for_crossing(size)

    def size_for(self, work: float, ahead: float = 0.0) -> float:
        """How many items, after the `ahead` next ones, come to so much work."""
        assert self.period is not None
        goal = work * math.exp(-self._offset)
        width = self.period / PHASES
        phase = (self._place + ahead - self._origin) / width % PHASES
        first = int(phase)
        # From the phase that it begins in, of which a part is left, over two periods.
        ahead_of = np.concatenate((self._phases[first:], self._phases, self._phases[:first])) * width
        begun = phase - first
        done = np.cumsum(ahead_of) - begun * ahead_of[0]
        last = int(np.searchsorted(done, goal))
        if last >= done.size:
            return _HORIZON * self.period
        return (last + 1 - begun - float((done[last] - goal) / ahead_of[last])) * width

    def _compare(self, size: float, work: float, fixed: float, error_without: float) -> None:
        """Judge the forecast of a batch, and correct the phases that it covered."""
        assert self.period is not None
        width = self.period / PHASES
        begin = (self._place - self._origin) / width
        end = begin + size / width
        covered = np.arange(math.floor(begin), math.ceil(end))
        phases, shares = covered % PHASES, np.minimum(covered + 1, end) - np.maximum(covered, begin)
        forecast = float(self._phases[phases] @ shares) * width
        if not (forecast > 0 and math.isfinite(forecast)):
            self.period = None
            return
        error = math.log((fixed + work) / (fixed + forecast * math.exp(self._offset)))
        self._loss += _LOSS_GAIN * (min(error * error, _FARTHEST) - self._loss)
        self._loss_without += _LOSS_GAIN * (min(error_without**2, _FARTHEST) - self._loss_without)
        ratio = min(max(work / forecast, 1 / _FARTHEST_RATIO), _FARTHEST_RATIO)
        factors = ratio ** (_GAIN * shares)
        if covered.size <= PHASES:
            self._phases[phases] *= factors
        else:
            np.multiply.at(self._phases, phases, factors)
        moved = self._offset + _OFFSET_GAIN * min(max(error, -_MOST_OFFSET), _MOST_OFFSET)
        self._offset = _OFFSET_DECAY * moved

    def _look_for_crossing(self, size: float) -> None:
        low, high = min(self._heavy), max(self._heavy)
        if high - low < _LEAST_RANGE:
            return
        middle, edge = (high + low) / 2, _HYSTERESIS * (high - low)
        was, now = self._high, self._heavy[-1]
        if abs(now - middle) > edge:
            self._high = now > middle
        if was is None or was == self._high:
            return
        # Upwards somewhere within this batch, downwards about where it began: heavy batches are short.
        crossings = self._ups if self._high else self._downs
        crossings.append(self._place - (size / 2 if self._high else size))
        del crossings[:-_CROSSINGS]
        self._look_for_period(np.diff(np.array(crossings)))

    def _look_for_period(self, intervals: NDArray[np.float64]) -> None:
        if intervals.size < 2:
            return
        alike = np.abs(np.log(intervals / intervals[-1])) < _REGULAR
        if not alike[-2]:
            if self.period is not None and abs(math.log(intervals[-1] / self.period)) > _REGULAR:
                self.period = None
            return
        others = np.flatnonzero(~alike)
        mean = float(intervals[others[-1] + 1 if others.size else 0 :].mean())
        period = self._refined(mean)
        if self.period is not None and abs(math.log(period / self.period)) < _UNMOVED:
            return
        if self.period is None:
            self._loss, self._loss_without, self._offset = 0.0, 0.001, 0.0
        self._adopt(period)

    def _refined(self, mean: float) -> float:
        places, works = self._history()
        tried = mean * _AROUND
        last = places > places[-1] - 1.2 * mean
        spread = np.zeros(tried.size)
        for cycles in (1, 2):
            before = places[last] - cycles * tried[:, None]
            if cycles > 1 and before.min() < places[0]:
                break
            earlier = np.interp(before.ravel(), places, works).reshape(before.shape)
            spread += np.var(works[last] - earlier, axis=1)
        return float(tried[int(np.argmin(spread))])

    def _adopt(self, period: float) -> None:
        """Learn the phases of a period from the batches of the last three, all at once, pass after pass."""
        places, works = self._history()
        self.period, self._origin = period, self._place
        width = period / PHASES
        first = int(np.searchsorted(places, places[-1] - _LEARNED * period))
        edges = (places[first:] - places[-1]) / width
        work = np.diff(works[first:])
        total = float(work.sum())
        # One batch may be longer than all of them.
        if not 0 < total < math.inf:
            self.period = None
            return
        columns = np.arange(PHASES * math.floor(edges[0] / PHASES), 0)
        spans = np.minimum(edges[1:, None], columns + 1) - np.maximum(edges[:-1, None], columns)
        shares = np.maximum(spans, 0.0).reshape(work.size, -1, PHASES).sum(axis=1)
        covered = np.maximum(shares.sum(axis=0), 1e-9)
        self._phases = np.full(PHASES, total / (edges[-1] - edges[0]) / width)
        # What absurd sizes make of it is no forecast, and is refused when it is used.
        with np.errstate(all="ignore"):
            for _ in range(_PASSES):
                forecasts = np.maximum(shares @ self._phases * width, work / _FARTHEST_RATIO)
                ratios = np.maximum(work / forecasts, 1 / _FARTHEST_RATIO)
                self._phases *= np.exp(np.log(ratios) @ shares / covered)

    def _history(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Items and work up to the beginning of each remembered batch, and to the end of the last."""
        return (
            np.concatenate(([0.0], np.cumsum(np.array(self._sizes)))),
            np.concatenate(([0.0], np.cumsum(np.array(self._works)))),
        )
