"""The two gates behind one protocol, and the split of one budget over several."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from penstock.errors import BadInputError, UnsupportedError
from penstock.sample import Decision
from penstock.spark.jvm import LiveQuery
from penstock.spark.mailbox import Admission, Mailbox
from penstock.spark.progress import SourceRange
from penstock.spark.reader import FIRST_FILES, FIRST_ROWS
from penstock.spark.sampler import Admitted


class SourceGate(Protocol):
    """A gate in front of one source of a query: the loop's `Gate` and the sampler's `Meter` in one."""

    unit: str
    first_size: float

    def apply(self, decision: Decision) -> None:
        """Admit as decided from the next planned batch on."""
        ...

    def restore(self) -> None:
        """Go back to the limit that the user had."""
        ...

    def admitted(self, sources: tuple[SourceRange, ...]) -> Admitted:
        """What a batch took from this source."""
        ...


class FileGate:
    """The engine gate: the read limit of Spark's file source, in files."""

    unit = "files"
    first_size = float(FIRST_FILES)

    def __init__(self, query: LiveQuery, source: int, user_limit: Any) -> None:
        self._query = query
        self._source = source
        self._user_limit = user_limit

    def apply(self, decision: Decision) -> None:
        """Set `maxFiles`: a composite with a minimum makes the file source fail, so it is refused here."""
        if decision.min_size:
            raise UnsupportedError("Spark's file source knows no minimum; decide a size only")
        self._query.set_max_files(self._source, max(math.floor(decision.size), 1))

    def restore(self) -> None:
        """Put the user's own read limit back."""
        self._query.set_limit(self._source, self._user_limit)

    def admitted(self, sources: tuple[SourceRange, ...]) -> Admitted:
        """Files taken, from the source's own log."""
        taken = sources[self._source] if self._source < len(sources) else None
        if taken is None or taken.files is None:
            return Admitted(math.nan)
        return Admitted(float(taken.files), backlog=taken.backlog)


class WorkloadGate:
    """The source gate: our own source, gated from inside through its mailbox, in rows or in their summed cost."""

    first_size = float(FIRST_ROWS)

    def __init__(
        self, query: LiveQuery, mailbox: Mailbox, source: int, user_limit: float | None, unit: str = "rows"
    ) -> None:
        self.unit = unit
        self.mailbox = mailbox
        self._query = query
        self._source = source
        self._user_limit = user_limit

    def apply(self, decision: Decision) -> None:
        """Tell the source, keeping the partitions that a slower loop may have set."""
        partitions = self.mailbox.admission().partitions
        self.mailbox.admit(Admission(decision.size, decision.min_size, decision.max_wait_s, partitions, unit=self.unit))

    def restore(self) -> None:
        """Back to the user's `maxRowsPerTrigger`, or to everything that has arrived."""
        if self._query.stopped():
            # The same DataFrame may be started again: its first batch is for the reader's options to limit.
            self.mailbox.admit(Admission())
            return
        size = float(sys.maxsize) if self._user_limit is None else self._user_limit
        self.mailbox.admit(Admission(size, partitions=self.mailbox.admission().partitions))

    def set_partitions(self, partitions: int) -> None:
        """Cut the next batches into so many partitions, whatever is admitted."""
        if partitions < 1:
            raise BadInputError("partitions", partitions, "a batch has at least one", "give 1 or more")
        self.mailbox.admit(replace(self.mailbox.admission(), partitions=partitions))

    def admitted(self, sources: tuple[SourceRange, ...]) -> Admitted:
        """Rows taken, from the offsets; cost, age, backlog and load from the source's receipt."""
        taken = sources[self._source] if self._source < len(sources) else None
        if taken is None or taken.end is None:
            return Admitted(math.nan)
        first, stop = _index(taken.start), _index(taken.end)
        for receipt in reversed(self.mailbox.receipts()):
            if (receipt.start, receipt.stop) == (first, stop):
                size = self._size(stop - first, receipt.cost)
                rows = float(stop - first)
                return Admitted(size, receipt.wait_s, receipt.backlog, receipt.load, receipt.part, rows)
        return Admitted(self._size(stop - first), rows=float(stop - first))

    def _size(self, rows: int, cost: float | None = None) -> float:
        """In this gate's unit; without a receipt the rows are known and what they cost is not."""
        if self.unit == "rows" or rows == 0:
            return float(rows)
        return math.nan if cost is None else cost


class SplitGate:
    """One budget over several sources of one unit, split by backlog; none is shut off."""

    def __init__(self, gates: Sequence[SourceGate]) -> None:
        units = sorted({gate.unit for gate in gates})
        if len(units) > 1:
            raise UnsupportedError(
                f"this query reads sources that are limited in {' and '.join(units)}: one budget cannot be split over "
                "both; read them in two queries and attach to each"
            )
        self.unit = units[0]
        self.first_size = sum(gate.first_size for gate in gates)
        self._gates = tuple(gates)
        self._shares = [1 / len(gates)] * len(gates)

    def apply(self, decision: Decision) -> None:
        """Each source gets its share, at least 1."""
        for gate, share in zip(self._gates, self._shares, strict=True):
            size = max(decision.size * share, 1.0)
            least = None if decision.min_size is None else min(decision.min_size * share, size)
            gate.apply(Decision(size, decision.reason, least, decision.max_wait_s))

    def restore(self) -> None:
        """Every source goes back to its own limit."""
        for gate in self._gates:
            gate.restore()

    def admitted(self, sources: tuple[SourceRange, ...]) -> Admitted:
        """The sum of what was taken, the oldest wait; the shares follow what is left."""
        each = [gate.admitted(sources) for gate in self._gates]
        weights = [_rows(a) + (a.backlog or 0.0) if math.isfinite(a.size) else 0.0 for a in each]
        if sum(weights) > 0:
            # The floor keeps a source that is empty now from being starved when it fills.
            floor = 0.05 / len(weights)
            self._shares = [floor + (1 - 0.05) * w / sum(weights) for w in weights]
        waits = [a.wait_s for a in each if a.wait_s is not None]
        backlogs = [a.backlog for a in each if a.backlog is not None]
        loads = [a for a in each if a.load is not None and a.size > 0]
        rows = sum(_rows(a) for a in loads)
        return Admitted(
            size=sum(a.size for a in each),
            wait_s=max(waits) if waits else None,
            backlog=sum(backlogs) if backlogs else None,
            load=sum((a.load or 0.0) * _rows(a) for a in loads) / rows if rows else None,
            part=next((a.part for a in each if a.part), None),
            rows=sum(_rows(a) for a in each) if all(a.rows is not None for a in each) else None,
        )


def _rows(admitted: Admitted) -> float:
    """Backlogs are in rows, also where sizes are in cost."""
    return admitted.size if admitted.rows is None else admitted.rows


def gate_for(query: LiveQuery) -> SourceGate:
    """The gate that fits a running query's sources; an error that says what to do where there is none."""
    gates = [_gate(query, index) for index in range(len(query.sources))]
    return gates[0] if len(gates) == 1 else SplitGate(gates)


def _gate(query: LiveQuery, index: int) -> SourceGate:
    source = query.sources[index]
    options = {key.lower(): value for key, value in source.options.items()}
    if source.kind == "FileStreamSource":
        return FileGate(query, index, query.user_limit(index, options.get("penstock.files")))
    if source.kind.startswith("PythonMicroBatchStream") and "mailbox" in options:
        limit = options.get("penstock.rows", options.get("maxrowspertrigger", "none"))
        user_limit = None if limit == "none" else float(limit)
        return WorkloadGate(query, Mailbox(options["mailbox"]), index, user_limit, options.get("admit", "rows"))
    raise UnsupportedError(
        f"{source.text} ({source.kind}) has no admission control that Penstock knows: read files, or replay a workload "
        "with penstock.read_workload; an unknown limit could make a source read everything at once"
    )


def _index(offset: str | None) -> int:
    return 0 if offset is None else int(json.loads(offset)["index"])
