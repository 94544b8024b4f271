"""The linear cost of a batch: a fixed time plus a time per item, and a margin for what predictions got wrong."""

from __future__ import annotations

import math
import statistics
from array import array
from operator import mul
from typing import NamedTuple

from penstock.model.past import Past
from penstock.size import clamp
from penstock.units import format_duration

_WINDOW = 64
_LEVEL = 5
# As if one prediction had been that wrong: few errors do not show yet how large they get.
_FIRST_ERRORS = (0.5,)
# A batch time is taken to vary by this at least, and the part of it that depends on the size must be known this well.
_LEAST_NOISE = 0.05
_SURE = 0.1
_LEAST_SHARE = 0.05
_TIMES_S = (1e-9, 1e12)


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


class LinearCost:
    """Learns from each batch's size n and processing time p how long a batch of any size will take.

        time(n) = level (fixed + each n)
        level = median of p / (fixed + each n) over the last 5 batches
        margin = the largest of (p + late) / time(n) - 1 over the last 64 predictions, at least 0

    The line comes from least squares over the last 64 batches without outliers. It is replaced only where their sizes
    differ enough to tell its two parts apart: at a steady load all batches are alike, and noise would draw any line.
    The level follows the machine and the load within a few batches, whatever the sizes. Before the first line, time is
    in proportion to the size: too much for a batch that is larger than those before it, so the safe side.

    >>> cost = LinearCost()
    >>> for size, processing_s in ((100, 0.3), (400, 0.6), (200, 0.4)):
    ...     cost.learn(size, processing_s)
    >>> cost.shaped, str(cost.line)
    (True, 'a batch takes 200 ms + 1 ms an item')
    """

    def __init__(self) -> None:
        self.shaped = False
        self._past = Past(_WINDOW)
        self._shape = Line(1.0, 0.0)
        self._level = math.nan
        self._errors = array("d", _FIRST_ERRORS)

    @property
    def known(self) -> bool:
        """Whether anything was learned yet."""
        return len(self._past.sizes) > 0

    @property
    def line(self) -> Line:
        """The time of a batch, without the margin."""
        return Line(self._shape.per_item_s * self._level, self._shape.fixed_s * self._level)

    @property
    def margin(self) -> float:
        """What to add to a predicted time, as a share of it."""
        return max(*self._errors, 0.0)

    def learn(self, size: float, processing_s: float, late_s: float = 0.0) -> None:
        """One more batch; `late_s` is how much later than intended it began."""
        processing_s = clamp(processing_s, *_TIMES_S)
        if self.known:
            self._errors.append((processing_s + late_s) / self.line.at(size) - 1)
            del self._errors[:-_WINDOW]
        self._past.add(size, processing_s)
        fitted = _fitted(self._past)
        if fitted is not None:
            if not self.shaped:
                # What proportion got wrong is no fault of the line.
                self._errors = array("d", _FIRST_ERRORS)
            self._shape, self.shaped = fitted, True
        recent = zip(self._past.sizes[-_LEVEL:], self._past.values[-_LEVEL:], strict=True)
        self._level = statistics.median(value / self._shape.at(size) for size, value in recent)


def _fitted(past: Past) -> Line | None:
    """The line, where the batches tell its two parts apart."""
    count = len(past.sizes)
    line = regress(past) if count > 1 else None
    if line is None:
        return None
    misses = [abs(value - line.at(size)) for size, value in zip(past.sizes, past.values, strict=True)]
    far = 4.5 * statistics.median(misses)
    if count >= 8 and max(misses) > far > 0:
        usual = Past(past.window)
        for size, value, miss in zip(past.sizes, past.values, misses, strict=True):
            if miss <= far:
                usual.add(size, value)
        past, count, line = usual, len(usual.sizes), regress(usual)
        if line is None:
            return None
    mean_size, mean_s = sum(past.sizes) / count, sum(past.values) / count
    squares = sum((value - line.at(size)) ** 2 for size, value in zip(past.sizes, past.values, strict=True))
    noise = max(math.sqrt(squares / max(count - 2, 1)) / mean_s, _LEAST_NOISE)
    spread = math.sqrt(sum((size / mean_size - 1) ** 2 for size in past.sizes))
    if noise > _SURE * spread:
        return None
    # A larger batch takes longer, and no batch takes less than no time: beyond that is noise.
    share = clamp(line.per_item_s * mean_size / mean_s, _LEAST_SHARE, 1.0)
    return Line(share * mean_s / mean_size, (1 - share) * mean_s)
