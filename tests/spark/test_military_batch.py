from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from penstock.apps.digest import Digest, committed_files
from penstock.apps.military.app import MilitaryServer
from penstock.apps.military.items import ITEM_DDL
from penstock.apps.military.reference import slice_digest
from penstock.apps.military.stages import CHOOSE, EXPLORE, STAGES, VALIDATE
from penstock.stages.stage import Stage
from penstock.workloads.workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ITEMS = 600
APP = MilitaryServer()
WORKLOAD = APP.workload("test", seed=5, cost="wave:min=16,max=900,period=200")


def made(workload: Workload, df: DataFrame) -> DataFrame:
    """A DataFrame of ids with the items' columns."""

    def rows(batches: Iterator[Any]) -> Iterator[Any]:
        from penstock.stages.arrow import record_batch

        for batch in batches:
            for index in batch.column("id").to_pylist():
                yield record_batch(workload.columns(index, index + 1))

    return df.mapInArrow(rows, ITEM_DDL)


@pytest.mark.parametrize(
    "groups", [(STAGES,), ((EXPLORE,), (CHOOSE, VALIDATE)), ((EXPLORE,), (CHOOSE,), (VALIDATE,))], ids=len
)
def test_pipeline_on_spark_equals_the_plain_computation(spark: SparkSession, groups: Sequence[Sequence[Stage]]) -> None:
    result = APP.pipeline(made(WORKLOAD, spark.range(0, ITEMS, 1, 3)), groups).collect()
    hashes = np.array([row.hash for row in result], dtype=np.int64).view(np.uint64)
    assert sorted(row.id for row in result) == list(range(ITEMS))
    assert all(len(row.places) == 64 for row in result)
    assert Digest.of(hashes) == slice_digest(WORKLOAD, 0, ITEMS)


def test_stream_into_the_sink_equals_the_plain_computation_also_when_its_last_batch_runs_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    for number, ids in enumerate(np.array_split(np.arange(ITEMS), 3)):
        spark.range(int(ids[0]), int(ids[-1]) + 1, 1, 2).write.parquet(str(tmp_path / "in" / f"{number}"))
    output, checkpoint = tmp_path / "out", tmp_path / "checkpoint"

    def run() -> list[Any]:
        reader = spark.readStream.schema("id bigint").option("maxFilesPerTrigger", 2)
        ids = reader.parquet(str(tmp_path / "in" / "*"))
        writer = APP.sink(APP.pipeline(made(WORKLOAD, ids)), output)
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        assert query.awaitTermination(120)
        return list(query.recentProgress)

    assert len(run()) >= 3
    expected = str(slice_digest(WORKLOAD, 0, ITEMS))
    assert APP.digest(output) == expected

    # Without its commit, the last batch is one that Spark must run again.
    commits = [path for path in (checkpoint / "commits").iterdir() if path.name.isdecimal()]
    last = max(commits, key=lambda path: int(path.name))
    files = committed_files(output)
    last.unlink()
    run()
    assert last.exists()
    assert committed_files(output) == files
    assert APP.digest(output) == expected
