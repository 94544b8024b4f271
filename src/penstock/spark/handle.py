"""The handle: what a user holds of an attached query."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.query import StreamingQuery

from penstock.control.protocol import Change
from penstock.journal import Recording, read
from penstock.plan import Plan
from penstock.sample import Decision
from penstock.score import summarise
from penstock.slo import Slo
from penstock.spark.runs import Runs

if TYPE_CHECKING:
    from penstock.stages.windows.switch import Switch


class Handle:
    """A closed loop around one query. `detach()` opens it again.

    When the query stops, the loop is open and the handle waits: a later run of the same query (the same checkpoint, in
    the same application) is gated from its first batch on, with what was learned before.
    """

    def __init__(self, runs: Runs, journal_path: Path) -> None:
        self.journal_path = journal_path
        self._runs = runs

    @property
    def query(self) -> StreamingQuery:
        """The query, as it was last started."""
        return self._runs.query

    @property
    def slo(self) -> Slo:
        """The objective."""
        return self._runs.loop.slo

    @property
    def decision(self) -> Decision:
        """The decision now in force, with its reason."""
        return self._runs.loop.decision

    @property
    def active(self) -> bool:
        """Whether the loop is closed."""
        return self._runs.ended is None

    @property
    def ended(self) -> str | None:
        """Why the loop is open, or None while it is closed."""
        return self._runs.ended

    def recording(self) -> Recording:
        """Everything journaled so far."""
        return read(self.journal_path)

    def summary(self) -> dict[str, Any]:
        """The SLO metrics so far, of everything in the journal's file."""
        return summarise(self.recording().samples, self.slo)

    def set_partitions(self, partitions: int) -> None:
        """Cut the next batches into so many partitions; only our own source can change them while it runs."""
        self._runs.gate.set_partitions(partitions)
        self._runs.changed(Change("width", str(partitions), "set by the user"))

    @property
    def plan(self) -> Plan:
        """What the workers know from the next planned batch on: schedule of windows, composition, devices."""
        return self._runs.carrier.plan

    def set_plan(self, parts: Mapping[str, Any], reason: str) -> Plan:
        """Change parts of the plan from the next planned batch on; durable before it returns."""
        return self._runs.set_plan(parts, reason)

    def set_windows(
        self,
        *,
        batch: int | None = None,
        replicas: int | None = None,
        protocol: str = "hard",
        reason: str = "set by the user",
    ) -> Switch:
        """Compute windows without a key in other sliding batches, or on other numbers of tasks, while the query runs.

        Results stay the same. `protocol` is "hard" (soon) or "soft" (where old and new turns meet). The change is
        durable before it returns; give `penstock.windows` the same `journal=`, so that a restart knows of it.
        """
        # Whoever has no windows needs no Arrow.
        from penstock.spark.windows.change import changed

        rows = self._runs.batch_rows
        found, parts = changed(self.plan, self._runs.echoed, rows, batch=batch, replicas=replicas, protocol=protocol)
        self.set_plan(parts, reason)
        return found

    def detach(self) -> None:
        """Give the user's own limits back and stop watching; the query goes on."""
        self._runs.detach()

    def __enter__(self) -> Handle:
        """The handle itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Detach."""
        self.detach()
