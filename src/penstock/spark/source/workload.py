"""The data source `penstock`: replays a workload with admission control inside `latestOffset`.

Offsets are item indices: `{"index": 1200, "epoch_ms": ...}`. The epoch is when the schedule of arrivals began; it
travels in the offsets, so that after a restart the checkpoint tells both where to go on and when items arrive.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyspark
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import BinaryType, StructType

from penstock.clock import Clock, SystemClock
from penstock.errors import BadInputError, UnsupportedError
from penstock.sample import longest_wait_s
from penstock.spark.source.mailbox import Admission, Mailbox, Receipt, make_mailbox
from penstock.stages.arrow import listed, packed

try:
    from pyspark.sql.streaming.datasource import (  # type: ignore[import-not-found,unused-ignore]
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )
except ImportError:  # Spark before 4.2: `read_workload` says so before anything here is used
    ReadAllAvailable = ReadLimit = ReadMaxRows = SupportsTriggerAvailableNow = object  # type: ignore[assignment,misc,unused-ignore]

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader

DEFAULT_PARTITIONS = 2
# A batch is dealt to its partitions in rounds, so that a load that changes inside the batch burdens all alike.
ROUNDS = 8
_workloads: dict[str, Replayable] = {}
_MIN_ROWS_A_ROUND = 32


class Replayable(Protocol):
    """What the source needs of a workload."""

    @property
    def items(self) -> int | None:
        """How many there are; None where they never end."""
        ...

    @property
    def schema_ddl(self) -> str:
        """The columns as Spark DDL."""
        ...

    def arrived_by(self, elapsed_s: float) -> int:
        """How many items have arrived at this time."""
        ...

    def arrival_s(self, index: int) -> float:
        """When an item arrives."""
        ...

    def columns(self, start: int, stop: int) -> Mapping[str, Any]:
        """The items' columns."""
        ...

    def load(self, start: int, stop: int) -> float:
        """Mean cost of the items."""
        ...

    def part(self, index: int) -> str | None:
        """The name of the load pattern an item belongs to."""
        ...

    def within(self, start: int, most: int, budget: float) -> tuple[int, float]:
        """The largest stop whose items cost no more than the budget, at least one item, and what they cost."""
        ...


class _Span(InputPartition):
    """Every `stride`-th run of `run` items in start..stop."""

    def __init__(self, start: int, stop: int, run: int, stride: int) -> None:
        self.start = start
        self.stop = stop
        self.run = run
        self.stride = stride


class WorkloadReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc,unused-ignore]
    """One long-lived object beside the driver that admits items, and its copies in the workers that make them."""

    def __init__(
        self,
        workload: Replayable,
        options: Mapping[str, str],
        *,
        binary: Collection[str] = (),
        clock: Clock | None = None,
    ) -> None:
        self.workload = workload
        self._binary = frozenset(binary)
        self.partitions_default = _positive(options, "partitions") or DEFAULT_PARTITIONS
        self.max_rows = _positive(options, "maxRowsPerTrigger")
        self.by_cost = _unit(options.get("admit", "rows")) == "cost"
        self.mailbox = Mailbox(options["mailbox"]) if options.get("mailbox") else None
        self._clock: Clock = clock or SystemClock()
        self._anchor_s: float | None = None
        self._available_now_s: float | None = None

    def initialOffset(self) -> dict[str, int]:
        """Item 0; the schedule of arrivals begins now."""
        # Rounded down: a schedule that began in the future would make the first batch an empty one.
        return {"index": 0, "epoch_ms": math.floor(self._clock.wall_s() * 1e3)}

    def getDefaultReadLimit(self) -> ReadLimit:
        """The user's own `maxRowsPerTrigger`; a gate overrides it from inside."""
        return ReadMaxRows(self.max_rows) if self.max_rows else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Nothing that arrives from now on belongs to this run."""
        self._available_now_s = self._clock.wall_s()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        """Admit what has arrived, at most what the gate (or else the reader's limit) allows."""
        first = start["index"]
        elapsed_s = self._elapsed_s(start)
        arrived = max(self.workload.arrived_by(elapsed_s), first)
        admission = self.mailbox.admission() if self.mailbox else None
        stop, cost = self._stop(first, arrived, admission, getattr(limit, "max_rows", None))
        if stop == first:
            return start
        wait_s = max(elapsed_s - self.workload.arrival_s(first), 0.0)
        last = self._available_now_s is not None or arrived == self.workload.items
        # Where the limit cut the batch, waiting would add nothing to it.
        if admission is not None and stop == arrived and not last:
            queued = cost if admission.unit == "cost" else stop - first
            if wait_s < longest_wait_s(queued, admission.min_size, admission.max_wait_s, admission.item_s):
                return start
        if self.mailbox:
            self.mailbox.acknowledge(
                Receipt(
                    start=first,
                    stop=stop,
                    wait_s=wait_s,
                    backlog=arrived - stop,
                    load=self.workload.load(first, stop),
                    part=self.workload.part((first + stop) // 2),
                    cost=cost if self.by_cost else None,
                )
            )
        return {"index": stop, "epoch_ms": start["epoch_ms"]}

    def _stop(self, first: int, arrived: int, admission: Admission | None, max_rows: int | None) -> tuple[int, float]:
        """Where the batch ends, and what its items cost where that is asked for."""
        size = admission.size if admission else None
        if admission is not None and size is not None and admission.unit == "cost":
            return self.workload.within(first, arrived, size) if arrived > first else (first, 0.0)
        rows = max_rows if size is None else max(math.floor(size), 1)
        stop = arrived if rows is None else min(arrived, first + rows)
        cost = self.workload.within(first, stop, math.inf)[1] if self.by_cost and stop > first else 0.0
        return stop, cost

    def reportLatestOffset(self) -> dict[str, int] | None:
        """Not reported: what has arrived depends on the schedule's epoch, which only the offsets know."""
        return None

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Deal the batch to as many partitions as the gate (or else the option) says."""
        first, stop = start["index"], end["index"]
        if stop <= first:
            return []
        wanted = self.mailbox.admission().partitions if self.mailbox else None
        count = max(min(wanted or self.partitions_default, stop - first), 1)
        run = max(math.ceil((stop - first) / (count * ROUNDS)), min(_MIN_ROWS_A_ROUND, stop - first))
        return [_Span(first + i * run, stop, run, count * run) for i in range(count) if first + i * run < stop]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Make the partition's items as Arrow batches."""
        assert isinstance(partition, _Span)
        for at in range(partition.start, partition.stop, partition.stride):
            columns = self.workload.columns(at, min(at + partition.run, partition.stop))
            arrays = [self._arrow(name, column) for name, column in columns.items()]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def commit(self, end: dict[str, int]) -> None:
        """Nothing to release: items are made, not kept."""

    def _arrow(self, name: str, column: Any) -> pa.Array:
        if np.ndim(column) < 2:
            return pa.array(column)
        return packed(column) if name in self._binary else listed(column)

    def _elapsed_s(self, start: Mapping[str, int]) -> float:
        """Seconds since the schedule began; from the first call on by the monotonic clock, which cannot step."""
        if self._available_now_s is not None:
            # A schedule that begins with this run began a moment after it was prepared.
            return max(self._available_now_s - start["epoch_ms"] / 1e3, 0.0)
        if self._anchor_s is None:
            # What was taken before a restart had arrived, even where the wall clock was set back in between.
            least_s = self.workload.arrival_s(start["index"] - 1) if start["index"] > 0 else 0.0
            elapsed_s = max(self._clock.wall_s() - start["epoch_ms"] / 1e3, least_s)
            self._anchor_s = self._clock.monotonic_s() - elapsed_s
        return self._clock.monotonic_s() - self._anchor_s


def read_workload(
    spark: SparkSession,
    workload: Replayable,
    *,
    partitions: int | None = None,
    max_rows: int | None = None,
    admit: str = "rows",
) -> DataStreamReader:
    """A stream reader, as from `spark.readStream`, that replays the workload; `.load()` gives the DataFrame.

    `admit` is the unit of a gate in front of it: "rows", or "cost", where a batch takes as many rows as the decided
    cost allows. Only a replayed workload can know the cost of a row before it is processed.

    Every call makes a mailbox of its own, so that any number of queries can be gated apart.
    """
    if SupportsTriggerAvailableNow is object:
        raise UnsupportedError(
            f"the data source 'penstock' needs Spark 4.2 or later and this is {pyspark.__version__}: an older one "
            "never tells a Python source where to start; upgrade pyspark, or attach to a query on files instead"
        )
    options = {"partitions": str(spark.sparkContext.defaultParallelism if partitions is None else partitions)}
    if max_rows is not None:
        options["maxRowsPerTrigger"] = str(max_rows)
    for name in options:
        _positive(options, name)
    options["admit"] = _unit(admit)
    mailbox = make_mailbox()
    _workloads[mailbox] = workload
    # Spark looks a source up by its name at load(), not before, and pickles it when it is registered: so the latest
    # registration must know every workload that was given out.
    workloads = dict(_workloads)

    class WorkloadSource(DataSource):
        """Finds its workload by its mailbox; Spark ships the class to its Python processes by value."""

        @classmethod
        def name(cls) -> str:
            return "penstock"

        def schema(self) -> str:
            return self._workload().schema_ddl

        def streamReader(self, schema: StructType) -> WorkloadReader:
            binary = [field.name for field in schema.fields if isinstance(field.dataType, BinaryType)]
            return WorkloadReader(self._workload(), self.options, binary=binary)

        def _workload(self) -> Replayable:
            found = workloads.get(self.options.get("mailbox", ""))
            if found is None:
                raise BadInputError("format", "penstock", "no workload", "use penstock.read_workload(spark, workload)")
            return found

    spark.dataSource.register(WorkloadSource)
    return spark.readStream.format("penstock").options(mailbox=mailbox, **options)


def _unit(text: str) -> str:
    if text not in ("rows", "cost"):
        raise BadInputError("admit", text, "not a unit of a workload", "write rows or cost")
    return text


def _positive(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name)
    if text is None:
        return None
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise BadInputError(name, text, "not a positive whole number", f'write e.g. option("{name}", 1000)')
    return value
