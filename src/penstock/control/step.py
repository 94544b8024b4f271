"""The step by which a controller changes the size, and the base of the controllers that take steps."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from penstock.control.base import BaseController
from penstock.errors import BadInputError
from penstock.slo import Slo
from penstock.units import parse_count, parse_percent

_HOW = "write items as 10, or a share of the size as '10%'"


def stepped_up(size: float, steps: float, amount: float, relative: bool) -> float:
    """The size so many steps up; plain numbers, so that the simulator can compile it."""
    return size * (1 + steps * amount) if relative else size + steps * amount


def stepped_down(size: float, steps: float, amount: float, relative: bool) -> float:
    """The size so many steps down."""
    return size / (1 + steps * amount) if relative else size - steps * amount


@dataclass(frozen=True, slots=True)
class Step:
    """A step (the thesis: adaptation factor) in items, or relative to the size in force.

    Steps in items are added and taken away. A relative step down undoes the same step up: it divides, so that however
    far off the latency is, a part of the batch is left.

    >>> Step.parse(10).up(200.0), Step.parse("25%").up(200.0), Step.parse("25%").up(200.0, steps=2)
    (210.0, 250.0, 300.0)
    >>> Step.parse(10).down(210.0), Step.parse("25%").down(250.0), Step.parse("25%").down(300.0, steps=2)
    (200.0, 200.0, 200.0)
    """

    amount: float
    relative: bool = False

    def __post_init__(self) -> None:
        """Refuse steps that lead nowhere."""
        if not (math.isfinite(self.amount) and self.amount > 0):
            raise BadInputError("step", str(self), "a step is positive and finite", _HOW)

    @classmethod
    def parse(cls, step: Step | float | str) -> Step:
        """A step as people write it."""
        if isinstance(step, Step):
            return step
        if not isinstance(step, str):
            return cls(float(step))
        if step.rstrip().endswith("%"):
            return cls(parse_percent(step, "step"), relative=True)
        return cls(parse_count(step, "step"))

    def up(self, size: float, steps: float = 1.0) -> float:
        """The size so many steps up."""
        return stepped_up(size, steps, self.amount, self.relative)

    def down(self, size: float, steps: float = 1.0) -> float:
        """The size so many steps down."""
        return stepped_down(size, steps, self.amount, self.relative)

    def __str__(self) -> str:
        """The step as one would write it."""
        return f"{self.amount * 100:g}%" if self.relative else f"{self.amount:g}"


class StepController(BaseController):
    """Below the band up, above it down, within it nothing; a subclass says by how many steps."""

    live_defaults: ClassVar[Mapping[str, object]] = {"warm_up": True, "step": "20%"}
    """A whole step of 20% just crosses a band of ± 10%; a larger one would jump over it."""

    def __init__(self, slo: Slo, size: float, step: Step | float | str = 10) -> None:
        super().__init__(slo, size)
        self.step = Step.parse(step)

    @abstractmethod
    def steps_up(self, ratio: float) -> float:
        """How many steps to grow when the ratio is below the band."""

    @abstractmethod
    def steps_down(self, ratio: float) -> float:
        """How many steps to shrink when the ratio is above the band."""

    def plan(self, ratio: float) -> float:
        """The size in force, moved by so many steps."""
        if ratio < self._low:
            return self.step.up(self.size, self.steps_up(ratio))
        if ratio > self._high:
            return self.step.down(self.size, self.steps_down(ratio))
        return self.size
