"""How the cost of items varies along a workload: named parts in a row, each with its share and its pattern.

Over the index, a part has a share of the items and its pattern's x counts its items. Over work, a part has a share
of the total cost and its pattern's x is the work done in it: as one item costs c(w) where w is done, di = dw / c(w).
A part over the index spends most of its work where items are heavy; over work, heavy and light stretches take the
same time, which is what a controller under test needs to see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.errors import BadInputError
from penstock.patterns.base import FloatArray, Pattern
from penstock.patterns.binary import Binary
from penstock.patterns.ramp import Decreasing, Increasing
from penstock.patterns.spike import Spike
from penstock.patterns.wave import Wave

# A jump of a pattern may be off by one of these steps of its part, 0.012% of the part's work; smooth patterns are
# far closer than that.
WORK_STEPS = 8192


@dataclass(frozen=True)
class Part:
    """A named stretch of a layout with its share, between 0 and 1, of the items or of the work."""

    name: str
    pattern: Pattern
    share: float

    def __post_init__(self) -> None:
        """Refuse a share that cannot be one."""
        if not 0 < self.share <= 1:
            raise BadInputError(f"share of {self.name}", self.share, "not a share", "give more than 0 and at most 1")


@dataclass(frozen=True, eq=False)
class Layout:
    """Parts in a row over a fixed number of items; made by `over_index` or `over_work`.

    `counts` are the items of each part. Over work, `places` holds for each part how many of its items are through
    after each of `WORK_STEPS` even steps of its work, and an item costs what the pattern says at its middle.

    >>> from penstock.patterns.grammar import parse
    >>> halves = [Part("light", parse("constant:value=1"), 0.5), Part("heavy", parse("constant:value=4"), 0.5)]
    >>> Layout.over_index(100, halves).part(50), Layout.over_work(100, halves).items
    ('heavy', 62)
    """

    parts: tuple[Part, ...]
    counts: tuple[int, ...]
    places: tuple[FloatArray, ...] | None = None
    work: float | None = None

    @classmethod
    def over_index(cls, items: int, parts: Sequence[Part]) -> Layout:
        """Each part has its share of the items."""
        _check_shares(parts)
        if items < len(parts):
            raise BadInputError("items", items, "fewer items than parts", f"give {len(parts)} or more")
        ends = np.round(np.cumsum([part.share for part in parts]) * items).astype(int)
        ends[-1] = items
        counts = np.diff(ends, prepend=0)
        return cls(tuple(parts), tuple(int(count) for count in counts))

    @classmethod
    def over_work(cls, work: float, parts: Sequence[Part]) -> Layout:
        """Each part has its share of the work, and as many items as that takes."""
        _check_shares(parts)
        if not (np.isfinite(work) and work > 0):
            raise BadInputError("work", work, "not an amount of work", "give the total cost of all items")
        places = tuple(_places(part, part.share * work) for part in parts)
        counts = tuple(max(1, round(float(place[-1]))) for place in places)
        return cls(tuple(parts), counts, places, work)

    @property
    def items(self) -> int:
        """The number of items of all parts."""
        return sum(self.counts)

    @property
    def part_names(self) -> tuple[str, ...]:
        """The names of the parts, in order."""
        return tuple(part.name for part in self.parts)

    @overload
    def cost(self, index: int) -> float: ...
    @overload
    def cost(self, index: NDArray[Any]) -> FloatArray: ...
    def cost(self, index: ArrayLike) -> float | FloatArray:
        """The cost of items: a pure function of the index."""
        indices = self._checked(index)
        which = self._which(indices)
        answer = np.empty(indices.shape)
        for number in np.unique(which):
            here = which == number
            answer[here] = self._cost_within(int(number), indices[here])
        return answer.reshape(np.shape(index)) if np.shape(index) else float(answer[0])

    @overload
    def part(self, index: int) -> str: ...
    @overload
    def part(self, index: NDArray[Any]) -> list[str]: ...
    def part(self, index: ArrayLike) -> str | list[str]:
        """The name of the part that an item is in, or of each of several items."""
        names = [self.parts[number].name for number in self._which(self._checked(index))]
        return names if np.shape(index) else names[0]

    def _cost_within(self, number: int, indices: NDArray[np.int64]) -> FloatArray:
        inside = (indices - sum(self.counts[:number])).astype(np.float64)
        part = self.parts[number]
        if self.places is None or self.work is None:
            return part.pattern.value(inside)
        place = self.places[number]
        middle = (inside + 0.5) * (place[-1] / self.counts[number])
        done: FloatArray = np.interp(middle, place, np.linspace(0.0, part.share * self.work, len(place)))
        return part.pattern.value(done)

    def _which(self, indices: NDArray[np.int64]) -> NDArray[np.intp]:
        return np.searchsorted(np.cumsum(self.counts), indices, side="right")

    def _checked(self, index: ArrayLike) -> NDArray[np.int64]:
        indices = np.atleast_1d(np.asarray(index, dtype=np.int64)).ravel()
        if indices.size and not (indices.min() >= 0 and indices.max() < self.items):
            wrong = int(indices.min() if indices.min() < 0 else indices.max())
            raise BadInputError("index", wrong, "no such item", f"the layout has items 0 to {self.items - 1}")
        return indices


def thesis_layout(low: float, high: float, items: int = 1_000_000) -> Layout:
    """Five computation patterns over the index: increasing 20%, spike 10%, decreasing 20%, binary 20%, wave 30%.

    Spike and binary have 5 cycles and the wave 10, each within its part.

    >>> thesis_layout(low=1.0, high=30.0).counts
    (200000, 100000, 200000, 200000, 300000)
    """
    return Layout.over_index(items, _five_parts(items, low, high, (5, 5, 10)))


def work_layout(work: float, low: float, high: float, batches: float) -> Layout:
    """The same five parts over work, for a run of about so many batches.

    A controller needs some batches to settle, so cycles are left out until every level of a cyclic pattern lasts
    about ten batches; there are never more of them than in `thesis_layout`.

    >>> layout = work_layout(work=1e6, low=10.0, high=300.0, batches=120)
    >>> layout.part_names, round(float(layout.cost(np.arange(layout.items)).sum()), -3)
    (('increasing', 'spike', 'decreasing', 'binary', 'wave'), 1000000.0)
    """
    spikes = _cycles(0.1 * batches / 10, 5)
    flips = _cycles(0.2 * batches / 20, 5)
    waves = _cycles(0.3 * batches / 20, 10)
    return Layout.over_work(work, _five_parts(work, low, high, (spikes, flips, waves)))


def _cycles(wanted: float, most: int) -> int:
    return min(max(round(wanted), 1), most)


def _five_parts(extent: float, low: float, high: float, cycles: tuple[int, int, int]) -> list[Part]:
    spikes, flips, waves = cycles
    return [
        Part("increasing", Increasing(low, high, 0.2 * extent), 0.2),
        Part("spike", Spike(low, high, 0.1 * extent / spikes), 0.1),
        Part("decreasing", Decreasing(low, high, 0.2 * extent), 0.2),
        Part("binary", Binary(low, high, 0.2 * extent / flips), 0.2),
        Part("wave", Wave(low, high, 0.3 * extent / waves), 0.3),
    ]


def _check_shares(parts: Sequence[Part]) -> None:
    total = sum(part.share for part in parts)
    if abs(total - 1) > 1e-9:
        raise BadInputError("shares", total, "the shares of all parts make 1", "scale them")


def _places(part: Part, work: float) -> FloatArray:
    steps = (np.arange(WORK_STEPS) + 0.5) * (work / WORK_STEPS)
    costs = part.pattern.value(steps)
    if costs.min() <= 0:
        raise BadInputError(f"cost in {part.name}", float(costs.min()), "work never ends there", "give a min above 0")
    return np.concatenate(([0.0], np.cumsum(work / WORK_STEPS / costs)))
