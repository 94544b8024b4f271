"""Windows on real Spark: a stream in random batches, a static DataFrame and plain Python give the same rows."""

from __future__ import annotations

import itertools
import math
import os
import random
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock
from penstock.plan import Plan
from penstock.spark.plans.echo import Echo
from penstock.spark.plans.kept import kept_beside, save_plan
from penstock.spark.windows.checks import ROCKSDB, STATE_STORE
from penstock.spark.windows.groups import murmur3
from penstock.spark.windows.operator import PART
from penstock.stages.windows.schedule import Epoch, Schedule
from penstock.stages.windows.spec import WindowSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

SEED = 31
ROWS = 300
FIRST = 1_000
FIVE = 5.0
BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("x", pa.float64()),
        ("name", pa.string()),
        ("number", pa.int32()),
        ("day", pa.date32()),
        ("ts", pa.timestamp("us", "UTC")),
        ("again", pa.bool_()),
    ]
)
Row = dict[str, Any]


def _random_rows() -> list[Row]:
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    return [
        {
            "id": FIRST + row,
            "x": float(chance.randint(0, 100)) / 4,
            "name": chance.choice(["a", "b", "å"]),
            "number": chance.choice([-1, 7]),
            "day": date(2026, 3, chance.randint(1, 2)),
            "ts": BEGIN + timedelta(milliseconds=100 * row + chance.randint(-300, 300)),
            "again": False,
        }
        for row in range(ROWS)
    ]


DATA = _random_rows()
CUTS = [0, *sorted(random.Random(SEED).sample(range(60, ROWS - 20), 2)), ROWS]
TWICE = 5
# Their places are taken by no other row: without a name they have no key, without an id no order.
NULLS = [{**DATA[3], "name": None}, {**DATA[5], "id": None, "ts": None}]


class Folder:
    """Files that a stream reads one a batch."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "in"
        self.path.mkdir(parents=True)
        self.count = 0

    def put(self, rows: list[Row]) -> None:
        path = self.path / f"{self.count}.parquet"
        pq.write_table(pa.Table.from_pylist(rows, SCHEMA), path.with_suffix(".new"))
        # Spark reads files in the order of their times.
        os.utime(path.with_suffix(".new"), (1_700_000_000 + self.count,) * 2)
        path.with_suffix(".new").rename(path)
        self.count += 1

    def stream(self, spark: SparkSession) -> DataFrame:
        schema = spark.read.parquet(str(self.path / "0.parquet")).schema
        return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(self.path / "*.parquet"))

    def static(self, spark: SparkSession) -> DataFrame:
        return spark.read.parquet(str(self.path))


class Ran:
    """A query that has done all its files: its rows by batch, and what its workers counted."""

    def __init__(self, query: StreamingQuery, batches: list[list[Any]]) -> None:
        self.query = query
        self.batches = batches
        self.counts: dict[str, float] = {}

    @property
    def rows(self) -> list[Any]:
        return sorted(row for batch in self.batches for row in batch)


def started(out: DataFrame, place: Path, each: Callable[[DataFrame], DataFrame] = lambda df: df) -> Ran:
    batches: list[list[Any]] = []
    writer = out.writeStream.foreachBatch(lambda df, _: batches.append(each(df).collect()))
    return Ran(writer.option("checkpointLocation", str(place)).trigger(availableNow=True).start(), batches)


def run(out: DataFrame, place: Path, each: Callable[[DataFrame], DataFrame] = lambda df: df) -> Ran:
    ran = started(out, place, each)
    ran.query.awaitTermination()
    for _, _, counts in Echo.of(out.sparkSession.sparkContext).take(str(ran.query.id)).values():
        for name, many in counts.items():
            ran.counts[name] = ran.counts.get(name, 0) + many
    return ran


@pytest.fixture(scope="module", autouse=True)
def _rocksdb(spark: SparkSession) -> Iterator[None]:
    before = spark.conf.get(STATE_STORE)
    spark.conf.set(STATE_STORE, ROCKSDB)
    yield
    spark.conf.set(STATE_STORE, before)


@pytest.fixture(scope="module")
def summary() -> Any:
    @penstock.kernel("total double, first bigint, rows int")
    def summary(x: Any, i: Any) -> Any:
        total = 0.0
        for place in range(x.shape[0]):
            total += x[place] * (place + 1)
        return total, i[0], x.shape[0]

    return summary


@pytest.fixture(scope="module")
def picky() -> Any:
    @penstock.kernel("middle double, rows bigint", compiled=False)
    def picky(x: Any) -> Any:
        if x[0] == FIVE:
            raise ValueError("five is right out")
        return (math.nan if x[0] == FIVE + 1 else x.mean()), len(x)

    return picky


def summed(rows: list[Row]) -> tuple[float, int, int]:
    return sum(row["x"] * (place + 1) for place, row in enumerate(rows)), rows[0]["id"], len(rows)


def counted(rows: list[Row], by: str, length: int, every: int) -> list[tuple[Any, ...]]:
    """By counting: the windows of each key."""
    found = []
    for key in {row[by] for row in rows if row[by] is not None}:
        mine = [row for row in rows if row[by] == key]
        for window in range((len(mine) - length) // every + 1):
            begin = window * every
            found.append((key, window, begin, begin + length, *summed(mine[begin : begin + length])))
    return sorted(found)


def timed(rows: list[Row], by: str | None, until: datetime) -> list[tuple[Any, ...]]:
    """By looking at every row: the windows that end by then and hold a row, of each key."""
    length, every = timedelta(seconds=2), timedelta(milliseconds=500)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    held: dict[tuple[Any, int], list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row["ts"], row["x"], row["id"])):
        window = (row["ts"] - epoch) // every
        while epoch + window * every + length > row["ts"]:
            held.setdefault((row[by] if by else None, window), []).append(row)
            window -= 1
    found = []
    for (key, window), some in held.items():
        begin = epoch + window * every
        if begin + length <= until:
            edges = (begin.astimezone().replace(tzinfo=None), (begin + length).astimezone().replace(tzinfo=None))
            found.append((*([key] if by else []), window, *edges, *summed(some)))
    return sorted(found)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """The rows in batches of random lengths, mixed, with rows without a name or an id, and some that come again."""
    chance = random.Random(SEED)
    folder = Folder(tmp_path_factory.mktemp("windows"))
    for begin, end in itertools.pairwise(CUTS):
        again = [{**row, "again": True} for row in chance.sample(DATA[:begin], TWICE)] if begin == CUTS[2] else []
        batch = DATA[begin:end] + again + ([] if begin else NULLS)
        folder.put(chance.sample(batch, len(batch)))
    return folder


def unkeyed(df: DataFrame, kernel: Any, length: int = 50, replicas: int = 2) -> DataFrame:
    """With a projection before, and a projection and a filter after."""
    numbered = penstock.windows(df.withColumn("x", df.x * 2), order="id", first=FIRST)
    found = numbered.rows(length, every=7, batch=3, replicas=replicas).apply(kernel, "x", "id")
    return found.withColumn("total", found.total / 2).where("window != 4")


def keyed(df: DataFrame, kernel: Any, by: str = "name", length: int = 12, every: int | None = 5) -> DataFrame:
    return penstock.windows(df, by=by, order="id").rows(length, every).apply(kernel, "x", "id")


def in_time(df: DataFrame, kernel: Any, by: str | None = "number") -> DataFrame:
    watermark = "1 s" if df.isStreaming else None
    wanted = penstock.windows(df, by=by, time="ts", watermark=watermark)
    return wanted.span("2 s", every="500 ms").apply(kernel, "x", "id")


def nulled(df: DataFrame, kernel: Any) -> DataFrame:
    numbered = penstock.windows(df, order="id", first=FIRST)
    return numbered.rows(3, every=1).apply(kernel, "x", device="numpy", errors="null")


@pytest.fixture(scope="module")
def ran(spark: SparkSession, folder: Folder, tmp_path_factory: pytest.TempPathFactory, summary: Any, picky: Any) -> Any:
    """All queries that work, one after another: Python workers of several may fail to start on a busy machine."""
    df, place = folder.stream(spark), tmp_path_factory.mktemp("checkpoints")
    named = df.where("id is not null and name is not null")
    return place, {
        "unkeyed": run(unkeyed(df, summary), place / "unkeyed"),
        "name": run(keyed(df, summary), place / "name", penstock.in_order),
        "day": run(keyed(df, summary, "day", 20, None), place / "day"),
        "number": run(in_time(named.where("not again"), summary), place / "number"),
        "time": run(in_time(named, summary, None), place / "time"),
        "nulled": run(nulled(df, picky), place / "nulled"),
    }


def plain(rows: list[Any]) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in rows)


def test_numbered_windows_of_a_stream_and_of_a_static_dataframe_are_those_found_by_counting(
    spark: SparkSession, folder: Folder, ran: Any, summary: Any
) -> None:
    found = [
        (window, FIRST + 7 * window, FIRST + 7 * window + 50, *summed(DATA[7 * window : 7 * window + 50]))
        for window in range((ROWS - 50) // 7 + 1)
        if window != 4
    ]
    assert plain(ran[1]["unkeyed"].rows) == found
    assert plain(unkeyed(folder.static(spark).dropDuplicates(["id"]), summary).collect()) == found


def test_rows_that_come_again_and_rows_without_a_number_are_dropped_and_counted(ran: Any) -> None:
    counts = ran[1]["unkeyed"].counts
    assert counts["null_rows"] == 1
    # The copy without a name has a number, which the one with it has too.
    assert counts["rows"] == ROWS + TWICE + 1
    assert counts["windows"] == (ROWS - 50) // 7 + 1
    assert TWICE + 1 <= counts["late_rows"] <= 2 * (TWICE + 1)
    assert counts["rows"] < counts["copies"] <= 2 * counts["rows"]


def test_windows_of_string_keys_are_those_found_by_counting_in_order_inside_a_sinks_batch(
    spark: SparkSession, folder: Folder, ran: Any, summary: Any
) -> None:
    found = counted(DATA, "name", 12, 5)
    result = ran[1]["name"]
    assert plain(result.rows) == found
    assert plain(keyed(folder.static(spark), summary).collect()) == found
    assert len(result.batches) == 3
    for batch in result.batches:
        # Spark orders texts by their bytes.
        windows = [(row["name"].encode(), row["window"]) for row in batch]
        assert windows == sorted(windows)
    assert result.counts["null_rows"] == 2
    assert result.counts["late_rows"] == TWICE


def test_tumbling_windows_of_dates_are_those_found_by_counting(
    spark: SparkSession, folder: Folder, ran: Any, summary: Any
) -> None:
    # A copy without a name has its day.
    found = counted(DATA, "day", 20, 20)
    assert plain(ran[1]["day"].rows) == found
    assert plain(keyed(folder.static(spark), summary, "day", 20, None).collect()) == found


def watermark(rows: list[Row]) -> datetime:
    """A second before the latest row; Spark has it in whole milliseconds."""
    latest = max(row["ts"] for row in rows) - timedelta(seconds=1)
    return latest.replace(microsecond=latest.microsecond // 1000 * 1000)


def test_windows_in_time_of_a_stream_are_those_of_a_static_dataframe_that_the_watermark_has_passed(
    spark: SparkSession, folder: Folder, ran: Any, summary: Any
) -> None:
    static = in_time(folder.static(spark).where("id is not null and name is not null and not again"), summary)
    assert plain(static.collect()) == timed(DATA, "number", datetime(9999, 1, 1, tzinfo=UTC))
    assert plain(ran[1]["number"].rows) == timed(DATA, "number", watermark(DATA))


def test_rows_that_come_after_the_watermark_change_no_window_that_has_ended(ran: Any) -> None:
    found = plain(ran[1]["time"].rows)
    assert [each[:3] for each in found] == [each[:3] for each in timed(DATA, None, watermark(DATA))]
    # Those that come again do so in the third batch; these windows were computed in the second one.
    ended = timed(DATA, None, watermark(DATA[: CUTS[1]]))
    assert ended
    assert found[: len(ended)] == ended


def test_results_have_the_key_the_window_its_edges_and_the_outputs(
    spark: SparkSession, folder: Folder, summary: Any
) -> None:
    outputs = "total:double,first:bigint,rows:int"
    for df in (folder.static(spark), folder.stream(spark)):
        rows = "window:bigint,start:bigint,end:bigint"
        assert unkeyed(df, summary).schema.simpleString() == f"struct<{rows},{outputs}>"
        assert keyed(df, summary, "day").schema.simpleString() == f"struct<day:date,{rows},{outputs}>"
        times = "window:bigint,start:timestamp,end:timestamp"
        assert in_time(df, summary).schema.simpleString() == f"struct<number:int,{times},{outputs}>"
        assert in_time(df, summary, None).schema.simpleString() == f"struct<{times},{outputs}>"


def test_a_window_that_raises_is_null_and_counted_where_the_user_chose_so_and_nan_stays_nan(
    spark: SparkSession, folder: Folder, ran: Any, picky: Any
) -> None:
    found = [
        (window, FIRST + window, FIRST + window + 3)
        + ((None, None) if some[0] == FIVE else ("nan" if some[0] == FIVE + 1 else sum(some) / 3, 3))
        for window, some in enumerate([row["x"] for row in DATA[at : at + 3]] for at in range(ROWS - 2))
    ]
    assert any(each[3] is None for each in found)
    assert any(each[3] == "nan" for each in found)
    static = nulled(folder.static(spark).dropDuplicates(["id"]), picky)
    for rows in (ran[1]["nulled"].rows, static.collect()):
        assert [tuple("nan" if value != value else value for value in row) for row in plain(rows)] == [
            tuple(pytest.approx(value) if isinstance(value, float) else value for value in each) for each in found
        ]
    assert ran[1]["nulled"].counts["failed_windows"] == sum(each[3] is None for each in found)


def test_a_window_that_raises_ends_the_query_with_the_kernels_own_words(
    spark: SparkSession, folder: Folder, tmp_path: Path, picky: Any
) -> None:
    numbered = penstock.windows(folder.stream(spark), order="id", first=FIRST)
    ran = started(numbered.rows(3, every=1).apply(picky, "x", device="numpy"), tmp_path)
    with pytest.raises(Exception, match="five is right out"):
        ran.query.awaitTermination()


def test_a_null_value_is_nan_for_a_kernel(spark: SparkSession) -> None:
    @penstock.kernel("missing bigint")
    def missing(x: Any) -> Any:
        count = 0
        for value in x:
            count += 1 if math.isnan(value) else 0
        return count

    df = spark.createDataFrame([(0, 1.0), (1, None), (2, None), (3, 2.0)], "id bigint, x double")
    rows = penstock.in_order(penstock.windows(df, order="id").rows(2, every=1).apply(missing, "x")).collect()
    assert [row.missing for row in rows] == [1, 2, 1]


def test_a_checkpoint_of_other_windows_is_refused_in_one_line(
    spark: SparkSession, folder: Folder, ran: Any, summary: Any
) -> None:
    place, _ = ran
    # New rows, so that there is a batch; the queries that ran are over.
    folder.put([{**row, "id": row["id"] + ROWS} for row in DATA[:40]])
    df = folder.stream(spark)
    more_buckets = penstock.windows(df, by="name", order="id", buckets=3).rows(12, 5).apply(summary, "x", "id")
    other_column = keyed(df.withColumn("x", df.x.cast("bigint")), summary, "day", 20, None)
    for name, out, message in [
        ("unkeyed", unkeyed(df, summary, 60), r"windows of rows\(50, every=7\), .* windows of rows\(60, every=7\)"),
        ("unkeyed", unkeyed(df, summary, replicas=3), "batch=3, replicas=2, and this batch has batch=3, replicas=3"),
        ("name", more_buckets, "buckets=2, the query has buckets=3; write what it was"),
        ("day", other_column, r"columns=\['float64', 'int64'\], the query has columns=\['int64', 'int64'\]"),
    ]:
        ran_again = started(out, place / name)
        with pytest.raises(Exception, match=f"PenstockError: .*{message}"):
            ran_again.query.awaitTermination()
        assert not any(ran_again.batches)


def test_one_kernel_with_other_arguments_and_other_types_gives_other_results(spark: SparkSession) -> None:
    @penstock.kernel("scaled double")
    def scaled(x: Any, scale: Any) -> Any:
        return x[0] * scale

    windows = penstock.windows(spark.range(1, 5).selectExpr("*", "id + 0.5D as x"), order="id", first=1).rows(2)
    for scale in (1.0, 10.0):
        for column, more in (("id", 0.0), ("x", 0.5)):
            rows = windows.apply(scaled, column, args=(scale,)).collect()
            assert sorted(row.scaled for row in rows) == [(1 + more) * scale, (3 + more) * scale]


def test_an_output_may_have_the_name_that_keys_have_elsewhere_and_a_column_may_have_a_dot(spark: SparkSession) -> None:
    @penstock.kernel("key bigint, value bigint")
    def pair(i: Any) -> Any:
        return i[0], i[1]

    df = spark.range(4).selectExpr("id as `the.id`", "'k' as `the.name`")
    rows = penstock.windows(df, by="the.name", order="the.id").rows(2).apply(pair, "the.id").collect()
    assert [tuple(row) for row in penstock.in_order(spark.createDataFrame(rows)).collect()] == [
        ("k", 0, 0, 2, 0, 1),
        ("k", 1, 2, 4, 2, 3),
    ]


def test_gaps_are_left_out_where_they_are_meant(spark: SparkSession) -> None:
    @penstock.kernel("first bigint")
    def head(i: Any) -> Any:
        return i[0]

    df = spark.range(20)
    for windows in (
        penstock.windows(df, order="id"),
        penstock.windows(df.selectExpr("*", "1 as k"), by="k", order="id"),
    ):
        found = windows.rows(2, every=5, gaps=True).apply(head, "id")
        assert sorted(row["first"] for row in found.collect()) == [0, 5, 10, 15]


@pytest.mark.parametrize("missing", ["fail", "skip"])
def test_a_missing_number_fails_or_is_skipped_in_a_static_dataframe(spark: SparkSession, missing: str) -> None:
    @penstock.kernel("first bigint")
    def head(i: Any) -> Any:
        return i[0]

    df = spark.range(20).where("id not in (7, 13)")
    found = penstock.windows(df, order="id").rows(3, every=1, missing=missing).apply(head, "id")
    if missing == "fail":
        with pytest.raises(Exception, match=r"row (7|13) is missing, and \d+ rows after it have come"):
            found.collect()
    else:
        wanted = [first for first in range(18) if not {7, 13} & {first, first + 1, first + 2}]
        assert sorted(row["first"] for row in found.collect()) == wanted


@pytest.mark.parametrize("first", [5, -(2**62)])
def test_numbers_that_do_not_begin_where_they_should_fail_with_the_remedy(spark: SparkSession, first: int) -> None:
    @penstock.kernel("first bigint")
    def head(i: Any) -> Any:
        return i[0]

    with pytest.raises(Exception, match=r"the order column has a row .* (below|above) its first number.*first="):
        penstock.windows(spark.range(20), order="id", first=first).rows(3, every=1).apply(head, "id").collect()


def test_numbers_of_groups_are_hashed_as_spark_hashes_them(spark: SparkSession) -> None:
    keys = np.array([*range(-500, 2_000), 2**31 - 1, -(2**31)], np.int32)
    df = spark.createDataFrame([(int(key),) for key in keys], "key int").selectExpr("hash(key) as hashed")
    assert [row.hashed for row in df.collect()] == murmur3(keys).tolist()


@pytest.fixture
def planned(tmp_path: Path) -> Path:
    """A journal whose plan has windows of 5 rows every 2 with three epochs."""
    epochs = (Epoch(0, 2, 2), Epoch(4, 1, 3), Epoch(9, 3, 1))
    part = Schedule(WindowSpec(5, 2), epochs).to_part()
    save_plan(kept_beside(tmp_path / "journal.jsonl"), Plan().changed({PART: part}), "test")
    return tmp_path / "journal.jsonl"


def test_the_schedule_of_a_kept_plan_gives_the_same_windows(spark: SparkSession, planned: Path) -> None:
    @penstock.kernel("first bigint")
    def head(i: Any) -> Any:
        return i[0]

    windows = penstock.windows(spark.range(60), order="id", journal=planned)
    found = windows.rows(5, every=2).apply(head, "id").collect()
    assert sorted(row["first"] for row in found) == list(range(0, 56, 2))
    with pytest.raises(Exception, match=r"the plan was made for other windows than rows\(5, every=1\)"):
        windows.rows(5, every=1).apply(head, "id").collect()
