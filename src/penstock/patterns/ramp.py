"""Patterns that go straight from one value to another, once (SPBench, algorithm 4, clamped at the end)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from penstock.patterns.segments import SegmentPattern, Segments
from penstock.patterns.swing import Swing


@dataclass(frozen=True)
class Increasing(Swing, SegmentPattern):
    """From min straight to max over one period, then max for ever.

    >>> Increasing(min=0.0, max=10.0, period=20.0).value(np.array([0.0, 10.0, 20.0, 30.0]))
    array([ 0.,  5., 10., 10.])
    """

    name: ClassVar[str] = "increasing"
    summary: ClassVar[str] = "from min straight to max, then holds max: min, max, period"

    @cached_property
    def segments(self) -> Segments:
        """One rising piece."""
        return Segments(np.array([0.0, self.period]), np.array([self.min]), np.array([self.max]), repeat=False)


@dataclass(frozen=True)
class Decreasing(Swing, SegmentPattern):
    """From max straight to min over one period, then min for ever.

    >>> Decreasing(min=0.0, max=10.0, period=20.0).total
    100.0
    """

    name: ClassVar[str] = "decreasing"
    summary: ClassVar[str] = "from max straight to min, then holds min: min, max, period"

    @cached_property
    def segments(self) -> Segments:
        """One falling piece."""
        return Segments(np.array([0.0, self.period]), np.array([self.max]), np.array([self.min]), repeat=False)
