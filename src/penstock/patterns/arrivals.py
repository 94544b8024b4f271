"""When items arrive: a pattern read as a rate over time, or all of them at once.

Item n (from 0) arrives when the area under the rate reaches n + 1: at 10 items a second the first one comes after
0.1 s, and ten have come after one second. Arrivals are computed from the item's number, never summed up, so that
item 1,000,000,000 is as exact as the first one.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.errors import BadInputError
from penstock.patterns.base import FloatArray, Pattern
from penstock.patterns.grammar import parse

# Beyond this a float no longer tells one item from the next.
_COUNTABLE = 2**53


@dataclass(frozen=True)
class Arrivals:
    """Items that arrive at the rate of a pattern, in items a second.

    >>> arrivals = Arrivals(parse("constant:rate=10/s"))
    >>> arrivals.arrival_s(2), arrivals.arrived_by(0.3)
    (0.3, 3)
    """

    pattern: Pattern

    @overload
    def arrival_s(self, index: int) -> float: ...
    @overload
    def arrival_s(self, index: NDArray[Any]) -> FloatArray: ...
    def arrival_s(self, index: ArrayLike) -> float | FloatArray:
        """When items arrive, in seconds from the start; infinity for an item that never does."""
        reached = np.asarray(index, dtype=np.float64) + 1.0
        return self.pattern.inverse(reached) if reached.ndim else self.pattern.inverse(float(reached))

    def arrived_by(self, elapsed_s: float) -> int:
        """How many items have arrived at or before this moment."""
        if elapsed_s < 0:
            return 0
        count = math.floor(self.pattern.integral(elapsed_s))
        if count > _COUNTABLE:
            return count
        # The area rounds one way and the arrival another: the arrival times decide, so that both always agree.
        while count > 0 and self.arrival_s(count - 1) > elapsed_s:
            count -= 1
        while self.arrival_s(count) <= elapsed_s:
            count += 1
        return count

    def part_at(self, elapsed_s: float) -> str | None:
        """The name of the sequence's part at this moment, or None where the pattern has no parts."""
        part_at = getattr(self.pattern, "part_at", None)
        return None if part_at is None else str(part_at(max(elapsed_s, 0.0)))

    def __str__(self) -> str:
        """The text from which `parse_arrivals` makes this again."""
        return str(self.pattern)


@dataclass(frozen=True)
class Saturated:
    """Every item is there from the start: the query sets its own pace.

    >>> Saturated().arrival_s(10**9), Saturated().arrived_by(-1.0)
    (0.0, 0)
    """

    @overload
    def arrival_s(self, index: int) -> float: ...
    @overload
    def arrival_s(self, index: NDArray[Any]) -> FloatArray: ...
    def arrival_s(self, index: ArrayLike) -> float | FloatArray:
        """Zero for every item."""
        shape = np.shape(index)
        return np.zeros(shape) if shape else 0.0

    def arrived_by(self, elapsed_s: float) -> int:
        """More than any workload has."""
        return sys.maxsize if elapsed_s >= 0 else 0

    def part_at(self, elapsed_s: float) -> str | None:
        """None: there are no parts."""
        return None

    def __str__(self) -> str:
        """The text from which `parse_arrivals` makes this again."""
        return "saturated"


AnyArrivals: TypeAlias = Arrivals | Saturated


def parse_arrivals(text: str) -> AnyArrivals:
    """`saturated`, or a pattern of items a second.

    >>> parse_arrivals("saturated")
    Saturated()
    >>> parse_arrivals("constant:rate=0")
    Traceback (most recent call last):
        ...
    penstock.errors.BadInputError: arrivals = 'constant:rate=0': no item ever arrives; give a rate above 0
    """
    if text.strip() == "saturated":
        return Saturated()
    pattern = parse(text)
    if pattern.total < 1:
        raise BadInputError("arrivals", text, "no item ever arrives", "give a rate above 0")
    return Arrivals(pattern)
