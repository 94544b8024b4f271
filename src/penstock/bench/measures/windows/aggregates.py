"""Sum and mean over windows of time by key: ours beside Spark's own window aggregation, where both apply."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.bench.measures.windows.cases import CORES, QUERIES, Size
from penstock.bench.measures.windows.files import Stream
from penstock.bench.measures.windows.job import Job, Record
from penstock.bench.measures.windows.machine import Machine
from penstock.bench.measures.windows.streaming import run_stream
from penstock.devices.kernel import Aggregate, kernel
from penstock.spark.windows.api import windows
from penstock.workloads.workload import Columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PROGRAM, OURS, SPARK = "aggregates", "penstock", "spark window()"
SLIDES_S = (5.0, 1.0, 0.1)
_LENGTH_S, _DELAY_S = 10.0, 1.0
# Event time: a batch of 400,000 rows is 4 s of the stream.
_ROWS_A_SECOND = 100_000
_EPOCH_US = 1_700_000_000_000_000
_STORE = "spark.sql.streaming.stateStore.providerClass"
_DEFAULT_STORE = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
_WARM = 2


def total_and_mean(price: Any) -> Any:
    """Both of a window, from its rows."""
    total = 0.0
    for row in range(price.shape[0]):
        total += price[row]
    return total, total / price.shape[0]


def _lift(price: Any) -> Any:
    return price, 1.0


def _combine(a: Any, b: Any) -> Any:
    return a[0] + b[0], a[1] + b[1]


def _lower(total: Any, rows: Any) -> Any:
    return total[0], total[0] / total[1]


TOTAL_AND_MEAN = kernel("total double, mean double", aggregate=Aggregate(_lift, _combine, _lower, width=2))(
    total_and_mean
)


def jobs(size: Size) -> Iterator[Job]:
    """Both over each slide, in turn."""
    for number in range(1, size.rounds + 1):
        for every_s in SLIDES_S:
            for who in (SPARK, OURS) if number % 2 else (OURS, SPARK):
                yield _job(size, who, every_s, number)


def _job(size: Size, who: str, every_s: float, number: int) -> Job:
    about = {"program": PROGRAM, "who": who, "every_s": every_s, "round": number}
    return Job(about, lambda machine: _measure(machine, size, who, every_s))


def _measure(machine: Machine, size: Size, who: str, every_s: float) -> Record:
    def rows(start: int, stop: int) -> Columns:
        columns = QUERIES["q1"].rows(start, stop, size.keys)
        at_us = _EPOCH_US + np.arange(start, stop, dtype=np.int64) * (10**6 // _ROWS_A_SECOND)
        return {"symbol": columns["symbol"], "ts": at_us.astype("datetime64[us]"), "price": columns["price"]}

    batch_rows = size.plumbing_rows // CORES * CORES
    fill = int(_LENGTH_S * _ROWS_A_SECOND)
    batches = _WARM + max(size.plumbing_batches // 2, 2)
    stream = Stream(f"timed-{size.keys}", rows, fill, batch_rows, batches)
    df = _as_timestamps(stream.load(machine))
    spark = machine.spark
    before = str(spark.conf.get(_STORE))
    # Each with the state store that suits it: Spark's own aggregation has its default one.
    spark.conf.set(_STORE, _DEFAULT_STORE if who == SPARK else before)
    try:
        found = run_stream(machine, _spark(df, every_s) if who == SPARK else _ours(df, every_s), warm=1 + _WARM)
    finally:
        spark.conf.set(_STORE, before)
    cpu = 1e6 * found.cpu_s / found.rows
    return {"batch_s": median(found.batch_s), "rows_per_s": found.rows / found.seconds, "cpu_s_per_million": cpu}


def _as_timestamps(df: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    return df.withColumn("ts", f.col("ts").cast("timestamp"))


def _ours(df: DataFrame, every_s: float) -> DataFrame:
    over = windows(df, by="symbol", time="ts", watermark=f"{_DELAY_S:g} s")
    return over.span(f"{_LENGTH_S:g} s", every=f"{every_s:g} s").apply(TOTAL_AND_MEAN, "price")


def _spark(df: DataFrame, every_s: float) -> DataFrame:
    from pyspark.sql import functions as f

    length, every = (f"{round(1e3 * each)} milliseconds" for each in (_LENGTH_S, every_s))
    late = df.withWatermark("ts", f"{_DELAY_S:g} seconds")
    return late.groupBy("symbol", f.window("ts", length, every)).agg(f.sum("price"), f.avg("price"))
