from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from penstock.errors import BadInputError
from penstock.patterns import parse, parse_arrivals
from penstock.spark.reader import _fields, _options
from penstock.spark.source.mailbox import Admission, Mailbox
from penstock.spark.source.workload import read_workload
from penstock.workloads.workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

ONE = parse("constant:value=1")


def saturated(items: int, **fields: Any) -> Workload:
    return Workload(parse_arrivals("saturated"), ONE, items=items, **fields)


def end_offsets(query: StreamingQuery) -> list[dict[str, int]]:
    ends = [p["sources"][0]["endOffset"] for p in query.recentProgress if p["numInputRows"]]
    return [json.loads(end) if isinstance(end, str) else end for end in ends]


def test_available_now_takes_every_item_once_by_the_readers_limit_and_ends(spark: SparkSession, tmp_path: Path) -> None:
    df = read_workload(spark, saturated(1900), max_rows=600).load()
    writer = df.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(tmp_path / "out"))
    assert query.awaitTermination(90)
    ids = [row.id for row in spark.read.parquet(str(tmp_path / "out")).select("id").collect()]
    assert sorted(ids) == list(range(1900))
    assert [offset["index"] for offset in end_offsets(query)] == [600, 1200, 1800, 1900]


def test_a_restart_goes_on_where_it_stopped_and_keeps_the_epoch(spark: SparkSession, tmp_path: Path, until) -> None:
    def begin(max_rows: int, **trigger: Any) -> StreamingQuery:
        df = read_workload(spark, saturated(5000), max_rows=max_rows).load()
        writer = df.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
        return writer.trigger(**trigger).start(str(tmp_path / "out"))

    first = begin(50, processingTime="0 seconds")
    until(lambda: len(end_offsets(first)) >= 2)
    first.stop()
    before = end_offsets(first)
    second = begin(4000, availableNow=True)
    assert second.awaitTermination(90)
    after = end_offsets(second)
    assert after[-1]["index"] == 5000
    assert 0 < before[-1]["index"] < 5000
    assert {offset["epoch_ms"] for offset in before + after} == {before[0]["epoch_ms"]}
    ids = [row.id for row in spark.read.parquet(str(tmp_path / "out")).select("id").collect()]
    assert sorted(ids) == list(range(5000))


def test_readers_made_before_either_is_loaded_read_their_own_workloads(spark: SparkSession, start) -> None:
    few, many = read_workload(spark, saturated(7)), read_workload(spark, saturated(70))
    taken: dict[str, list[int]] = {"few": [], "many": []}
    for name, reader in (("few", few), ("many", many)):

        def count(df: DataFrame, batch_id: int, name: str = name) -> None:
            taken[name].append(df.count())

        assert start(reader.load(), name, count, availableNow=True).awaitTermination(90)
    assert {name: sum(counts) for name, counts in taken.items()} == {"few": 7, "many": 70}


def test_the_mailbox_changes_size_and_partitions_from_one_batch_to_the_next(spark: SparkSession, start) -> None:
    reader = read_workload(spark, saturated(1000), partitions=2, max_rows=300)
    mailbox = Mailbox(_options(_fields(reader._jreader)["extraOptions"])["mailbox"])
    seen: list[tuple[int, int]] = []

    def look(df: DataFrame, batch_id: int) -> None:
        seen.append((df.count(), df.rdd.getNumPartitions()))
        mailbox.admit(Admission(size=400, partitions=4))

    assert start(reader.load(), each=look, availableNow=True).awaitTermination(90)
    assert seen == [(300, 2), (400, 4), (300, 4)]


def test_two_dimensional_columns_arrive_as_lists_and_bytes(spark: SparkSession, start) -> None:
    def made(indices: Any, costs: Any, seed: int) -> dict[str, Any]:
        pairs = np.stack([indices, indices + 1], axis=1)
        return {"id": indices, "pair": pairs, "raw": pairs.astype(np.uint8)}

    workload = saturated(3, generate=made, schema_ddl="id bigint, pair array<bigint>, raw binary")
    rows: list[Any] = []
    query = start(
        read_workload(spark, workload).load(), each=lambda df, _: rows.extend(df.collect()), availableNow=True
    )
    assert query.awaitTermination(90)
    assert sorted((row.id, row.pair, bytes(row.raw)) for row in rows) == [
        (0, [0, 1], b"\x00\x01"),
        (1, [1, 2], b"\x01\x02"),
        (2, [2, 3], b"\x02\x03"),
    ]


@pytest.mark.parametrize("bad", [{"partitions": 0}, {"max_rows": 0}, {"max_rows": -5}])
def test_a_bad_number_is_refused_before_spark_is_asked(spark: SparkSession, bad: dict[str, int]) -> None:
    with pytest.raises(BadInputError, match="not a positive whole number"):
        read_workload(spark, saturated(10), **bad)


def test_a_bad_option_by_hand_fails_the_query_with_its_name(spark: SparkSession, start) -> None:
    reader = read_workload(spark, saturated(10)).option("partitions", "several")
    with pytest.raises(Exception, match="partitions = 'several': not a positive whole number"):
        start(reader.load(), availableNow=True).awaitTermination(90)
