"""What a window is: its length and its slide, in rows or in time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BadInputError
from penstock.units import format_duration, parse_duration_s

ROWS = "rows"
TIME = "time"
_MICROSECONDS = 1_000_000


@dataclass(frozen=True)
class WindowSpec:
    """Window k holds the positions from `k * every` up to, and not including, `k * every + length`.

    A position is the number of a row, or a time in microseconds since 1970. Rows count from 0, so there is no window
    before 0; time has windows at every multiple of the slide, as Spark's own `window` function has.

    >>> spec = WindowSpec(5, 2)
    >>> spec.first_with(np.array([0, 4, 5])).tolist(), spec.last_with(np.array([0, 4, 5])).tolist()
    ([0, 0, 1], [0, 2, 2])
    >>> WindowSpec(4, 0)
    Traceback (most recent call last):
        ...
    penstock.errors.BadInputError: every = 0: windows would never move on; give 1 or more
    """

    length: int
    every: int
    unit: str = ROWS
    gaps: bool = False

    def __post_init__(self) -> None:
        """Refuse what is no window."""
        if self.length < 1:
            raise BadInputError("length", self.length, "a window holds something", "give 1 or more")
        if self.every < 1:
            raise BadInputError("every", self.every, "windows would never move on", "give 1 or more")
        if self.every > self.length and not self.gaps:
            reason = f"above the length ({self.length}), so that some rows would be in no window"
            raise BadInputError("every", self.every, reason, "give at most the length, or gaps=True where it is meant")

    @property
    def overlap(self) -> int:
        """The positions that a window shares with the next one."""
        return max(self.length - self.every, 0)

    def first_with(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """The first window that holds each position, if any does: with gaps it may be after `last_with`."""
        first: NDArray[np.int64] = (at - self.length) // self.every + 1
        return np.maximum(first, 0) if self.unit == ROWS else first

    def last_with(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """The last window that starts at or before each position."""
        return at // self.every

    def ended_by(self, end: int) -> int:
        """How many windows, counted from window 0, lie wholly before this position.

        >>> WindowSpec(5, 2).ended_by(4), WindowSpec(5, 2).ended_by(5), WindowSpec(5, 2).ended_by(9)
        (0, 1, 3)
        """
        return max((end - self.length) // self.every + 1, 0)

    def to_record(self) -> dict[str, Any]:
        """The specification as an object of JSON: what a checkpoint was made with."""
        return {"length": self.length, "every": self.every, "unit": self.unit}

    def __str__(self) -> str:
        """As users write it."""
        if self.unit == ROWS:
            return f"rows({self.length}, every={self.every})"
        length, every = (format_duration(each / _MICROSECONDS) for each in (self.length, self.every))
        return f"span({length!r}, every={every!r})"


def rows_spec(length: object, every: object, gaps: bool = False) -> WindowSpec:
    """Windows of so many rows; without `every` they tumble.

    >>> rows_spec(100, None)
    WindowSpec(length=100, every=100, unit='rows', gaps=False)
    """
    whole = _whole("length", length)
    return WindowSpec(whole, whole if every is None else _whole("every", every), ROWS, gaps)


def time_spec(length: str | float, every: str | float | None, gaps: bool = False) -> WindowSpec:
    """Windows of a span of time, given as "10 s" or in seconds; without `every` they tumble.

    >>> str(time_spec("10 s", "500 ms"))
    "span('10 s', every='500 ms')"
    """
    length_us = microseconds("length", length)
    return WindowSpec(length_us, length_us if every is None else microseconds("every", every), TIME, gaps)


def _whole(field: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise BadInputError(field, value, "not a whole number of rows", "write e.g. 1000")
    return int(value)


def microseconds(field: str, value: object) -> int:
    """A span of time that is written "10 s", or as a number of seconds.

    >>> microseconds("length", "10 ms"), microseconds("length", 1.5)
    (10000, 1500000)
    """
    if isinstance(value, str):
        return round(parse_duration_s(value, field) * _MICROSECONDS)
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not math.isfinite(value):
        raise BadInputError(field, value, "not a span of time", "write e.g. '10 s', or seconds")
    return round(float(value) * _MICROSECONDS)
