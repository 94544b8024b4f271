"""The last batches: their sizes and their values."""

from __future__ import annotations

from array import array

from penstock.errors import BadInputError
from penstock.size import LARGEST


class Past:
    """The sizes and the values of the last batches. Flat arrays: copied in a microsecond, whatever their length.

    >>> past = Past(2)
    >>> for size, value in ((100, 0.5), (200, 0.9), (220, 1.0)):
    ...     past.add(size, value)
    >>> list(past.sizes), list(past.values)
    ([200.0, 220.0], [0.9, 1.0])
    """

    def __init__(self, window: int) -> None:
        if window < 2:
            raise BadInputError("window", window, "a relation needs at least two batches", "write e.g. 30")
        self.window = window
        self.sizes = array("d")
        self.values = array("d")

    def add(self, size: float, value: float) -> None:
        """Remember one more batch; the oldest goes when the window is full."""
        self.sizes.append(min(size, LARGEST))
        self.values.append(value)
        if len(self.sizes) > self.window:
            del self.sizes[0], self.values[0]
