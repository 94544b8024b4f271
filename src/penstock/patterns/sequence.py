"""Patterns one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BadInputError
from penstock.patterns.base import FloatArray, Pattern
from penstock.patterns.options import written


@dataclass(frozen=True)
class Stretch:
    """A pattern that runs for a length, under a name (the pattern's own unless given)."""

    pattern: Pattern
    length: float
    name: str = ""

    def __post_init__(self) -> None:
        """Refuse an empty stretch."""
        if not self.length > 0:
            raise BadInputError(f"{self.pattern.name} length", self.length, "not above 0", "write e.g. length=30s")
        if not self.name:
            object.__setattr__(self, "name", self.pattern.name)

    def __str__(self) -> str:
        """The text of the pattern with its length and name."""
        length = f",length={written(self.length)}" if math.isfinite(self.length) else ""
        name = f",name={written(self.name)}" if self.name != self.pattern.name else ""
        return f"{self.pattern}{length}{name}"


@dataclass(frozen=True, init=False)
class Sequence(Pattern):
    """Stretches in a row; each starts its pattern from x = 0, and the last one goes on for ever.

    >>> from penstock.patterns.constant import Constant
    >>> steps = Sequence([Stretch(Constant(1.0), 10.0, "calm"), Stretch(Constant(5.0), 10.0, "busy")])
    >>> steps.part_at(3.0), steps.part_at(10.0), steps.integral(12.0), steps.inverse(20.0)
    ('calm', 'busy', 20.0, 12.0)
    """

    name: ClassVar[str] = "sequence"
    summary: ClassVar[str] = "patterns in a row, joined by ';', each with length and name as further options"

    stretches: tuple[Stretch, ...]
    starts: FloatArray = field(init=False, repr=False, compare=False)
    areas: FloatArray = field(init=False, repr=False, compare=False)

    def __init__(self, stretches: list[Stretch] | tuple[Stretch, ...]) -> None:
        if not stretches:
            raise BadInputError("sequence", "", "no patterns", "give one or more patterns joined by ';'")
        for stretch in stretches[:-1]:
            if not math.isfinite(stretch.length):
                raise BadInputError(f"{stretch.name} length", stretch.length, "nothing can follow", "give a length")
        areas = [stretch.pattern.integral(stretch.length) for stretch in stretches[:-1]]
        object.__setattr__(self, "stretches", tuple(stretches))
        object.__setattr__(self, "starts", np.cumsum([0.0] + [stretch.length for stretch in stretches[:-1]]))
        object.__setattr__(self, "areas", np.cumsum([0.0, *areas]))

    @property
    def total(self) -> float:
        """The areas of all but the last, plus all of the last."""
        return float(self.areas[-1]) + self.stretches[-1].pattern.total

    @property
    def extent(self) -> float | None:
        """From the start to the end of the last stretch."""
        last = self.stretches[-1].length
        return float(self.starts[-1]) + last if math.isfinite(last) else None

    @property
    def part_names(self) -> tuple[str, ...]:
        """The names of the stretches, in order."""
        return tuple(stretch.name for stretch in self.stretches)

    def part_at(self, x: float) -> str:
        """The name of the stretch that x falls into."""
        return self.stretches[int(np.searchsorted(self.starts, x, side="right")) - 1].name

    def _value(self, x: FloatArray) -> FloatArray:
        which = np.searchsorted(self.starts, x, side="right") - 1
        return self._each(which, lambda number, pattern, here: pattern.value(x[here] - self.starts[number]))

    def _integral(self, x: FloatArray) -> FloatArray:
        which = np.searchsorted(self.starts, x, side="right") - 1
        return self.areas[which] + self._each(
            which, lambda number, pattern, here: pattern.integral(x[here] - self.starts[number])
        )

    def _inverse(self, y: FloatArray) -> FloatArray:
        which = np.maximum(np.searchsorted(self.areas, y, side="left") - 1, 0)

        def reach(number: int, pattern: Pattern, here: NDArray[np.bool_]) -> FloatArray:
            inside = pattern.inverse(y[here] - self.areas[number])
            # Rounding of the sums must not carry the end of one stretch into the next.
            if number + 1 < len(self.stretches):
                inside = np.minimum(inside, self.stretches[number].length)
            x: FloatArray = self.starts[number] + inside
            return x

        return self._each(which, reach)

    def _each(
        self,
        which: NDArray[np.intp],
        ask: Callable[[int, Pattern, NDArray[np.bool_]], FloatArray],
    ) -> FloatArray:
        answer = np.zeros(which.shape)
        for number, stretch in enumerate(self.stretches):
            here = which == number
            if here.any():
                answer[here] = ask(number, stretch.pattern, here)
        return answer

    def __str__(self) -> str:
        """The stretches joined by ';'."""
        return "; ".join(str(stretch) for stretch in self.stretches)
