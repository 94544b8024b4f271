"""The pattern of aimless drift: a random walk between two bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np

from penstock.patterns.base import check_amount, check_extent, check_range
from penstock.patterns.hashing import uniform
from penstock.patterns.options import AMOUNT, LENGTH, WHOLE
from penstock.patterns.segments import SegmentPattern, Segments, levels

WALK_STEPS = 2**15


@dataclass(frozen=True)
class RandomWalk(SegmentPattern):
    """Starts halfway, keeps each level for one period, then moves by up to one step; the bounds reflect it.

    The moves are uniform in ±step (a tenth of the range unless given) and depend on the seed and the number of the
    move alone. After 32,768 moves the walk is walked backwards, and so on, so that the value anywhere is a pure
    function of x at a bounded cost, without a jump.

    >>> walk = RandomWalk(min=10.0, max=20.0, period=5.0, seed=7)
    >>> walk.value(4.9), walk.value(0.0) == walk.value(4.9) != walk.value(5.0)
    (15.0, True)
    """

    name: ClassVar[str] = "random-walk"
    summary: ClassVar[str] = "random steps between min and max, one a period: min, max, period, step, seed"

    min: float = field(metadata=AMOUNT)
    max: float = field(metadata=AMOUNT)
    period: float = field(metadata=LENGTH)
    step: float | None = field(default=None, metadata=AMOUNT)
    seed: int = field(default=0, metadata=WHOLE)

    def __post_init__(self) -> None:
        """Refuse a range, period or step that cannot work."""
        check_range(self, self.min, self.max)
        check_extent(self, "period", self.period)
        if self.step is not None:
            check_amount(self, "step", self.step)

    @property
    def segments(self) -> Segments:
        """The levels of the walk, there and back."""
        return _walked(self)


# The table is rebuilt where it is needed instead of travelling inside every pickle of the pattern.
@lru_cache(maxsize=8)
def _walked(walk: RandomWalk) -> Segments:
    room = walk.max - walk.min
    step = room / 10 if walk.step is None else walk.step
    moves = step * (2 * uniform(np.arange(1, WALK_STEPS), walk.seed) - 1)
    free = room / 2 + np.concatenate(([0.0], np.cumsum(moves)))
    # Reflection at both bounds is the free walk folded like a strip of paper.
    folded = room - np.abs(np.mod(free, 2 * room) - room) if room > 0 else np.zeros(WALK_STEPS)
    there = np.clip(walk.min + folded, walk.min, walk.max)
    return levels(walk.period * np.arange(2 * WALK_STEPS + 1, dtype=np.float64), np.concatenate((there, there[::-1])))
