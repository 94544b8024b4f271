"""What items cost over a period of a load that comes back."""

from __future__ import annotations

from array import array
from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# A forecast reaches so many periods ahead.
HORIZON = 2
# Beyond an error of 30% a batch is off the target, and how far makes no forecast better than another.
FARTHEST = 0.1


class Shape:
    """The work of items over a period, in cells that each have a width in items and one work for all of them.

    >>> shape = Shape(period=1000.0, widths=np.array([0.8, 0.2]), heaviness=np.log([1.0, 4.0]))
    >>> round(shape.work(0.0, 800.0)), round(shape.work(800.0, 1000.0)), round(shape.size_for(900.0, 800.0))
    (800, 800, 300)
    """

    def __init__(self, period: float, widths: Floats, heaviness: Floats) -> None:
        """With the share of each cell in the items of a period, and the logarithm of the work of its items."""
        self.period = period
        # No NumPy arrays: a place is looked up for every batch, one at a time.
        self._places = array("d", sums(period * widths).tobytes())
        self._done = array("d", sums(period * widths * np.exp(heaviness)).tobytes())

    def __deepcopy__(self, memo: object) -> Shape:
        """Itself: it never changes, and the loop copies a controller with every batch."""
        return self

    def work(self, begin: float, end: float) -> float:
        """Of the items between two places."""
        return self._until(end) - self._until(begin)

    def works(self, places: Floats) -> Floats:
        """Of the items between each two places."""
        periods, phases = np.divmod(places, self.period)
        until = np.interp(phases, np.frombuffer(self._places), np.frombuffer(self._done))
        until += periods * self._done[-1]
        return until[1:] - until[:-1]

    def size_for(self, work: float, begin: float) -> float:
        """How many items from a place on come to so much work, up to two periods of them."""
        periods, rest = divmod(self._until(begin) + work, self._done[-1])
        end = periods * self.period + _between(rest, self._done, self._places)
        return min(end - begin, HORIZON * self.period)

    def _until(self, place: float) -> float:
        periods, phase = divmod(place, self.period)
        return periods * self._done[-1] + _between(phase, self._places, self._done)


def sums(values: Floats) -> Floats:
    """Running sums, from 0 on, along the last axis."""
    running = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
    values.cumsum(axis=-1, out=running[..., 1:])
    return running


def _between(at: float, known: array[float], values: array[float]) -> float:
    """On the straight line between the two points around it."""
    after = min(max(bisect_right(known, at), 1), len(known) - 1)
    low, high = known[after - 1], known[after]
    share = (at - low) / (high - low) if high > low else 0.0
    return values[after - 1] + share * (values[after] - values[after - 1])
