"""A query of LMStream as an application of Penstock: one class, six queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from penstock.apps.lmstream import queries
from penstock.apps.lmstream.digest import BATCH, digest_of_directory
from penstock.apps.lmstream.queries import Query
from penstock.apps.lmstream.reference import reference_digest
from penstock.apps.lmstream.stream import Replayed, Seeded
from penstock.apps.lmstream.trace_rows import TraceRows, read_trace
from penstock.errors import BadInputError
from penstock.patterns.arrivals import AnyArrivals, Arrivals, parse_arrivals
from penstock.patterns.constant import Constant
from penstock.patterns.datasets import Datasets
from penstock.progress import Progress
from penstock.workloads.workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

PACE = Datasets(rows=1000, every=1.0)
CONSTANT = "datasets:rows=1000,every=1s"
# Rows of one second may come in two batches, and a join takes a row that is as old as the watermark for late.
_DELAY_S = 1
_SECONDS = {"test": 20, "minute": 60, "small": 120, "medium": 300, "large": 1200}


@dataclass(frozen=True)
class LmStreamApp:
    """A windowed query over a stream of 1000 rows a second, or over the rows of a real trace.

    >>> app = LmStreamApp(queries.LR1S)
    >>> workload = app.workload("small", arrivals=app.default_arrivals)
    >>> workload.items, workload.arrived_by(0.9), workload.arrived_by(2.0)
    (120000, 0, 2000)
    """

    query: Query
    trace: TraceRows | None = None

    default_arrivals: ClassVar[str] = CONSTANT
    stateful: ClassVar[bool] = True
    session_settings: ClassVar[Mapping[str, str]] = {}
    classes: ClassVar[Mapping[str, str]] = {
        name: f"{seconds} s of stream" + (", as long as the paper's runs" if name == "large" else "")
        for name, seconds in _SECONDS.items()
    }

    @property
    def name(self) -> str:
        """The query's name in table III, in small letters."""
        return self.query.name

    @property
    def description(self) -> str:
        """The query in a line."""
        return self.query.description

    @property
    def row_bytes(self) -> float:
        """The mean length of a row as CSV text."""
        return self.query.stream.row_bytes if self.trace is None else self.trace.row_bytes

    def replaying(self, data: Path) -> LmStreamApp:
        """The same query over the rows of a trace, repeated as often as the class needs."""
        return replace(self, trace=read_trace(data, self.query.stream.fields))

    @property
    def bad_rows(self) -> int:
        """How many lines of the trace are no rows."""
        return 0 if self.trace is None else self.trace.bad_rows

    @property
    def first_bad_row(self) -> str | None:
        """Where and why the first of them is none."""
        return None if self.trace is None else self.trace.first_bad

    def workload(self, size_class: str, seed: int = 1, arrivals: str = CONSTANT, cost: str = "thesis") -> Workload:
        """The rows of a class, the last one closing the stream; all cost the same.

        Where arrivals come in datasets, a dataset is a second of stream, whatever the interval; a class has as many
        rows as its seconds have on average. Any other arrivals bring a stream of 1000 rows a second.
        """
        if size_class not in _SECONDS:
            raise BadInputError("class", size_class, "no such size class", f"choose one of: {', '.join(_SECONDS)}")
        if cost != "thesis":
            raise BadInputError("cost", cost, "every row of this application costs the same", "leave it out")
        when = parse_arrivals(arrivals)
        pace = _pace(when)
        rows = pace.rows * _SECONDS[size_class]
        stream = self.query.stream
        return Workload(
            arrivals=when,
            cost=Constant(1.0),
            generate=Seeded(stream, pace, rows) if self.trace is None else Replayed(stream, self.trace, rows),
            schema_ddl=stream.schema_ddl,
            items=rows,
            seed=seed,
        )

    def first_size(self, size_class: str) -> int:
        """A dataset."""
        return PACE.rows

    def pipeline(self, df: DataFrame) -> DataFrame:
        """The query over a stream of rows."""
        from pyspark.sql import functions

        delay_s = _DELAY_S + (0 if self.trace is None else self.trace.disorder_s)
        rows = df.withColumn("event_time", functions.timestamp_micros("timestamp"))
        return df.sparkSession.sql(self.query.text, rows=rows.withWatermark("event_time", f"{delay_s} seconds"))

    def sink(self, df: DataFrame, directory: Path) -> DataStreamWriter:
        """Spark's own file sink, or, where a batch is to be sorted, a folder a batch: written twice it counts once."""
        if not self.query.order:
            return df.writeStream.format("parquet").option("path", str(directory)).option("compression", "none")
        # In one partition: sorting over several would sample the batch first, and so compute it twice.
        order = list(self.query.order)

        def write(batch: DataFrame, batch_id: int) -> None:
            ordered = batch.repartition(1).sortWithinPartitions(*order)
            ordered.write.mode("overwrite").option("compression", "none").parquet(str(directory / f"{BATCH}{batch_id}"))

        return df.writeStream.foreachBatch(write)

    def digest(self, directory: Path) -> str:
        """The digest of the results in a run's output directory."""
        return str(digest_of_directory(directory, self.query.output))

    def known_digest(
        self, size_class: str, seed: int = 1, cost: str = "thesis", *, arrivals: str = CONSTANT
    ) -> str | None:
        """None: it is computed in seconds."""
        return None

    def reference_digest(
        self,
        size_class: str,
        seed: int = 1,
        cost: str = "thesis",
        progress: Progress | None = None,
        *,
        arrivals: str = CONSTANT,
    ) -> str:
        """The digest of a whole class, by NumPy."""
        return str(reference_digest(self.query, self.workload(size_class, seed, arrivals, cost), progress))


def _pace(arrivals: AnyArrivals) -> Datasets:
    pattern = arrivals.pattern if isinstance(arrivals, Arrivals) else None
    return replace(pattern, every=1.0) if isinstance(pattern, Datasets) else PACE


lr1s = partial(LmStreamApp, queries.LR1S)
lr1t = partial(LmStreamApp, queries.LR1T)
lr2s = partial(LmStreamApp, queries.LR2S)
cm1s = partial(LmStreamApp, queries.CM1S)
cm1t = partial(LmStreamApp, queries.CM1T)
cm2s = partial(LmStreamApp, queries.CM2S)
