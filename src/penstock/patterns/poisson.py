"""The pattern of independent arrivals: exponential gaps between items (a Poisson process)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np

from penstock.patterns.base import FloatArray, Pattern, check_amount
from penstock.patterns.hashing import uniform
from penstock.patterns.options import AMOUNT, WHOLE

# Gaps repeat after so many arrivals: 10 s at 100,000 a second, in a table of 8 MB.
CYCLE = 2**20
# Beyond this a float no longer tells one item from the next.
_COUNTABLE = 2.0**53


@dataclass(frozen=True)
class Poisson(Pattern):
    """Items at random moments, `rate` of them a second on average; as Gasser's quotes arrive (table 2, Q1).

    The gap before item n is `-ln(1 - u(n)) / rate`, where u is uniform in [0, 1) and depends on the seed and n alone.
    The gaps of a cycle of 1,048,576 items are scaled to take `CYCLE / rate` seconds together, and then repeat. So any
    arrival is found at a bounded cost, and item 1,000,000,000 is as exact as the first one. The area is a staircase of
    one step an item; the value is the mean rate.

    >>> Poisson(rate=1000.0).integral(CYCLE / 1000.0), Poisson(rate=1000.0).inverse(float(CYCLE))
    (1048576.0, 1048.576)
    >>> gaps_s = np.diff(Poisson(rate=10.0, seed=1).inverse(np.arange(1.0, 10_001.0)))
    >>> bool(abs(gaps_s.mean() - 0.1) < 0.003), bool(abs(gaps_s.std() - 0.1) < 0.003)
    (True, True)
    """

    name: ClassVar[str] = "poisson"
    summary: ClassVar[str] = "items at random moments, exponential gaps between them: rate, seed=0"

    rate: float = field(metadata=AMOUNT)
    seed: int = field(default=0, metadata=WHOLE)

    def __post_init__(self) -> None:
        """Refuse a negative rate."""
        check_amount(self, "rate", self.rate)

    @property
    def total(self) -> float:
        """Infinite, or nothing at all."""
        return math.inf if self.rate > 0 else 0.0

    def _value(self, x: FloatArray) -> FloatArray:
        return np.full_like(x, self.rate)

    def _integral(self, x: FloatArray) -> FloatArray:
        cycles, within = np.divmod(x * self.rate, CYCLE)
        return cycles * CYCLE + np.searchsorted(_moments(self.seed), within, side="right")

    def _inverse(self, y: FloatArray) -> FloatArray:
        cycles, within = np.divmod(np.ceil(np.minimum(y, _COUNTABLE)).astype(np.int64) - 1, CYCLE)
        moments: FloatArray = (cycles * CYCLE + _moments(self.seed)[within]) / self.rate
        return moments


# The table is rebuilt where it is needed instead of travelling inside every pickle of the pattern.
@lru_cache(maxsize=4)
def _moments(seed: int) -> FloatArray:
    """When the items of one cycle arrive, in mean gaps from its start; the last one ends it."""
    sums = np.cumsum(-np.log1p(-uniform(np.arange(CYCLE), seed)))
    # The last sum becomes CYCLE exactly: a power of two rounds nothing.
    moments: FloatArray = sums / sums[-1] * CYCLE
    return moments
