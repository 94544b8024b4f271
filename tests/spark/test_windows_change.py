"""B and n of windows change while a query runs on real Spark, and no result does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import penstock
from penstock.errors import UnsupportedError
from penstock.patterns import parse, parse_arrivals
from penstock.spark.windows.checks import ROCKSDB, STATE_STORE
from penstock.workloads.workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS, BATCH_ROWS, LENGTH, EVERY = 12_000, 500, 60, 5
WORKLOAD = Workload(parse_arrivals("saturated"), parse("constant:value=1"), items=ROWS, seed=5)


@penstock.kernel("total double")
def total(value: Any) -> Any:
    found = 0.0
    for each in value:
        found += each
    return found


@pytest.fixture(autouse=True)
def _rocksdb(spark: SparkSession) -> Iterator[None]:
    before = spark.conf.get(STATE_STORE)
    spark.conf.set(STATE_STORE, ROCKSDB)
    yield
    spark.conf.set(STATE_STORE, before)


def source(spark: SparkSession) -> DataFrame:
    return penstock.gated(penstock.read_workload(spark, WORKLOAD), first=BATCH_ROWS).load()


def expected() -> list[float]:
    values = np.asarray(WORKLOAD.columns(0, ROWS)["value"]).tolist()
    return [sum(values[at : at + LENGTH]) for at in range(0, ROWS - LENGTH + 1, EVERY)]


def test_changes_by_both_protocols_take_effect_and_no_window_is_lost_doubled_or_other(
    spark: SparkSession, start: Any, until: Any, tmp_path: Path
) -> None:
    journal, found = tmp_path / "journal.jsonl", {}

    def collect(df: DataFrame, batch_id: int) -> None:
        found[batch_id] = [(row["window"], row["total"]) for row in df.collect()]

    numbered = penstock.windows(source(spark), order="id", journal=journal)
    query = start(numbered.rows(LENGTH, every=EVERY, batch=4, replicas=1).apply(total, "value"), each=collect)
    with penstock.attach(query, "<= 5 s", "fixed", size=BATCH_ROWS, journal=journal) as handle:
        changes = []
        for batch, replicas, protocol in ((7, 2, "hard"), (3, 3, "soft"), (11, 1, "hard"), (2, 2, "soft")):
            seen = len(handle.recording().echoes)
            until(lambda seen=seen: len(handle.recording().echoes) > seen + 1)
            changes.append(handle.set_windows(batch=batch, replicas=replicas, protocol=protocol))
        query.processAllAvailable()
        recording = handle.recording()
    query.stop()
    rows = sorted(row for batch in found.values() for row in batch)
    assert [window for window, _ in rows] == list(range(len(expected())))
    assert [value for _, value in rows] == expected()
    assert [change.epoch.batch for change in changes] == [7, 3, 11, 2]
    confirmed = [event.details["version"] for event in recording.events if event.name == "plan-confirmed"]
    assert confirmed[-1] == handle.plan.version == 4
    assert not [event for event in recording.events if event.name == "plan-disobeyed"]
    # A later change replaces one that has not begun; what has begun stays.
    first, batch, replicas = handle.plan.parts["windows"]["epochs"][-1]
    assert (batch, replicas) == (2, 2)
    assert first * EVERY >= changes[-1].asked


def test_windows_with_a_key_keep_their_buckets(spark: SparkSession, start: Any, until: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions as f

    rows = source(spark).withColumn("key", (f.col("id") % 3).cast("string"))
    keyed = penstock.windows(rows, by="key", order="id")
    query = start(keyed.rows(LENGTH, every=EVERY).apply(total, "value"))
    with penstock.attach(query, "<= 5 s", "fixed", size=BATCH_ROWS, journal=tmp_path / "keyed.jsonl") as handle:
        until(lambda: handle.recording().echoes)
        with pytest.raises(UnsupportedError, match="with a key are computed by buckets"):
            handle.set_windows(batch=2)
    query.stop()
