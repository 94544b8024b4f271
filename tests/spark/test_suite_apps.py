"""The suite's applications on real Spark: any partitions and chunks give what a plain loop over the stages gives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from penstock.apps import registry
from penstock.apps.digest import Digest
from penstock.apps.suite.app import SuiteApp
from penstock.bench.run import RunSpec, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEED, ITEMS = 1, 18


def apps() -> list[str]:
    made: list[Any] = [registry.create(name) for name in registry.names()]
    return [app.name for app in made if isinstance(app, SuiteApp)]


def test_the_suite_has_its_five_applications() -> None:
    assert {"bzip2", "faces", "ferret", "lane", "synthetic"} <= set(apps())


@pytest.mark.parametrize("name", apps())
def test_partitions_and_chunks_change_no_result(spark: SparkSession, name: str) -> None:
    app: Any = registry.create(name)
    expected = app.plain_digest(ITEMS, SEED)
    for partitions, chunk_rows in ((1, "5"), (3, "1")):
        numbers = spark.range(0, ITEMS, 1, partitions).selectExpr("id", f"bigint({SEED}) as seed")
        rows = app.configured("test", {"chunk-rows": chunk_rows}).pipeline(numbers).select("id", "hash").collect()
        assert sorted(row["id"] for row in rows) == list(range(ITEMS))
        hashes = np.array([row["hash"] for row in rows], np.int64).view(np.uint64)
        assert Digest.of(hashes) == expected


def test_a_run_checks_its_digest_and_tells_recall_precision_and_seconds_by_stage(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from penstock.apps.synthetic.app import Synthetic
    from penstock.journal import read

    monkeypatch.setattr(Synthetic, "items", {"test": 300})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    spec = RunSpec("synthetic", "test", "<= 2 s", options={"item-ms": "2", "chunk-rows": "2"}, seed=9)
    summary = run(spec, tmp_path / "run", warm_up=False)
    assert summary["digest_ok"] is True
    assert (summary["recall"], summary["precision"]) == (1.0, 1.0)
    echoes = read(tmp_path / "run" / "journal.jsonl").echoes
    assert echoes
    assert {"work1", "work2", "work3"} <= set(echoes[0].seconds)
