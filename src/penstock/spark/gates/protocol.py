"""What a gate in front of one source offers to the loop and to the sampler."""

from __future__ import annotations

from typing import Protocol

from penstock.sample import Decision
from penstock.spark.observe.report import SourceRange
from penstock.spark.observe.sampler import Admitted


class SourceGate(Protocol):
    """A gate in front of one source of a query: the loop's `Gate` and the sampler's `Meter` in one."""

    unit: str
    first_size: float
    waits: bool
    """Whether a decision may ask it to wait for more (`min_size`, `max_wait_s`)."""

    def apply(self, decision: Decision) -> None:
        """Admit as decided from the next planned batch on."""
        ...

    def restore(self) -> None:
        """Go back to the limit that the user had."""
        ...

    def admitted(self, sources: tuple[SourceRange, ...]) -> Admitted:
        """What a batch took from this source."""
        ...
