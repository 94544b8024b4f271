"""The pattern of sudden change (SPBench, algorithm 3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from penstock.patterns.base import check_extent, check_range
from penstock.patterns.options import AMOUNT, LENGTH
from penstock.patterns.segments import SegmentPattern, Segments, levels


@dataclass(frozen=True)
class Binary(SegmentPattern):
    """min for half a period, max for the other half, and again.

    >>> Binary(min=1.0, max=3.0, period=10.0).value(np.array([0.0, 4.9, 5.0, 10.0]))
    array([1., 1., 3., 1.])
    """

    name: ClassVar[str] = "binary"
    summary: ClassVar[str] = "min and max in turn, half a period each: min, max, period"

    min: float = field(metadata=AMOUNT)
    max: float = field(metadata=AMOUNT)
    period: float = field(metadata=LENGTH)

    def __post_init__(self) -> None:
        """Refuse a range or period that cannot work."""
        check_range(self, self.min, self.max)
        check_extent(self, "period", self.period)

    @cached_property
    def segments(self) -> Segments:
        """The low half and the high half."""
        return levels(np.array([0.0, self.period / 2, self.period]), np.array([self.min, self.max]))
