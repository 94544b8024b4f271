"""Where a load crosses the middle of its range: what comes at regular places is a cycle."""

from __future__ import annotations

from array import array
from math import inf

# Nearer to the middle than this share of the range nobody is on either side.
_HYSTERESIS = 0.1
# So many are remembered in each direction.
_REMEMBERED = 6


class Crossings:
    """Places, counted in items, where items become heavier than the middle of their recent range, or lighter.

    >>> crossings = Crossings(recent=7)
    >>> for place, heaviness in enumerate([2.0, 0.0, 0.0, 2.0, 2.0, 0.0, 2.0]):
    ...     crossings.see(heaviness)
    ...     crossed = crossings.cross(up=place, down=place)
    >>> crossed, crossings.range, list(crossings.ups), list(crossings.downs)
    (True, 2.0, [3.0, 6.0], [5.0])
    """

    def __init__(self, recent: int) -> None:
        """The extremes of so many values say what is high and what is low."""
        self.ups = array("d")
        self.downs = array("d")
        self.high: bool | None = None
        """Whether items are heavy now."""
        self._recent = recent
        self._values = array("d")
        self._lowest, self._highest = inf, -inf

    @property
    def range(self) -> float:
        """Between the extremes."""
        return self._highest - self._lowest

    @property
    def last(self) -> array[float]:
        """Those in the direction of the last one."""
        return self.ups if self.high else self.downs

    @property
    def others(self) -> array[float]:
        """Those in the other direction."""
        return self.downs if self.high else self.ups

    def see(self, heaviness: float) -> None:
        """One more value, the logarithm of an item's work."""
        values = self._values
        values.append(heaviness)
        if heaviness < self._lowest:
            self._lowest = heaviness
        if heaviness > self._highest:
            self._highest = heaviness
        # All of them are looked through only where an extreme goes.
        if len(values) > self._recent and not self._lowest < values.pop(0) < self._highest:
            self._lowest, self._highest = min(values), max(values)

    def revise(self, values: array[float]) -> None:
        """The values of before, as they look now; places that were crossed stay."""
        self._values = values[-self._recent :]
        self._lowest, self._highest = min(self._values, default=inf), max(self._values, default=-inf)

    def cross(self, up: float, down: float) -> bool:
        """Whether the last value is across the middle: upwards at the place `up`, downwards at `down`."""
        was, heaviness, middle = self.high, self._values[-1], (self._highest + self._lowest) / 2
        if abs(heaviness - middle) > _HYSTERESIS * self.range:
            self.high = heaviness > middle
        if was is None or was == self.high:
            return False
        self.last.append(up if self.high else down)
        del self.last[:-_REMEMBERED]
        return True
