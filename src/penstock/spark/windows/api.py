"""Windows with any function, over a streaming or a static DataFrame: what users write."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from penstock.devices.auto import AUTO
from penstock.devices.kernel import Kernel
from penstock.errors import BadInputError
from penstock.plan import NO_PLAN
from penstock.spark.plans.echo import Echo
from penstock.spark.plans.kept import kept_beside, load_plan
from penstock.spark.windows import checks
from penstock.spark.windows.groups import MODULUS
from penstock.spark.windows.kernels import compile_kernel, warm_up
from penstock.spark.windows.operator import RESULT_KEY, Operator, remember
from penstock.spark.windows.pack import BUCKET, GROUP, LATEST, PACKED_DDL, TIMED_DDL, pack
from penstock.spark.windows.processor import WindowProcessor
from penstock.spark.windows.static import whole_groups
from penstock.stages.windows.blocks import AT, KEY, Shape
from penstock.stages.windows.numbered import FAIL, Numbered
from penstock.stages.windows.schedule import Epoch, Schedule
from penstock.stages.windows.spec import TIME, WindowSpec, microseconds, rows_spec, time_spec

# A sliding batch is as long as this many overlaps of windows: then a row goes to 1.25 tasks on average.
_OVERLAPS = 4


def windows(
    df: DataFrame,
    *,
    by: str | None = None,
    order: str | None = None,
    time: str | None = None,
    watermark: str | float | None = None,
    first: int = 0,
    buckets: int | None = None,
    journal: str | Path | None = None,
) -> Windows:
    """Windows over the rows of a DataFrame, streaming or static.

    For example::

        out = penstock.windows(stream, by="symbol", order="id").rows(10_000, every=25).apply(trend, "price")

    :arg by: The column of the key, where each key has windows of its own.
    :arg order: Windows of rows: the column that orders rows. Without a key it numbers them from `first` on, with no
        hole.
    :arg time: Windows of time: the column of the timestamp.
    :arg watermark: Windows of time over a stream: how late rows may come, e.g. "5 s", or seconds.
    :arg first: The lowest number of a row where there is no key.
    :arg buckets: How many groups the keys form; by default as many as a shuffle has tasks. A checkpoint keeps it.
    :arg journal: The journal of `attach`, so that changes made while the query ran hold from its first batch on.
    """
    if not isinstance(df, DataFrame):
        raise BadInputError("df", type(df).__name__, "not a DataFrame of Spark", "give a streaming or static DataFrame")
    if (order is None) == (time is None):
        reason = "windows are of rows or of time"
        raise BadInputError("order, time", (order, time), reason, "give order= for rows(...), time= for span(...)")
    if time is not None and not isinstance(checks.column_type(df, time, "time"), t.TimestampType):
        raise BadInputError("time", time, "not a timestamp", "cast it to timestamp")
    if order is not None:
        checks.check_order(df, order, by is not None)
    if watermark is not None:
        if microseconds("watermark", watermark) < 0:
            raise BadInputError("watermark", watermark, "rows cannot come before they were sent", "give 0 s or more")
        if time is None:
            raise BadInputError("watermark", watermark, "windows of rows have none", "leave it out")
    if by is not None:
        checks.key_type(df, by)
    if buckets is not None and (not checks.whole(buckets) or not 1 <= buckets <= MODULUS):
        raise BadInputError("buckets", buckets, "not a number of groups", f"give 1 to {MODULUS:,}")
    if not checks.whole(first):
        raise BadInputError("first", first, "not the number of a row", "give a whole number, e.g. 1")
    if by is not None and first:
        raise BadInputError("first", first, "rows with a key are counted, not numbered", "leave it out")
    return Windows(df, by, order, time, watermark, first, buckets, None if journal is None else Path(journal))


@dataclass(frozen=True)
class Windows:
    """A DataFrame with its key and its order; made by `windows`."""

    df: DataFrame
    by: str | None
    order: str | None
    time: str | None
    watermark: str | float | None
    first: int
    buckets: int | None
    journal: Path | None

    def rows(
        self,
        length: int,
        every: int | None = None,
        *,
        gaps: bool = False,
        batch: int | None = None,
        replicas: int | None = None,
        missing: str = FAIL,
    ) -> Windowed:
        """Windows of so many rows, a new one every so many; without `every` they tumble.

        :arg gaps: True where `every` may be above the length, so that some rows are in no window.
        :arg batch: Without a key: how many windows one task computes together (Gasser's B). By default four times those
            that share a row, so that a row goes to 1.25 tasks on average.
        :arg replicas: Without a key: how many tasks take turns (Gasser's n). By default all that a shuffle has.
        :arg missing: Without a key: "fail" where a number never comes, or "skip" the windows that would hold it.
        """
        if self.order is None:
            raise BadInputError("rows", length, "rows have no order", "write windows(..., order=)")
        spec = rows_spec(length, every, gaps)
        if self.by is not None:
            for name, value in (
                ("batch", batch),
                ("replicas", replicas),
                ("missing", None if missing == FAIL else missing),
            ):
                if value is not None:
                    raise BadInputError(name, value, "windows with a key have none", "leave it out; see buckets")
            return Windowed(self, spec, None, missing)
        tasks = min(checks.shuffle_tasks(self.df.sparkSession), MODULUS)
        epoch = Epoch(0, usual_batch(spec) if batch is None else batch, tasks if replicas is None else replicas)
        return Windowed(self, spec, Schedule(spec, (epoch,)), missing)

    def span(self, length: str | float, every: str | float | None = None, *, gaps: bool = False) -> Windowed:
        """Windows of a span of time ("10 s", or seconds), a new one every so long; without `every` they tumble."""
        if self.time is None:
            raise BadInputError("span", length, "rows have no time", "write windows(..., time=)")
        if self.df.isStreaming and self.watermark is None:
            reason = "without one no window of a stream ever ends"
            raise BadInputError("watermark", None, reason, "write windows(..., watermark='5 s')")
        return Windowed(self, time_spec(length, every, gaps), None, FAIL)


@dataclass(frozen=True)
class Windowed:
    """Windows that know their length and slide; `apply` gives one row for each."""

    source: Windows
    spec: WindowSpec
    schedule: Schedule | None
    missing: str

    def apply(
        self, kernel: Kernel, *columns: str, args: tuple[Any, ...] = (), device: str = AUTO, errors: str = "fail"
    ) -> DataFrame:
        """One row a window: the key, `window` (its number), `start` and `end`, and what the kernel returned.

        :arg columns: The columns that the kernel gets, as arrays of one window.
        :arg args: Further arguments of the kernel.
        :arg device: auto, numpy, numba, numba-parallel or cuda; see `penstock list devices`.
        :arg errors: "fail" where a window raises, or "null" for its outputs.
        """
        source, df = self.source, self.source.df
        checks.check_kernel(kernel)
        dtypes = tuple(checks.value_dtype(df, name) for name in columns)
        checks.check_names(source.by, kernel)
        in_time = self.spec.unit == TIME
        if df.isStreaming:
            checks.check_stream(df, in_time)
        key = checks.key_type(df, source.by) if source.by else pa.int8() if in_time else None
        operator = Operator(
            self.spec,
            Shape(dtypes, key),
            kernel,
            tuple(args),
            device,
            errors,
            self.schedule,
            self.missing,
            NO_PLAN if source.journal is None else load_plan(kept_beside(source.journal)),
            self._fixed(columns, keyed=key is not None),
            Echo.of(df.sparkSession.sparkContext) if df.isStreaming else None,
        )
        Numbered(operator.shape, self.missing)
        compile_kernel(operator)
        if df.isStreaming:
            warm_up(df.sparkSession, operator)
        remember(operator)
        packed = self._selected(columns, dtypes).mapInArrow(
            partial(pack, operator), TIMED_DDL if in_time else PACKED_DDL
        )
        return self._named(self._computed(packed, operator), kernel)

    def _fixed(self, columns: tuple[str, ...], keyed: bool) -> dict[str, Any]:
        """What a checkpoint cannot be read without: which columns its rows are of, and how they are grouped."""
        source = self.source
        names = {"by": source.by, "order": source.order or source.time, "values": list(columns)}
        return names | ({"buckets": self._buckets()} if keyed else {"first": source.first})

    def _buckets(self) -> int:
        source = self.source
        if source.by is None:
            return 1
        return source.buckets or min(checks.shuffle_tasks(source.df.sparkSession), MODULUS)

    def _selected(self, columns: tuple[str, ...], dtypes: tuple[str, ...]) -> DataFrame:
        """Position, key and values, as blocks have them."""
        source = self.source
        chosen: list[Column] = [self._position().alias(AT)]
        if source.by is not None:
            bucket = f.pmod(f.hash(checks.column(source.by)), f.lit(self._buckets()))
            chosen += [checks.column(source.by).alias(KEY), bucket.alias(BUCKET)]
        elif source.time is not None:
            chosen += [f.lit(0).cast("tinyint").alias(KEY), f.lit(0).alias(BUCKET)]
        for number, (name, dtype) in enumerate(zip(columns, dtypes, strict=True)):
            chosen.append(checks.column(name).cast("double" if dtype == "float64" else "bigint").alias(f"c{number}"))
        return source.df.select(*chosen)

    def _position(self) -> Column:
        source = self.source
        name = source.time or source.order
        assert name is not None
        if isinstance(source.df.schema[name].dataType, t.TimestampType):
            return f.unix_micros(checks.column(name))
        position = checks.column(name).cast("bigint")
        return position - f.lit(source.first) if source.by is None and source.first else position

    def _computed(self, packed: DataFrame, operator: Operator) -> DataFrame:
        by = self.source.by
        kind = "tinyint" if by is None else self.source.df.schema[by].dataType.simpleString()
        key = "" if operator.shape.key is None else f"`{RESULT_KEY}` {kind}, "
        ddl = f"{key}window bigint, start bigint, end bigint, {operator.kernel.output_ddl}"
        if not packed.isStreaming:
            return packed.groupBy(GROUP).applyInArrow(whole_groups(operator), ddl)
        mode = "None"
        if operator.spec.unit == TIME:
            assert self.source.watermark is not None
            delay_us = microseconds("watermark", self.source.watermark)
            packed, mode = packed.withWatermark(LATEST, f"{delay_us} microseconds"), "EventTime"
        return packed.groupBy(GROUP).transformWithStateInPandas(WindowProcessor(operator), ddl, "Append", mode)

    def _named(self, found: DataFrame, kernel: Kernel) -> DataFrame:
        """The columns as users know them: the key by its name, times as timestamps, numbers counted from the first."""
        source = self.source
        chosen = [] if source.by is None else [checks.column(RESULT_KEY).alias(source.by)]
        chosen.append(f.col("window"))
        for edge in ("start", "end"):
            value = f.col(edge)
            if self.spec.unit == TIME:
                value = f.timestamp_micros(value)
            elif source.by is None and source.first:
                value = value + f.lit(source.first)
            chosen.append(value.alias(edge))
        return found.select(*chosen, *(output.name for output in kernel.outputs))


def usual_batch(spec: WindowSpec) -> int:
    """Gasser's B where nobody has chosen one.

    >>> usual_batch(WindowSpec(10_000, 25))
    1600
    """
    return _OVERLAPS * -(-spec.length // spec.every)


def in_order(df: DataFrame) -> DataFrame:
    """The results of windows sorted by key and window: inside a sink's batch, since a stream cannot be sorted.

    They are sorted in one task: for a sort in several Spark would compute the windows of a batch twice.
    """
    if "window" not in df.columns:
        raise BadInputError("df", df.columns, "no results of windows", "give what apply() returned")
    columns = df.columns[: df.columns.index("window") + 1]
    return df.repartition(1).sortWithinPartitions(*map(checks.column, columns))
