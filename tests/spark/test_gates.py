from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.errors import BadInputError, UnsupportedError
from penstock.patterns import parse, parse_arrivals
from penstock.spark.attach import attach
from penstock.spark.reader import gated
from penstock.spark.source.workload import read_workload
from penstock.workloads.workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE_BYTES = len(b'{"id": 1000000}\n')


def saturated(items: int) -> Workload:
    return Workload(parse_arrivals("saturated"), parse("constant:value=1"), items=items)


@pytest.mark.parametrize(
    ("first", "user_limit", "restored"),
    [
        (None, {"maxFilesPerTrigger": 2}, [2, 2, 2]),
        (1, {"maxFilesPerTrigger": 2}, [2, 2, 2]),
        (1, {}, [6]),
        (1, {"maxBytesPerTrigger": 3 * FILE_BYTES}, [3, 3]),
    ],
    ids=["plain-files", "gated-files", "gated-no-limit", "gated-bytes"],
)
def test_the_files_of_a_batch_follow_the_decision_and_detach_gives_the_users_limit_back(
    spark: SparkSession, incoming, start, until, sizes, tmp_path: Path, first, user_limit, restored
) -> None:
    incoming.put(4)
    reader = spark.readStream.options(**user_limit)
    query = start(incoming.load(reader if first is None else gated(reader)))
    handle = attach(query, "1 s", "fixed", size=5, unit="files", journal=tmp_path / "j.jsonl")
    incoming.put(26)
    until(lambda: sum(sizes(query)) == 30)
    limited = sizes(query)
    assert limited[0] == (first or 2)
    assert limited.count(5) >= 4
    assert max(limited) == 5
    handle.detach()
    # Six files do not appear in one moment: a batch may be planned among them, but not every time.
    for total in range(36, 66, 6):
        incoming.put(6)
        until(lambda total=total: sum(sizes(query)) == total)
        if sizes(query)[-len(restored) :] == restored:
            break
    assert sizes(query)[-len(restored) :] == restored


def test_the_rows_of_our_source_follow_the_decision_and_detach_gives_the_users_limit_back(
    spark: SparkSession, start, until, sizes, tmp_path: Path
) -> None:
    reader = gated(read_workload(spark, saturated(10**9), max_rows=30), first=10)
    query = start(reader.load())
    handle = attach(query, "1 s", "fixed", size=50, journal=tmp_path / "j.jsonl")
    until(lambda: sizes(query)[-2:] == [50, 50])
    handle.detach()
    until(lambda: sizes(query)[-2:] == [30, 30])
    assert set(sizes(query)) - {10} == {50, 30}


def test_a_gated_reader_of_ours_that_is_started_again_gates_its_first_batch_again(
    spark: SparkSession, start, until, sizes, tmp_path: Path
) -> None:
    df = gated(read_workload(spark, saturated(30_000)), first=10).load()
    first = start(df, "once")
    handle = attach(first, "1 s", "fixed", size=50, journal=tmp_path / "j.jsonl")
    until(lambda: 50 in sizes(first))
    first.stop()
    handle.detach()
    again = start(df, "again")
    until(lambda: sizes(again))
    assert sizes(again)[0] == 10


def test_one_budget_over_two_of_our_sources_follows_their_backlogs_and_starves_none(
    spark: SparkSession, start, covers, tmp_path: Path
) -> None:
    long, short = read_workload(spark, saturated(4_000)), read_workload(spark, saturated(400))
    union = gated(long, first=50).load().union(gated(short, first=50).load())
    query = start(union, availableNow=True)
    with attach(query, "1 s", size=300, journal=tmp_path / "j.jsonl", warm_up_batches=0) as handle:
        assert query.awaitTermination(120)
    taken = [[source["numInputRows"] for source in progress["sources"]] for progress in query.recentProgress]
    assert [sum(column) for column in zip(*taken, strict=True)] == [4_000, 400]
    both = [(one, other) for one, other in taken if one and other]
    assert len(both) >= 2
    assert max(one / other for one, other in both) > 5
    assert covers([sample.size for sample in handle.recording().samples], [sum(pair) for pair in taken])


def test_one_budget_over_two_file_sources_is_shared_and_given_back(
    spark: SparkSession, incoming, incoming_too, start, until, sizes, covers, tmp_path: Path
) -> None:
    incoming.put(20)
    incoming_too.put(20)
    streams = [each.load(gated(spark.readStream)) for each in (incoming, incoming_too)]
    query = start(streams[0].union(streams[1]))
    handle = attach(query, "1 s", "fixed", size=8, journal=tmp_path / "j.jsonl")
    until(lambda: sum(sizes(query)) == 40)
    taken = [[source["numInputRows"] for source in p["sources"]] for p in query.recentProgress if p["numInputRows"]]
    assert taken[0] == [1, 1]
    assert [4, 4] in taken
    assert max(max(pair) for pair in taken) == 4
    assert handle.recording().header["unit"] == "files"
    until(lambda: covers([sample.size for sample in handle.recording().samples], sizes(query)))
    handle.detach()
    incoming.put(9)
    until(lambda: sum(sizes(query)) == 49)
    assert sizes(query)[-1] == 9


def test_sources_of_different_units_are_refused(spark: SparkSession, incoming, start) -> None:
    incoming.put(1)
    rows = read_workload(spark, saturated(10)).load().select("id")
    query = start(rows.union(incoming.load(spark.readStream)))
    with pytest.raises(UnsupportedError, match=r"limited in files and rows.*read them in two queries"):
        attach(query, "1 s")


def test_a_source_that_ignores_limits_is_refused(spark: SparkSession, start) -> None:
    query = start(spark.readStream.format("rate").load())
    with pytest.raises(UnsupportedError, match=r"Rate.*no admission control that Penstock knows: read Kafka or files"):
        attach(query, "1 s")
    assert query.isActive


def test_the_first_batch_of_a_gated_reader_is_as_asked(spark: SparkSession, incoming, start, until, sizes) -> None:
    incoming.put(10)
    query = start(incoming.load(gated(spark.readStream, first=4)))
    until(lambda: sum(sizes(query)) == 10)
    assert sizes(query) == [4, 4, 2]


def test_a_first_batch_of_nothing_is_refused(spark: SparkSession) -> None:
    with pytest.raises(BadInputError, match=r"first = 0: not a whole number of 1 or more; write e.g. 1000"):
        gated(spark.readStream, first=0)


def test_a_reader_of_spark_connect_is_refused() -> None:
    Remote = type("DataStreamReader", (), {"__module__": "pyspark.sql.connect.streaming.readwriter"})  # noqa: N806
    with pytest.raises(UnsupportedError, match="classic session"):
        gated(Remote())
