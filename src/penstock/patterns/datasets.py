"""The pattern of data in whole datasets: all rows of one arrive at the same moment (LMStream, sec. V-A)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BadInputError
from penstock.patterns.base import FloatArray, Pattern, check_amount, check_extent
from penstock.patterns.hashing import uniform
from penstock.patterns.options import AMOUNT, LENGTH, WHOLE

# Sizes repeat after so many datasets: 18 hours at one a second.
CYCLE = 2**16
# Beyond this a float no longer tells one row from the next.
_COUNTABLE = 2.0**53


@dataclass(frozen=True)
class Datasets(Pattern):
    """A dataset of `rows` rows at the end of every interval; with `sd` their number varies.

    Dataset k (from 0) arrives at `(k + 1) * every`, all of it at once, so the area is a staircase, and the value is
    the mean rate over the interval. With a standard deviation dataset k has `max(1, round(rows + sd * z(k)))` rows,
    where z is standard normal and depends on the seed and k alone (Box and Muller, from two uniform numbers). LMStream
    gives a mean of 1000 and no deviation; a quarter of the mean, as in the example, is ours. After 65,536 datasets the
    sizes repeat, so that any row is found at a bounded cost, never by summing from the first one.

    >>> steady = Datasets(rows=1000, every=1.0)
    >>> steady.integral(2.9), steady.inverse(1000.0), steady.inverse(1001.0)
    (2000.0, 1.0, 2.0)
    >>> Datasets(rows=1000, every=1.0, sd=250.0, seed=1).rows_of(np.arange(4)).tolist()
    [1016, 1290, 815, 685]
    """

    name: ClassVar[str] = "datasets"
    summary: ClassVar[str] = "all rows of a dataset at once, one dataset an interval: rows, every, sd=0, seed=0"

    rows: int = field(metadata=WHOLE)
    every: float = field(metadata=LENGTH)
    sd: float = field(default=0.0, metadata=AMOUNT)
    seed: int = field(default=0, metadata=WHOLE)

    def __post_init__(self) -> None:
        """Refuse datasets without rows, an interval that is none, and a deviation below 0."""
        if self.rows < 1:
            raise BadInputError("datasets rows", self.rows, "a dataset has at least one row", "write e.g. rows=1000")
        check_extent(self, "every", self.every)
        check_amount(self, "sd", self.sd)

    @property
    def total(self) -> float:
        """Infinite: there is always a next dataset."""
        return math.inf

    def rows_of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many rows these datasets have."""
        starts = self._starts
        within = np.asarray(numbers) % (len(starts) - 1)
        rows: NDArray[np.int64] = starts[within + 1] - starts[within]
        return rows

    def first_of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The first row of these datasets, counted from 0."""
        starts = self._starts
        cycles, within = np.divmod(np.asarray(numbers), len(starts) - 1)
        first: NDArray[np.int64] = cycles * starts[-1] + starts[within]
        return first

    def number_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The datasets that these rows belong to.

        >>> Datasets(rows=3, every=1.0).number_of(np.array([0, 2, 3, 300])).tolist()
        [0, 0, 1, 100]
        """
        starts = self._starts
        cycles, within = np.divmod(np.asarray(rows), starts[-1])
        numbers: NDArray[np.int64] = cycles * (len(starts) - 1) + np.searchsorted(starts, within, side="right") - 1
        return numbers

    @property
    def _starts(self) -> NDArray[np.int64]:
        return _starts(self.rows, self.sd, self.seed)

    def _value(self, x: FloatArray) -> FloatArray:
        return self.rows_of(np.floor(x / self.every).astype(np.int64)).astype(np.float64) / self.every

    def _integral(self, x: FloatArray) -> FloatArray:
        arrived = np.floor(x / self.every)
        # A quotient rounds one way and a product another: the products are the arrivals, so they decide.
        arrived -= arrived * self.every > x
        arrived += (arrived + 1) * self.every <= x
        return self.first_of(arrived.astype(np.int64)).astype(np.float64)

    def _inverse(self, y: FloatArray) -> FloatArray:
        rows = np.ceil(np.minimum(y, _COUNTABLE)).astype(np.int64) - 1
        return (self.number_of(rows) + 1).astype(np.float64) * self.every


# The table is rebuilt where it is needed instead of travelling inside every pickle of the pattern.
@lru_cache(maxsize=8)
def _starts(rows: int, sd: float, seed: int) -> NDArray[np.int64]:
    """The first row of each dataset of one cycle, and the number of rows in all."""
    if sd == 0:
        return np.array([0, rows], dtype=np.int64)
    numbers = np.arange(CYCLE)
    radius = np.sqrt(-2.0 * np.log1p(-uniform(numbers, seed, stream=1)))
    normal = radius * np.cos(2 * np.pi * uniform(numbers, seed, stream=2))
    sizes = np.maximum(np.rint(rows + sd * normal), 1.0).astype(np.int64)
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
