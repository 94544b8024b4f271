"""What a benchmark application offers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from penstock.progress import Progress
from penstock.workloads.workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter


class App(Protocol):
    """A runnable pipeline with its workloads, its sink and the proof that its output is right.

    A new application is one class, registered under the entry point group `penstock.apps`.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    classes: ClassVar[Mapping[str, str]]
    """Size classes, each with one line about it."""
    default_arrivals: ClassVar[str]
    """When items arrive unless a run says other."""
    stateful: ClassVar[bool]
    """Whether results may still come when the last item is done: a run then waits for the batches without data."""
    session_settings: ClassVar[Mapping[str, str]]
    """Settings of Spark SQL that its queries need; a run sets them and puts back what was there."""

    @property
    def row_bytes(self) -> float | None:
        """The mean length of an item as text, where it has one: throughput is then told in bytes too."""
        ...

    def workload(self, size_class: str, seed: int = 1, arrivals: str = "saturated", cost: str = "thesis") -> Workload:
        """The items of a class: when they arrive, what they cost, what is in them."""
        ...

    def first_size(self, size_class: str) -> int:
        """A small batch to begin with, in items, before anything is known of the machine."""
        ...

    def pipeline(self, df: DataFrame) -> DataFrame:
        """The stages over a DataFrame of items, streaming or not."""
        ...

    def sink(self, df: DataFrame, directory: Path) -> DataStreamWriter:
        """A writer of the pipeline's results, not started yet; a batch written twice counts once."""
        ...

    def digest(self, directory: Path) -> str:
        """The digest of what a run wrote, whatever its batches and their order."""
        ...

    def known_digest(
        self, size_class: str, seed: int = 1, cost: str = "thesis", *, arrivals: str = "saturated"
    ) -> str | None:
        """The digest that the output of a whole class must have, where it was computed before."""
        ...

    def reference_digest(
        self,
        size_class: str,
        seed: int = 1,
        cost: str = "thesis",
        progress: Progress | None = None,
        *,
        arrivals: str = "saturated",
    ) -> str:
        """The same digest, computed now by a plain loop without Spark, and remembered."""
        ...


class ConfigurableApp(App, Protocol):
    """An application with options of its own, as texts from the command line."""

    options: ClassVar[Mapping[str, str]]
    """Its options, each with one line about it."""

    def configured(self, size_class: str, options: Mapping[str, str]) -> ConfigurableApp:
        """The same application with these options, the others as the class has them; refuses what cannot be."""
        ...


@runtime_checkable
class PreparingApp(Protocol):
    """An application whose items are made of an input that takes time to make, and is kept."""

    def make_input(self, seed: int, progress: Progress | None = None) -> Path | None:
        """Make it where it is not there; where it is kept, or None where nothing is."""
        ...


@runtime_checkable
class TruthfulApp(Protocol):
    """An application whose generator knows what is right."""

    def truth(self, directory: Path) -> Mapping[str, Any]:
        """How right the results in a run's output directory are: `recall`, `precision`, ..."""
        ...


class ReplayingApp(App, Protocol):
    """An application whose items can also come from a file."""

    @property
    def bad_rows(self) -> int:
        """How many lines of the file are no items: they are counted and left out."""
        ...

    @property
    def first_bad_row(self) -> str | None:
        """Where and why the first of them is none."""
        ...

    def replaying(self, data: Path) -> ReplayingApp:
        """The same application over the items of a file, in their order, again and again as long as a class needs."""
        ...
