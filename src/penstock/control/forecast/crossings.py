"""Where a load crosses the middle of its range: what comes at regular places is a cycle."""

from __future__ import annotations

from array import array

# Nearer to the middle than this share of the range nobody is on either side.
_HYSTERESIS = 0.1
# So many are remembered in each direction.
_REMEMBERED = 6


class Crossings:
    """Places, counted in items, where items become heavier than the middle of a range, or lighter.

    >>> crossings = Crossings()
    >>> for place, heaviness in enumerate([2.0, 0.0, 0.0, 2.0, 2.0, 0.0, 2.0]):
    ...     crossed = crossings.add(heaviness, 0.0, 2.0, up=place, down=place)
    >>> crossed, list(crossings.ups), list(crossings.downs)
    (True, [3.0, 6.0], [1.0, 5.0])
    """

    def __init__(self) -> None:
        self.ups = array("d")
        self.downs = array("d")
        self.high: bool | None = None
        """Whether items are heavy now."""

    @property
    def last(self) -> array[float]:
        """Those in the direction of the last one."""
        return self.ups if self.high else self.downs

    @property
    def others(self) -> array[float]:
        """Those in the other direction."""
        return self.downs if self.high else self.ups

    def add(self, heaviness: float, low: float, high: float, up: float, down: float) -> bool:
        """One more batch, by the logarithm of its item's work; whether it crosses, at the place `up` or `down`."""
        was, middle = self.high, (high + low) / 2
        if abs(heaviness - middle) > _HYSTERESIS * (high - low):
            self.high = heaviness > middle
        if was is None or was == self.high:
            return False
        self.last.append(up if self.high else down)
        del self.last[:-_REMEMBERED]
        return True
