"""What every built-in controller shares: it reads a ratio, plans a size, and says why."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from typing import ClassVar

from penstock.control.memory import Remembers
from penstock.control.sample_value import keep, measured, usable_value
from penstock.sample import BatchSample, Decision
from penstock.size import check_size, clamp, format_change
from penstock.slo import Slo

# A value a trillion times off says no more than one a billion times off, and this keeps the arithmetic finite.
_FARTHEST = 1e12
# The edges of the band belong to it, also when a ratio is a rounding error beyond them.
_EDGE = 1e-12


class BaseController(Remembers, ABC):
    """Leaves a subclass only its formula: `plan(ratio)`, where ratio is the measured value over what the SLO aims at.

    >>> class Halve(BaseController):
    ...     def plan(self, ratio: float) -> float:
    ...         return self.size / 2
    >>> controller = Halve(Slo.parse("1 s ± 10%"), size=100)
    >>> controller.decide(BatchSample(batch_id=0, size=100, items=100, processing_s=1.2)).reason
    'size 50 (-50%): the last batch took 1.2 s, over 1.1 s'
    """

    live_defaults: ClassVar[Mapping[str, object]] = {"warm_up": True}
    """Settings that a live query begins with unless told otherwise."""

    def __init__(self, slo: Slo, size: float) -> None:
        self.slo = slo
        self.size = check_size("size", size)
        self._low = (1 - slo.tolerance) * (1 - _EDGE)
        self._high = (1 + slo.tolerance) * (1 + _EDGE)

    @property
    def band(self) -> tuple[float, float]:
        """Between these ratios of value to aim nothing is wrong."""
        return self._low, self._high

    @abstractmethod
    def plan(self, ratio: float) -> float:
        """The next size, before it is clamped to 1 or more."""

    def decide(self, sample: BatchSample) -> Decision:
        """Plan on a usable sample, keep the size on any other."""
        value = usable_value(self.slo, sample)
        if value is None:
            return keep(self.size, sample)
        ratio = clamp(value / self.slo.aim, 1 / _FARTHEST, _FARTHEST)
        before = self.size
        self.size = clamp(self.plan(ratio))
        return Decision(self.size, f"{format_change(before, self.size)}: {self._finding(value, ratio)}")

    def _finding(self, value: float, ratio: float) -> str:
        low, high = _edges(self.slo, self._low, self._high)
        found = measured(self.slo, value)
        if ratio < self._low:
            return f"{found}, under {low}"
        if ratio > self._high:
            return f"{found}, over {high}"
        return f"{found}, within {low} to {high}"


@lru_cache
def _edges(slo: Slo, low: float, high: float) -> tuple[str, str]:
    return slo.format_value(slo.aim * low), slo.format_value(slo.aim * high)
