"""What every pattern can do: give its value, its area so far, and the place where an area is reached."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, ClassVar, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.errors import BadInputError
from penstock.patterns.options import written

FloatArray: TypeAlias = NDArray[np.float64]


class Pattern(ABC):
    """A value >= 0 over x >= 0, where x is time in seconds, the index of an item, or work done.

    The three questions take a number and give a float, or take an array and give an array of the same shape.
    A subclass answers them for flat arrays in `_value`, `_integral` and `_inverse`, is a frozen dataclass whose
    fields carry their reader (see `penstock.patterns.options`), and has one line in `penstock.patterns.registry`.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    aliases: ClassVar[Mapping[str, str]] = {}

    @overload
    def value(self, x: float) -> float: ...
    @overload
    def value(self, x: NDArray[Any]) -> FloatArray: ...
    def value(self, x: ArrayLike) -> float | FloatArray:
        """The value at x; where it jumps, the value after the jump."""
        return _answer(self._value, x, "x")

    @overload
    def integral(self, x: float) -> float: ...
    @overload
    def integral(self, x: NDArray[Any]) -> FloatArray: ...
    def integral(self, x: ArrayLike) -> float | FloatArray:
        """The area from 0 to x."""
        return _answer(self._integral, x, "x")

    @overload
    def inverse(self, y: float) -> float: ...
    @overload
    def inverse(self, y: NDArray[Any]) -> FloatArray: ...
    def inverse(self, y: ArrayLike) -> float | FloatArray:
        """The smallest x whose area is at least y, or infinity where the pattern never gives that much."""
        return _answer(self._reach, y, "y")

    @property
    @abstractmethod
    def total(self) -> float:
        """The area from 0 to infinity: infinite unless the pattern ends at zero."""

    @property
    def extent(self) -> float | None:
        """How long the pattern takes to show all of itself once, or None where it has no such length."""
        period = getattr(self, "period", None)
        return None if period is None else float(period)

    @abstractmethod
    def _value(self, x: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _integral(self, x: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _inverse(self, y: FloatArray) -> FloatArray:
        """For areas above zero and within the total."""

    def _reach(self, y: FloatArray) -> FloatArray:
        x = np.where(y > 0, np.inf, 0.0)
        reachable = (y > 0) & (y <= self.total)
        x[reachable] = self._inverse(y[reachable])
        return x

    def __str__(self) -> str:
        """The text from which `parse` makes this pattern again."""
        given = ((entry.name, getattr(self, entry.name)) for entry in fields(self) if entry.init)  # type: ignore[arg-type]
        options = ",".join(f"{key}={written(value)}" for key, value in given if value is not None)
        return f"{self.name}:{options}"


def check_range(pattern: Pattern, low: float, high: float) -> None:
    """Refuse a range that is negative, upside down or not finite."""
    check_amount(pattern, "min", low)
    check_amount(pattern, "max", high)
    if low > high:
        raise BadInputError(f"{pattern.name} min", low, f"above max = {high:g}", "swap min and max")


def check_amount(pattern: Pattern, field: str, amount: float) -> None:
    """Refuse a negative or endless amount."""
    if not (math.isfinite(amount) and amount >= 0):
        raise BadInputError(
            f"{pattern.name} {field}", amount, "a pattern is finite and never below 0", "give 0 or more"
        )


def check_extent(pattern: Pattern, field: str, extent: float) -> None:
    """Refuse a length that is not above zero."""
    if not (math.isfinite(extent) and extent > 0):
        raise BadInputError(f"{pattern.name} {field}", extent, "not a length above 0", f"write e.g. {field}=30s")


def _answer(question: Callable[[FloatArray], FloatArray], at: ArrayLike, field: str) -> float | FloatArray:
    where = np.asarray(at, dtype=np.float64)
    if where.size and not (where.min() >= 0 and np.isfinite(where.max())):
        bad = where[~((where >= 0) & np.isfinite(where))].flat[0]
        raise BadInputError(field, float(bad), "patterns start at 0 and go on in finite steps", "give a number >= 0")
    answer = question(where.ravel()).reshape(where.shape)
    return float(answer) if answer.ndim == 0 else answer
