"""The pattern that does not change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from penstock.patterns.base import FloatArray, Pattern, check_amount
from penstock.patterns.options import AMOUNT


@dataclass(frozen=True)
class Constant(Pattern):
    """The same value everywhere.

    >>> Constant(5.0).integral(3.0), Constant(5.0).inverse(15.0)
    (15.0, 3.0)
    """

    name: ClassVar[str] = "constant"
    summary: ClassVar[str] = "the same value everywhere: rate (or value)"
    aliases: ClassVar[Mapping[str, str]] = {"value": "rate"}

    rate: float = field(metadata=AMOUNT)

    def __post_init__(self) -> None:
        """Refuse a negative rate."""
        check_amount(self, "rate", self.rate)

    @property
    def total(self) -> float:
        """Infinite, or nothing at all."""
        return np.inf if self.rate > 0 else 0.0

    def _value(self, x: FloatArray) -> FloatArray:
        return np.full_like(x, self.rate)

    def _integral(self, x: FloatArray) -> FloatArray:
        return self.rate * x

    def _inverse(self, y: FloatArray) -> FloatArray:
        return y / self.rate
