"""The pattern that the user computes."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from penstock.errors import BadInputError
from penstock.patterns.base import check_extent
from penstock.patterns.options import LENGTH, WHOLE, YES_NO, written
from penstock.patterns.segments import SegmentPattern, Segments


def read_function(text: str, field: str) -> Callable[[Any], Any]:
    """A function by its address, `module:name`.

    >>> read_function("math:sqrt", "of")(9)
    3.0
    """
    module, _, path = text.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError, ValueError) as error:
        raise BadInputError(field, text, f"no such function ({error})", "write of=package.module:name") from error
    if not callable(found):
        raise BadInputError(field, text, "not a function", "write of=package.module:name")
    return found  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Function(SegmentPattern):
    """Any function of one number, from 0 to `period`; then it starts over, or with repeat=no its last value holds.

    It is asked once at `points` + 1 places, evenly spaced, and taken as straight in between, so that value, area and
    inverse agree to the last digit; a jump is spread over one of the `points` spaces.

    >>> bell = Function(of=lambda x: 100 * np.exp(-((x - 5) ** 2)), period=10.0)
    >>> round(bell.integral(10.0), 2)
    177.25
    """

    name: ClassVar[str] = "function"
    summary: ClassVar[str] = "a Python function of x: of=package.module:name, period, points=1000, repeat=yes"

    of: Callable[[Any], Any] = field(metadata={"read": read_function})
    period: float = field(metadata=LENGTH)
    points: int = field(default=1000, metadata=WHOLE)
    repeat: bool = field(default=True, metadata=YES_NO)
    _pieces: Segments = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Ask the function on the grid; refuse one that is no pattern."""
        check_extent(self, "period", self.period)
        if self.points < 1:
            raise BadInputError("function points", self.points, "nothing to ask", "give points=1 or more")
        edges = np.linspace(0.0, self.period, self.points + 1)
        values = np.array([float(self.of(edge)) for edge in edges])
        wrong = ~(np.isfinite(values) & (values >= 0))
        if wrong.any():
            where = f"at x = {edges[wrong][0]:g}"
            raise BadInputError(
                "function of", float(values[wrong][0]), f"a pattern is finite and >= 0, but not {where}", "mend it"
            )
        object.__setattr__(self, "_pieces", Segments(edges, values[:-1], values[1:], self.repeat))

    @property
    def segments(self) -> Segments:
        """One straight piece between any two points of the grid."""
        return self._pieces

    def __str__(self) -> str:
        """The text with the function's address; only a named function of a module can be found by it again."""
        of = getattr(self.of, "__module__", "?"), getattr(self.of, "__qualname__", "?")
        return (
            f"function:of={':'.join(of)},period={written(self.period)},"
            f"points={self.points},repeat={written(self.repeat)}"
        )
