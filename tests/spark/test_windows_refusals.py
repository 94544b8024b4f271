"""What windows refuse when they are defined, each in one line with its remedy; no query starts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock.errors import BadInputError
from penstock.spark.windows.checks import ROCKSDB, SHUFFLE, STATE_STORE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILE_SYSTEM = "spark.hadoop.fs.file.impl"


@pytest.fixture
def settings(spark: SparkSession) -> Iterator[Callable[[str, str], None]]:
    """Change settings of the session; they are back after the test."""
    before: dict[str, str | None] = {}

    def change(name: str, value: str) -> None:
        before.setdefault(name, spark.conf.get(name, None))
        spark.conf.set(name, value)

    change(STATE_STORE, ROCKSDB)
    yield change
    for name, value in before.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


def rows(df: DataFrame) -> DataFrame:
    columns = ["id", "id + 0.5D as x", "'a' as name", "cast(id as timestamp) as ts", "named_struct('a', id) as inner"]
    return df.selectExpr(*columns, "id + 0.5D as window", "cast(id as decimal(10,2)) as price")


@pytest.fixture
def static(spark: SparkSession) -> DataFrame:
    return rows(spark.range(10))


@pytest.fixture
def stream(spark: SparkSession, settings: Any) -> DataFrame:
    return rows(spark.readStream.format("rate").load().selectExpr("value as id"))


@penstock.kernel("first double")
def head(x: Any) -> Any:
    return x[0]


@penstock.kernel("End double")
def named_as_an_edge(x: Any) -> Any:
    return x[0]


@penstock.kernel("Name double")
def named_as_the_key(x: Any) -> Any:
    return x[0]


def plain(x: Any) -> Any:
    return x[0]


Define = Callable[["DataFrame"], Any]
WRONG: dict[str, tuple[str, Define]] = {
    "neither order nor time": (r"order, time = \(None, None\).*give order= for rows", lambda df: penstock.windows(df)),
    "order and time": ("order, time = .*or of time", lambda df: penstock.windows(df, order="id", time="ts")),
    "no DataFrame": ("df = 'list': not a DataFrame", lambda df: penstock.windows([1], order="id")),
    "unknown order": (
        "order = 'nr': no such column; choose one of: id, x,",
        lambda df: penstock.windows(df, order="nr"),
    ),
    "order is a Column": ("order = .*write its name as a text", lambda df: penstock.windows(df, order=df.id)),
    "order is no whole number": (
        "order = 'x': double does not number rows",
        lambda df: penstock.windows(df, order="x"),
    ),
    "order in time without a key": (
        "order = 'ts': timestamp does not number",
        lambda df: penstock.windows(df, order="ts"),
    ),
    "order of texts": ("'name': string does not order rows", lambda df: penstock.windows(df, by="name", order="name")),
    "unknown key": ("by = 'k': no such column", lambda df: penstock.windows(df, by="k", order="id")),
    "key is a struct": (
        "by = 'inner': struct<.*cast it to string",
        lambda df: penstock.windows(df, by="inner", order="id"),
    ),
    "key is a fraction": ("by = 'x': double cannot be a key", lambda df: penstock.windows(df, by="x", order="id")),
    "time is a number": ("time = 'id': not a timestamp; cast it", lambda df: penstock.windows(df, time="id")),
    "watermark for rows": (
        "watermark = '5 s'.*leave it out",
        lambda df: penstock.windows(df, order="id", watermark="5 s"),
    ),
    "watermark is no span": ("watermark = 'soon'", lambda df: penstock.windows(df, time="ts", watermark="soon")),
    "watermark below 0": ("watermark = -1.*0 s or more", lambda df: penstock.windows(df, time="ts", watermark=-1)),
    "no buckets": ("buckets = 0.*give 1 to 8,400", lambda df: penstock.windows(df, by="name", order="id", buckets=0)),
    "buckets": ("buckets = 8401", lambda df: penstock.windows(df, by="name", order="id", buckets=8401)),
    "buckets are a text": ("buckets = '2'", lambda df: penstock.windows(df, by="name", order="id", buckets="2")),
    "first is a fraction": ("first = 0.5.*whole number", lambda df: penstock.windows(df, order="id", first=0.5)),
    "first with a key": ("first = 5.*leave it out", lambda df: penstock.windows(df, by="name", order="id", first=5)),
    "length 0": ("length = 0", lambda df: numbered(df).rows(0)),
    "length is a fraction": ("length = 2.0: not a whole number of rows", lambda df: numbered(df).rows(2.0)),
    "slide 0": ("every = 0: windows would never move on", lambda df: numbered(df).rows(5, every=0)),
    "slide is a fraction": ("every = 1.5", lambda df: numbered(df).rows(5, every=1.5)),
    "gaps": (r"every = 6: above the length \(5\).*gaps=True", lambda df: numbered(df).rows(5, every=6)),
    "gaps in time": ("every = .*gaps=True", lambda df: penstock.windows(df, time="ts").span("1 s", every="2 s")),
    "no time": ("length = 0", lambda df: penstock.windows(df, time="ts").span("0 s")),
    "batch 0": ("batch = 0", lambda df: numbered(df).rows(5, batch=0)),
    "replicas 0": ("replicas = 0", lambda df: numbered(df).rows(5, replicas=0)),
    "batch with a key": (
        "batch = 3.*leave it out",
        lambda df: penstock.windows(df, by="name", order="id").rows(5, batch=3),
    ),
    "missing": ("missing = 'ignore'.*fail, skip", lambda df: numbered(df).rows(5, missing="ignore").apply(head, "x")),
    "rows of time": ("rows = 5: rows have no order", lambda df: penstock.windows(df, time="ts").rows(5)),
    "span of rows": ("span = '5 s': rows have no time", lambda df: numbered(df).span("5 s")),
    "no kernel": ("kernel = 'plain': not a kernel; write @penstock", lambda df: numbered(df).rows(5).apply(plain, "x")),
    "unknown column": ("column = 'y': no such column", lambda df: numbered(df).rows(5).apply(head, "y")),
    "text": ("column = 'name': string is no number; cast it", lambda df: numbered(df).rows(5).apply(head, "name")),
    "decimal": (r"column = 'price': decimal\(10,2\) is no", lambda df: numbered(df).rows(5).apply(head, "price")),
    "no column": ("columns = .*at least one column", lambda df: numbered(df).rows(5).apply(head)),
    "output named end": (
        "outputs = 'End': a column of the",
        lambda df: numbered(df).rows(5).apply(named_as_an_edge, "x"),
    ),
    "output named as the key": (
        "outputs = 'Name': a column of the result",
        lambda df: penstock.windows(df, by="name", order="id").rows(5).apply(named_as_the_key, "x"),
    ),
    "key named window": (
        "by = 'window': a column of the result",
        lambda df: penstock.windows(df.withColumn("window", df.id), by="window", order="id").rows(5).apply(head, "x"),
    ),
    "errors": ("errors = 'ignore'", lambda df: numbered(df).rows(5).apply(head, "x", errors="ignore")),
    "device": ("device = 'tpu': no such device", lambda df: numbered(df).rows(5).apply(head, "x", device="tpu")),
    "order of no results": ("df = .*give what apply", lambda df: penstock.in_order(df.drop("window"))),
}


def numbered(df: DataFrame) -> Any:
    return penstock.windows(df, order="id")


@pytest.mark.parametrize("name", list(WRONG))
def test_bad_input_is_refused_in_one_line(static: DataFrame, name: str) -> None:
    message, define = WRONG[name]
    with pytest.raises(BadInputError, match=message) as refused:
        define(static)
    assert "\n" not in str(refused.value)


def test_a_stream_needs_rocksdb_and_the_setting_is_named(stream: DataFrame, settings: Any) -> None:
    settings(STATE_STORE, ROCKSDB.replace("RocksDB", "HDFSBacked"))
    with pytest.raises(BadInputError, match=rf"{STATE_STORE} = 'HDFSBackedStateStoreProvider'.*set it to {ROCKSDB}"):
        numbered(stream).rows(5).apply(head, "x")


def test_a_static_dataframe_needs_no_state_store(static: DataFrame) -> None:
    assert numbered(static).rows(5).apply(head, "x").columns == ["window", "start", "end", "first"]


def test_raw_local_files_are_refused(stream: DataFrame, settings: Any) -> None:
    settings(FILE_SYSTEM, "org.apache.hadoop.fs.RawLocalFileSystem")
    with pytest.raises(BadInputError, match=r"RawLocalFileSystem.*leave raw_local_files out"):
        numbered(stream).rows(5).apply(head, "x")


def test_a_stream_that_has_a_watermark_is_refused_with_the_remedy(stream: DataFrame) -> None:
    windows = penstock.windows(stream.withWatermark("ts", "1 second"), time="ts", watermark="1 s")
    with pytest.raises(BadInputError, match=r"has a watermark already.*leave withWatermark out"):
        windows.span("5 s").apply(head, "x")


def test_windows_in_time_of_a_stream_need_a_watermark(stream: DataFrame) -> None:
    with pytest.raises(BadInputError, match=r"watermark = None.*windows\(..., watermark='5 s'\)"):
        penstock.windows(stream, time="ts").span("5 s")


def test_a_shuffle_into_very_many_tasks_is_told(
    stream: DataFrame, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings(SHUFFLE, "200")
    with caplog.at_level(logging.WARNING, logger="penstock"):
        numbered(stream).rows(5).apply(head, "x")
    assert f"{SHUFFLE} = 200 makes every batch run 200 tasks" in caplog.text


def test_a_null_in_a_column_of_whole_numbers_ends_the_query_with_the_remedy(
    spark: SparkSession, settings: Any, tmp_path: Path
) -> None:
    source = str(tmp_path / "in")
    spark.range(5).selectExpr("id", "if(id = 3, null, id) as many").write.parquet(source)

    @penstock.kernel("first bigint")
    def head(many: Any) -> Any:
        return many[0]

    wrong = "kernel head is whole numbers, and has a null; cast it to double"
    with pytest.raises(Exception, match=wrong):
        numbered(spark.read.parquet(source)).rows(2).apply(head, "many").collect()
    stream = spark.readStream.schema("id bigint, many bigint").parquet(source)
    writer = numbered(stream).rows(2).apply(head, "many").writeStream.format("noop").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    with pytest.raises(Exception, match=wrong):
        query.awaitTermination()
