"""Functions made of straight pieces: most patterns are one, so value, area and inverse are solved here once.

Within a piece of length L that goes from a to b, with slope k = (b - a)/L, the area after u is `a u + k u²/2`. The
place where the area is r solves that quadratic; written as `2 r / (a + sqrt(a² + 2 k r))` it loses no digits
whatever the sign of k, and it is r/a for a level piece.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from penstock.patterns.base import FloatArray, Pattern


@dataclass(frozen=True, eq=False)
class Segments:
    """Pieces between `edges` (from 0 on, rising), each from its `left` to its `right` value.

    After the last edge the whole repeats, or else the last value holds.

    >>> saw = Segments(edges=np.array([0.0, 1.0, 2.0]), left=np.array([0.0, 0.0]), right=np.array([0.0, 4.0]))
    >>> saw.integral(np.array([1.0, 2.0, 4.0])), saw.inverse(np.array([0.5, 2.0, 2.5]))
    (array([0., 2., 4.]), array([1.5, 2. , 3.5]))
    """

    edges: FloatArray
    left: FloatArray
    right: FloatArray
    repeat: bool = True
    areas: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        """Sum up the pieces."""
        pieces = np.diff(self.edges) * (self.left + self.right) / 2
        object.__setattr__(self, "areas", np.concatenate(([0.0], np.cumsum(pieces))))

    @property
    def total(self) -> float:
        """The area from 0 to infinity."""
        goes_on = self.areas[-1] > 0 if self.repeat else self.right[-1] > 0
        return np.inf if goes_on else float(self.areas[-1])

    def value(self, x: FloatArray) -> FloatArray:
        """The value at each x."""
        _, u, piece = self._locate(x)
        inside = self._within(u, piece)
        return inside if self.repeat else np.where(x >= self.edges[-1], self.right[-1], inside)

    def integral(self, x: FloatArray) -> FloatArray:
        """The area from 0 to each x."""
        cycle, u, piece = self._locate(x)
        area: FloatArray = self.areas[piece] + (u - self.edges[piece]) * (self.left[piece] + self._within(u, piece)) / 2
        if self.repeat:
            area += cycle * self.areas[-1]
            return area
        held: FloatArray = self.areas[-1] + (x - self.edges[-1]) * self.right[-1]
        return np.where(x >= self.edges[-1], held, area)

    def inverse(self, y: FloatArray) -> FloatArray:
        """The smallest x of each area, which must be above zero and within the total."""
        if self.repeat:
            # A whole number of cycles ends the last of them and does not start the next: the smallest x is asked for.
            cycle = np.maximum(np.ceil(y / self.areas[-1]) - 1, 0)
            rest = y - cycle * self.areas[-1]
        else:
            cycle, rest = np.zeros_like(y), np.minimum(y, self.areas[-1])
        piece = np.clip(np.searchsorted(self.areas, rest, side="left") - 1, 0, len(self.left) - 1)
        length = self.edges[piece + 1] - self.edges[piece]
        rest = np.maximum(rest - self.areas[piece], 0.0)
        slope = (self.right[piece] - self.left[piece]) / length
        root = self.left[piece] + np.sqrt(np.maximum(self.left[piece] ** 2 + 2 * slope * rest, 0.0))
        u = np.divide(2 * rest, root, out=np.zeros_like(rest), where=root > 0)
        x: FloatArray = cycle * self.edges[-1] + self.edges[piece] + np.minimum(u, length)
        if self.repeat:
            return x
        beyond = y > self.areas[-1]
        x[beyond] = self.edges[-1] + (y[beyond] - self.areas[-1]) / self.right[-1]
        return x

    def _locate(self, x: FloatArray) -> tuple[FloatArray, FloatArray, NDArray[np.intp]]:
        span = self.edges[-1]
        if self.repeat:
            cycle = np.floor(x / span)
            u = np.clip(x - cycle * span, 0.0, span)
        else:
            cycle, u = np.zeros_like(x), np.minimum(x, span)
        return cycle, u, np.clip(np.searchsorted(self.edges, u, side="right") - 1, 0, len(self.left) - 1)

    def _within(self, u: FloatArray, piece: NDArray[np.intp]) -> FloatArray:
        share = (u - self.edges[piece]) / (self.edges[piece + 1] - self.edges[piece])
        left, right = self.left[piece], self.right[piece]
        return np.clip(left + (right - left) * share, np.minimum(left, right), np.maximum(left, right))


def levels(edges: FloatArray, values: FloatArray, repeat: bool = True) -> Segments:
    """Pieces that are all level: each value holds until the next edge."""
    return Segments(edges, values, values, repeat)


class SegmentPattern(Pattern):
    """A pattern that is made of straight pieces; a subclass says which."""

    @property
    @abstractmethod
    def segments(self) -> Segments:
        """The pieces."""

    @property
    def total(self) -> float:
        """The area from 0 to infinity."""
        return self.segments.total

    def _value(self, x: FloatArray) -> FloatArray:
        return self.segments.value(x)

    def _integral(self, x: FloatArray) -> FloatArray:
        return self.segments.integral(x)

    def _inverse(self, y: FloatArray) -> FloatArray:
        return self.segments.inverse(y)
