"""What a batch of files counts as: its rows once, however often they are scanned, and the files that really wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.spark.attach import attach
from penstock.spark.handle import Handle
from penstock.spark.reader import gated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 3000
FILES = 4


class Folder:
    """Files of 3,000 rows each."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "in"
        self.path.mkdir()
        self._staged = folder / "staged.json"
        self._count = 0

    def put(self, files: int) -> None:
        for _ in range(files):
            self._staged.write_text("".join(f'{{"id": {number}}}\n' for number in range(ROWS)))
            self._staged.rename(self.path / f"{self._count:04}.json")
            self._count += 1


def three_actions(df: DataFrame, batch_id: int) -> None:
    df.count()
    df.write.format("noop").mode("overwrite").save()
    df.where("id % 2 = 0").count()


def persisted(df: DataFrame, batch_id: int) -> None:
    df.persist()
    three_actions(df, batch_id)
    df.unpersist()


def peeking(df: DataFrame, batch_id: int) -> None:
    if not df.isEmpty():
        df.limit(3).collect()
        df.count()


def at_once(df: DataFrame, batch_id: int) -> None:
    """Two actions in two threads."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda _: df.count(), range(2)))


def joined(df: DataFrame) -> DataFrame:
    """Spark makes two sources of the two sides, and each takes every file; the same file at once is read only once."""
    return df.alias("a").join(df.alias("b"), "id")


SHAPES: dict[str, tuple[Callable[[Any], Any], Any, int]] = {
    "three-actions": (lambda df: df, three_actions, 1),
    "persisted": (lambda df: df, persisted, 1),
    "peeking": (lambda df: df, peeking, 1),
    "threads": (lambda df: df, at_once, 1),
    "plain-sink": (lambda df: df, None, 1),
    "shuffle-three-actions": (lambda df: df.repartition(3), three_actions, 1),
    "state-three-actions": (lambda df: df.groupBy("id").count(), three_actions, 1),
    "self-union": (lambda df: df.union(df), None, 1),
    "self-union-three-actions": (lambda df: df.union(df), three_actions, 1),
    "self-join-three-actions": (joined, three_actions, 2),
}


@pytest.mark.parametrize(("shape", "each", "sources"), SHAPES.values(), ids=SHAPES)
def test_the_items_of_a_batch_are_its_rows_however_often_they_are_scanned(
    spark: SparkSession, until, tmp_path: Path, shape: Callable[[Any], Any], each: Any, sources: int
) -> None:
    folder = Folder(tmp_path)
    df = shape(gated(spark.readStream).schema("id bigint").json(str(folder.path)))
    writer = df.writeStream.foreachBatch(each) if each else df.writeStream.format("noop")
    mode = "update" if "count" in df.columns else "append"
    query = writer.outputMode(mode).option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        with attach(query, "1 s", "fixed", size=1, journal=tmp_path / "j.jsonl", warm_up_batches=0) as handle:
            folder.put(FILES)
            until(lambda: sum(size for size, _ in taken(handle)) == FILES * sources)
        assert all(size * ROWS / sources <= items <= size * ROWS for size, items in taken(handle)), taken(handle)
    finally:
        query.stop()


def taken(handle: Handle) -> list[tuple[float, int]]:
    return [(s.size, s.items) for s in handle.recording().samples if s.confirmed and s.items]


def test_the_backlog_of_files_counts_those_that_came_after_spark_listed_the_folder(
    spark: SparkSession, incoming, start, until, tmp_path: Path
) -> None:
    incoming.put(100)

    def each(df: DataFrame, batch_id: int) -> None:
        df.count()
        time.sleep(0.2)

    query = start(incoming.load(gated(spark.readStream)), each=each)
    with attach(query, "1 s", "fixed", size=1, journal=tmp_path / "j.jsonl", warm_up_batches=0) as handle:
        until(lambda: backlogs(handle))
        incoming.put(1000)
        until(lambda: max(backlogs(handle).values()) > 1000)
    known = backlogs(handle)
    # Spark's own list has a hundred files, and is not made anew before the last of them is taken.
    batch_id = next(batch_id for batch_id, backlog in known.items() if backlog > 1000)
    assert batch_id < 99
    assert known[batch_id] + batch_id <= 1100


def backlogs(handle: Handle) -> dict[int, float]:
    return {s.batch_id: s.backlog for s in handle.recording().samples if s.backlog is not None}
