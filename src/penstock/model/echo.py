"""Slow loads that come back: a period of hundreds of batches or more, foreseen as it was the last times."""

from __future__ import annotations

import math
from array import array

import numpy as np

from penstock.model.crossings import Crossings
from penstock.model.shape import FARTHEST, Floats, Shape, sums

# So many stretches are remembered, each of at least this share of the largest batch, which is forgotten more slowly.
_STRETCHES, _SHARE = 1024, 0.5
_FADE = _SHARE / _STRETCHES
# One batch of many times the others does not count for as much as it is.
_RISE = 0.1
# Extremes of so many stretches say what is high and what is low. A range of less, as a logarithm, is no swing.
_RECENT, _LEAST_RANGE = 300, 0.35
# A period is at least so many of the largest batches, and so many of any size; shorter ones are for
# `penstock.model.cycle`.
_SHORTEST, _LEAST_BATCHES = 30, 120
# No two crossings of such a period are nearer than so many stretches; every fourth stretch is looked at.
_APART, _LOOKED_AT = 12, 4
# Periods around what crossings say, around one that is known, and how far the known one follows.
_AROUND, _NEAR = np.linspace(0.85, 1.15, 121), np.linspace(0.98, 1.02, 81)
_FOLLOWED, _ANOTHER = 0.4, 0.05
_COARSELY = 4
# So many cells of a period are compared with those of one, two and three periods ago, with half a period at least.
_COMPARED, _BACK, _LEAST_PART = 192, (1, 2, 3), 0.5
# They are alike if they differ by less than this share of their variance, which is of a swing if it is more than that.
_ALIKE, _LEAST_VARIANCE, _ABOUT_NOTHING = 0.2, 0.03, 0.01
# Beyond a difference of a half it makes no difference how far apart they are. The second best is not far behind.
_FARTHEST, _BETTER = 0.25, 0.7
_CELLS = 1024
# Losses are means over half a period, of items. Trust begins where they are clearly smaller than without.
_LOSS_GAIN, _CLEARLY = 2.0, 0.7
# Without a period, over so many of the largest batches.
_USUAL_PERIOD = 64
# So many forecasts in a row beyond 30%, which were within it without: it has ended.
_MISSES, _ENDED = 6, 1.5
# What is off everywhere is followed over ten of the largest batches.
_OFFSET_GAIN, _MOST_OFF = 0.1, 0.3
# Forecasts are kept until they are judged, for samples that come up to so many batches late.
_LATEST = 16


class Echo:
    """Remembers the time of items by their place, finds the period in it, and foresees the next one as the last two.

    Where samples come late, or batches wait in a queue, a slow swing has moved on before it is seen: a forecast of the
    very next items is of little use there, one of those after all that is on its way is what counts. So forecasts are
    judged on the batch that they were made for, weighed by items, beside those made without a cycle for the same.

    With hundreds of batches a period there is nothing to fit: batches are put together to stretches of at least half
    the largest batch, and the last two periods, shifted by the period under which the last three are most alike, are
    the forecast. A stretch keeps items, batches and time; the extra items of batches are added when it is read, so that
    a better guess of them holds for all of the past.

    >>> echo = Echo()
    >>> for batch in range(900):
    ...     item = math.exp(math.sin(2 * math.pi * batch / 300))
    ...     if echo.period:
    ...         echo.foresee(ahead=0.0, items=100.0)
    ...     echo.learn(100.0, 100 * item, extra=0.0, error_without=0.2, lag=1)
    >>> echo.trusted and round(echo.period, -2), round(echo.size_for(100.0, ahead=7500.0), -1)
    (30000.0, 40.0)
    """

    def __init__(self) -> None:
        self._shape: Shape | None = None
        self._place = self._origin = 0.0
        self._extra = 0.0
        self._largest = 0.0
        # Stretches, of no items where there are none yet; and the one that is not long enough yet.
        self._sizes, self._counts, self._times = (array("d", bytes(8 * _STRETCHES)) for _ in range(3))
        self._size = self._count = self._time = 0.0
        self._closed = 0
        self._crossings = Crossings(_RECENT)
        self._foreseen = array("d")
        self._offset = 0.0
        self._loss = self._loss_without = 0.0
        self._misses = self._since = 0
        self._was_trusted = False

    @property
    def period(self) -> float | None:
        """In items, if there is one."""
        return None if self._shape is None else self._shape.period

    @property
    def trusted(self) -> bool:
        """Whether there is a period, and its forecasts are better than those without it: clearly, to begin with."""
        enough = self._loss_without * (1.0 if self._was_trusted else _CLEARLY)
        return self._shape is not None and self._loss < enough

    def learn(
        self, size: float, time: float, extra: float, error_without: float, lag: int | None, look: bool = True
    ) -> None:
        """One more batch and the time of its items, as if it had `extra` more of them.

        `error_without` is the error, as a logarithm, of the forecast without a cycle, `lag` decisions ago; with no lag
        there was none. Where a quick cycle is known, nobody need `look` for a slow one: its multiples would be found.
        """
        more = size - self._largest
        self._largest += _RISE * more if more > 0 and self._closed else max(more, -_FADE * size)
        per_period = size / (self.period or _USUAL_PERIOD * self._largest)
        gain = 1 - math.exp(-_LOSS_GAIN * per_period)
        self._loss_without += gain * (min(error_without**2, FARTHEST) - self._loss_without)
        if self._shape is not None:
            self._judge(math.log(time / (size + extra)), gain, error_without, lag)
            self._follow(self._shape, size, time * size / (size + extra))
        self._was_trusted = self.trusted
        if extra != self._extra:
            self._extra = extra
            self._crossings.revise(self._heavinesses())
            if self._shape is not None:
                self._adopt(self._shape.period, both=True)
        self._place += size
        self._size, self._count, self._time = self._size + size, self._count + 1, self._time + time
        if self._size >= _SHARE * self._largest:
            self._close(look)

    def size_for(self, work: float, ahead: float = 0.0) -> float:
        """How many items, after the `ahead` next ones, come to so much work."""
        assert self._shape is not None
        return self._shape.size_for(work * math.exp(-self._offset), self._place + ahead - self._origin)

    def item(self, ahead: float, items: float) -> float:
        """What one of so many items, after the `ahead` next ones, will take."""
        assert self._shape is not None
        begin = self._place + ahead - self._origin
        return self._shape.work(begin, begin + items) / items * math.exp(self._offset)

    def foresee(self, ahead: float, items: float) -> None:
        """Note what one of so many items, after the `ahead` next ones, will take: to be judged when it is known."""
        if self._shape is None:
            return
        begin = self._place + ahead - self._origin
        work = self._shape.work(begin, begin + items)
        if not 0 < work < math.inf:
            self._shape = None
            return
        self._foreseen.append(math.log(work / items) + self._offset)
        del self._foreseen[:-_LATEST]

    def _judge(self, seen: float, gain: float, error_without: float, lag: int | None) -> None:
        error = error_without if lag is None or len(self._foreseen) < lag else seen - self._foreseen[-lag]
        self._loss += gain * (min(error * error, FARTHEST) - self._loss)
        self._misses = self._misses + 1 if error_without**2 < FARTHEST < error * error else 0
        if self._misses >= _MISSES:
            self._loss = max(self._loss, _ENDED * self._loss_without)

    def _follow(self, shape: Shape, size: float, work: float) -> None:
        begin = self._place - self._origin
        foreseen = shape.work(begin, begin + size)
        if foreseen > 0:
            off = math.log(work / foreseen) - self._offset
            # More than that is not off everywhere: it is a jump that came a batch sooner or later.
            if abs(off) < _MOST_OFF:
                self._offset += (1 - math.exp(-_OFFSET_GAIN * size / self._largest)) * off

    def _close(self, look: bool) -> None:
        """The stretch is long enough."""
        size = self._size
        self._crossings.see(math.log(self._time / (size + self._extra * self._count)))
        for past, now in ((self._sizes, size), (self._counts, self._count), (self._times, self._time)):
            past.append(now)
            del past[0]
        self._size = self._count = self._time = 0.0
        self._closed = min(self._closed + 1, _STRETCHES)
        self._since += 1
        if self._since % _LOOKED_AT or self._crossings.range < _LEAST_RANGE:
            return
        middle = self._place - size / 2
        look = look or self._shape is not None
        if self._crossings.cross(up=middle, down=middle) and self._since >= _APART and look:
            self._since = 0
            # What absurd sizes make of it is refused.
            with np.errstate(all="ignore"):
                self._look_for_period()

    def _look_for_period(self) -> None:
        """Follow a period that is trusted; else find the one under which the past is most like itself."""
        last = self._crossings.last
        intervals = [last[-1] - each for each in last[:-1]]
        trusted = self.period if self.trusted else None
        if self.period is not None:
            intervals = [self.period] if trusted else [self.period, *intervals]
        intervals = [interval for interval in intervals if self._long_enough(interval)]
        if self.period is None and not intervals:
            return
        edges, done = self._past()
        found = None
        for interval in intervals:
            alike = _most_alike(edges, done, interval, interval * (_NEAR if trusted else _AROUND))
            if alike is not None and (found is None or alike[0] < _BETTER * found[0]):
                found = alike
        if found is None:
            if trusted is None:
                self._shape = None
            return
        _, period, apart = found
        if trusted is not None:
            period = trusted + _FOLLOWED * (period - trusted)
        if self.period is None or abs(math.log(period / self.period)) > _ANOTHER:
            # Both of two periods are off by noise, a forecast of both only by one of them.
            self._loss, self._misses, self._offset = apart / 2, 0, 0.0
            del self._foreseen[:]
        self._adopt(period, both=trusted is not None)

    def _long_enough(self, interval: float) -> bool:
        if interval < _SHORTEST * self._largest:
            return False
        count = 0.0
        for size, batches in zip(reversed(self._sizes), reversed(self._counts), strict=True):
            interval -= size
            count += batches
            if count >= _LEAST_BATCHES or interval <= 0:
                break
        return count >= _LEAST_BATCHES

    def _stretches(self, most: int) -> tuple[Floats, Floats, Floats]:
        """Items, batches and times of the last ones."""
        last = slice(_STRETCHES - min(most, self._closed), None)
        return np.frombuffer(self._sizes)[last], np.frombuffer(self._counts)[last], np.frombuffer(self._times)[last]

    def _heavinesses(self) -> array[float]:
        """The logarithm of an item's time in each of the last stretches."""
        sizes, counts, times = self._stretches(_RECENT)
        return array("d", np.log(times / (sizes + self._extra * counts)).tobytes())

    def _past(self) -> tuple[Floats, Floats]:
        """The places between stretches, up to 0, and the work done up to each of them."""
        sizes, counts, times = self._stretches(_STRETCHES)
        edges = sums(sizes)
        return edges - edges[-1], sums(times * sizes / (sizes + self._extra * counts))

    def _adopt(self, period: float, both: bool) -> None:
        """Foresee the last period, or the mean of `both` of the last two, where there are two."""
        edges, done = self._past()
        places = np.linspace(-period, 0.0, _CELLS + 1)
        work = np.diff(np.interp(places, edges, done))
        if both and -edges[0] >= 2 * period:
            work = (work + np.diff(np.interp(places - period, edges, done))) / 2
        if not (work.min() > 0 and math.isfinite(work.sum())):
            self._shape = None
            return
        self._shape = Shape(period, np.full(_CELLS, 1 / _CELLS), np.log(work * (_CELLS / period)))
        self._origin = self._place - self._size


def _most_alike(edges: Floats, done: Floats, interval: float, periods: Floats) -> tuple[float, float, float] | None:
    """The period under which the last one is most like those before: how far they are apart, in shares of its variance.

    None where it is not like them; at last how far apart they are themselves, in squared logarithms. First every
    fourth of the given periods is tried, then those around the best of them.
    """
    found = _compare(edges, done, interval, periods[::_COARSELY])
    if found is None:
        return None
    at = int(periods.searchsorted(found[1]))
    return _compare(edges, done, interval, periods[max(at - _COARSELY + 1, 0) : at + _COARSELY])


def _compare(edges: Floats, done: Floats, interval: float, periods: Floats) -> tuple[float, float, float] | None:
    """The best of these, as `_most_alike` gives it."""
    total = -edges[0]
    periods = periods[periods * (1 + _LEAST_PART) < total]
    if not periods.size:
        return None
    apart, counted, variance = np.zeros(periods.size), 0, _ABOUT_NOTHING
    for back in _BACK:
        reach = min(interval, total - back * periods[-1])
        if reach < _LEAST_PART * interval:
            break
        places = np.linspace(-reach, 0.0, _COMPARED + 1)
        now = np.log(np.diff(np.interp(places, edges, done)))
        if back == 1:
            variance += float(np.var(now))
            if not variance > _LEAST_VARIANCE:
                return None
        earlier = (places - back * periods[:, None]).ravel()
        then = np.log(np.diff(np.interp(earlier, edges, done).reshape(periods.size, -1), axis=1))
        squares = np.minimum((now - then) ** 2, _FARTHEST).mean(axis=1)
        if back > 1 and not squares.min() < _ALIKE * variance:
            break
        apart += squares
        counted += 1
    if not counted:
        return None
    apart /= counted
    best = int(apart.argmin())
    if not apart[best] < _ALIKE * variance:
        return None
    return float(apart[best]) / variance, float(periods[best]), float(apart[best])
