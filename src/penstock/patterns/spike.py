"""The pattern of short bursts (SPBench, algorithm 5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from penstock.errors import BadInputError
from penstock.patterns.options import SHARE
from penstock.patterns.segments import SegmentPattern, Segments
from penstock.patterns.swing import Swing


@dataclass(frozen=True)
class Spike(Swing, SegmentPattern):
    """min, and at the end of each period a sawtooth: straight up to max, then at once back to min.

    `width` is the share of the period that the sawtooth takes.

    >>> Spike(min=0.0, max=8.0, period=10.0).value(np.array([0.0, 9.0, 9.5, 10.0]))
    array([0., 0., 4., 0.])
    """

    name: ClassVar[str] = "spike"
    summary: ClassVar[str] = "min with a sawtooth up to max at the end of each period: min, max, period, width=10%"

    width: float = field(default=0.1, metadata=SHARE)

    def __post_init__(self) -> None:
        """Refuse a range, period or width that cannot work."""
        super().__post_init__()
        if not 0 < self.width < 1:
            raise BadInputError("spike width", self.width, "a share of the period", "write e.g. width=10%")

    @cached_property
    def segments(self) -> Segments:
        """The calm and the spike."""
        edges = np.array([0.0, (1 - self.width) * self.period, self.period])
        return Segments(edges, np.array([self.min, self.min]), np.array([self.min, self.max]))
