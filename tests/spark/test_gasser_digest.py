"""The hash of a window's result in Spark is the one that the reference computes in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.sql import SparkSession

from penstock.apps.digest import Digest
from penstock.apps.gasser.digest import result_hashes, with_hash

ROWS = 500


@pytest.mark.parametrize("key", [None, 0, 499])
def test_spark_and_numpy_hash_results_alike_in_any_order(spark: SparkSession, key: int | None) -> None:
    random = np.random.default_rng(7)
    windows = random.permutation(ROWS).astype(np.int64)
    # Ties of rounding, negative and large ones among them.
    outputs = np.stack([random.integers(-9, 9, ROWS) / 2000.0, random.normal(scale=1e9, size=ROWS)], axis=1)
    rows = [
        (key or 0, int(window), int(25 * window), int(25 * window) + 1000, *map(float, values))
        for window, values in zip(windows, outputs, strict=True)
    ]
    ddl = "symbol int, window bigint, start bigint, end bigint, a double, b double"
    df = with_hash(spark.createDataFrame(rows, ddl), None if key is None else "symbol", ("a", "b"))
    found = df.repartition(3).select("id", "hash").toPandas()
    hashes = result_hashes(key or 0, windows, 25 * windows, 25 * windows + 1000, outputs)
    assert Digest.of(found["hash"].to_numpy().view(np.uint64)) == Digest.of(hashes)
    assert sorted(found["id"]) == [(key or 0) * 2**40 + window for window in range(ROWS)]
