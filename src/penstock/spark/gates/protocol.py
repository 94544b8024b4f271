"""What a gate in front of one source offers to the loop, to the sampler and to the run of its query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from penstock.errors import UnsupportedError
from penstock.sample import BatchSample, Decision
from penstock.spark.advice import Advice
from penstock.spark.observe.lane import ProbeEvent
from penstock.spark.observe.report import SourceRange
from penstock.spark.observe.sampler import Admitted


class Retention(NamedTuple):
    """How long a source keeps what is not read."""

    topic: str
    seconds: float


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

    def on_event(self, event: ProbeEvent, sample: BatchSample | None = None) -> Sequence[Advice | Retention]:
        """Take what concerns it in an event of the query, and in the sample made of it; what it has to tell."""
        return ()

    def inherit(self, before: SourceGate) -> None:
        """Go on with what the gate of a former run knew."""
        return

    def set_partitions(self, partitions: int) -> None:
        """Cut the next batches into so many partitions."""
        raise UnsupportedError("only a source of penstock.read_workload changes its partitions while it runs")
