"""The pattern of sudden change (SPBench, algorithm 3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from penstock.patterns.segments import SegmentPattern, Segments, levels
from penstock.patterns.swing import Swing


@dataclass(frozen=True)
class Binary(Swing, SegmentPattern):
    """min for half a period, max for the other half, and again.

    >>> Binary(min=1.0, max=3.0, period=10.0).value(np.array([0.0, 4.9, 5.0, 10.0]))
    array([1., 1., 3., 1.])
    """

    name: ClassVar[str] = "binary"
    summary: ClassVar[str] = "min and max in turn, half a period each: min, max, period"

    @cached_property
    def segments(self) -> Segments:
        """The low half and the high half."""
        return levels(np.array([0.0, self.period / 2, self.period]), np.array([self.min, self.max]))
