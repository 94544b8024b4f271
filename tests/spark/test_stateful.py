"""Queries with state: two streams joined under one budget, and windows in the RocksDB state store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.patterns import parse, parse_arrivals
from penstock.sample import Status
from penstock.spark.attach import attach
from penstock.spark.reader import gated
from penstock.spark.source.workload import read_workload
from penstock.workloads.workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
# Not 0: an event at 0 is late before any watermark was seen.
EPOCH_S = 1_000_000


@pytest.fixture
def stateful(spark: SparkSession) -> Iterator[SparkSession]:
    """The session with little state: a join commits four stores for each partition."""
    with configured(spark, {"spark.sql.shuffle.partitions": "1"}):
        yield spark


@pytest.fixture
def rocksdb(stateful: SparkSession) -> Iterator[SparkSession]:
    """RocksDB chosen after a session of profile 'fast' was made, when `configure` can no longer know of it."""
    with configured(stateful, {PROVIDER: ROCKSDB}):
        yield stateful


@contextmanager
def configured(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """For queries that start within: a running one has its own copy."""
    before = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    yield
    for key, value in before.items():
        if value is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, value)


def workload(items: int, arrivals: str = "saturated") -> Workload:
    return Workload(parse_arrivals(arrivals), parse("constant:value=1"), items=items)


def test_a_join_of_ten_to_one_drains_both_sides_together_under_one_budget_and_joins_every_row_once(
    stateful: SparkSession, start, tmp_path: Path
) -> None:
    from pyspark.sql.functions import expr

    many, few = 24_000, 2_400
    reports = gated(read_workload(stateful, workload(many)), first=100).load()
    orders = gated(read_workload(stateful, workload(few)), first=10).load()
    left = reports.selectExpr("id AS report", f"timestamp_seconds({EPOCH_S} + id) AS reported")
    right = orders.selectExpr("id AS order", f"timestamp_seconds({EPOCH_S} + id * 10) AS ordered")
    joined = left.withWatermark("reported", "20 seconds").join(
        right.withWatermark("ordered", "20 seconds"),
        expr("report DIV 10 = order AND reported >= ordered AND reported < ordered + INTERVAL 10 SECONDS"),
    )
    rows: list[tuple[int, int]] = []

    def each(df: DataFrame, batch_id: int) -> None:
        rows.extend((row["report"], row["order"]) for row in df.collect())

    query = start(joined, each=each, availableNow=True)
    # The size grows fourfold with each batch: the first split knows nothing of the queues, and should not take much.
    with attach(query, "10 min", size=110, journal=tmp_path / "j.jsonl", warm_up_batches=0) as handle:
        assert query.awaitTermination(180)
    assert sorted(rows) == [(report, report // 10) for report in range(many)]
    taken = [tuple(source["numInputRows"] for source in progress["sources"]) for progress in query.recentProgress]
    assert [sum(column) for column in zip(*taken, strict=True)] == [many, few]
    recording = handle.recording()
    # From the second batch on that the handle has seen until the last with rows both sides give, about ten to one; a
    # little more of the shorter, for the part of the budget that is kept for all alike.
    full = [pair for pair in taken[recording.samples[0].batch_id + 2 :] if sum(pair)][:-1]
    assert len(full) >= 2
    assert all(short > 0 and 5 < long / short < 20 for long, short in full)
    decided = [record.decision.size for record in recording.decisions]
    assert all(any(size - 2 <= sum(pair) <= size for size in decided) for pair in full)
    assert {float(sum(pair)) for pair in full} <= {sample.size for sample in recording.samples if sample.usable}


def test_windows_in_rocksdb_are_right_and_batches_that_only_move_the_watermark_decide_nothing(
    rocksdb: SparkSession, start, until, tmp_path: Path
) -> None:
    from pyspark.sql.functions import count, window
    from pyspark.sql.functions import sum as total

    rounds, incoming = 4, tmp_path / "in"
    incoming.mkdir()
    rows = gated(rocksdb.readStream.schema("id bigint")).json(str(incoming))
    timed = rows.selectExpr("id", f"timestamp_seconds({EPOCH_S} + id) AS at").withWatermark("at", "10 seconds")
    counts = timed.groupBy(window("at", "100 seconds")).agg(count("id").alias("n"), total("id").alias("total"))
    found: list[tuple[int, int, int]] = []

    def each(df: DataFrame, batch_id: int) -> None:
        windows = df.selectExpr(f"unix_seconds(window.start) - {EPOCH_S} AS at", "n", "total")
        found.extend((row["at"], row["n"], row["total"]) for row in windows.collect())

    query = start(counts, each=each)
    handle = attach(query, "10 min", journal=tmp_path / "j.jsonl", warm_up_batches=0)

    def batches(status: Status) -> list[int]:
        samples = handle.recording().samples
        return [sample.batch_id for sample in samples if sample.confirmed and sample.status is status]

    for number in range(rounds):
        text = "".join(f'{{"id": {100 * number + i}}}\n' for i in range(100))
        (tmp_path / "next").write_text(text)
        (tmp_path / "next").rename(incoming / f"{number}.json")
        # A batch of the rows, then one of none: it moves the watermark and closes the window before.
        until(lambda number=number: len(batches(Status.EMPTY)) == number + 1)
    query.stop()
    handle.detach()
    # The last window stays open: nothing comes after it.
    assert sorted(found) == [(at, 100, sum(range(at, at + 100))) for at in range(0, 100 * (rounds - 1), 100)]
    operators = [operator for progress in query.recentProgress for operator in progress["stateOperators"]]
    assert any(name.startswith("rocksdb") for operator in operators for name in operator["customMetrics"])
    assert batches(Status.OK) == [0, 2, 4, 6]
    assert batches(Status.EMPTY) == [1, 3, 5, 7]
    decided = {record.batch_id for record in handle.recording().decisions}
    assert decided == {-1, 0, 2, 4, 6}
