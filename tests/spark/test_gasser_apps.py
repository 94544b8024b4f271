"""Gasser's queries on Spark: the right windows, whatever the batches, and a run from spec to summary."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.apps.gasser.app import GasserApp
from penstock.apps.gasser.queries import Q1, Q2, Query
from penstock.apps.gasser.reference import reference_digest
from penstock.bench.run import RunSpec, run
from penstock.bench.session import settings_in_force
from penstock.spark.source.workload import read_workload

STATE_STORE = "spark.sql.streaming.stateStore.providerClass"


@pytest.fixture(autouse=True)
def _cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def windows_of(summary: dict[str, Any]) -> int:
    windows: int = summary["windows"]
    assert summary["windows_per_s"] > 0
    assert 0 < summary["kernel_share"] < 1
    return windows


def test_q1_as_it_is_has_the_committed_digest(spark: SparkSession, tmp_path: Path) -> None:
    before = spark.conf.get(STATE_STORE)
    summary = run(RunSpec("q1", "test", size=50_000), tmp_path / "run")
    assert summary["digest_ok"] is True
    assert windows_of(summary) == (10**6 - 1000) // 25 + 1
    assert summary["spec"]["options"] == {}
    assert spark.conf.get(STATE_STORE) == before


def test_q2_of_five_hundred_keys_has_the_committed_digest(spark: SparkSession, tmp_path: Path) -> None:
    spec = RunSpec("q2", "test", options={"keys": "500"}, size=100_000)
    summary = run(spec, tmp_path / "run", warm_up=False)
    assert summary["digest_ok"] is True
    assert windows_of(summary) == 20_259
    assert summary["spec"]["options"] == {"keys": "500"}


@pytest.mark.parametrize(
    ("query", "options"),
    [
        (Q1, {"window": "2k/700", "device": "numpy"}),
        (Q1, {"window": "300/300", "keys": "7"}),
        (Q2, {"window": "1k/50", "device": "numba-parallel"}),
    ],
    ids=["q1 numpy", "q1 tumbling of 7 keys", "q2 parallel"],
)
def test_other_windows_and_devices_give_the_rows_of_the_reference(
    spark: SparkSession, query: Query, options: dict[str, str], tmp_path: Path
) -> None:
    app = GasserApp(query).configured("test", options)
    workload = replace(app.workload("test", seed=3), items=30_000)
    with settings_in_force(spark, app.session_settings):
        # Not a multiple of any slide: windows end in the middle of batches.
        df = app.pipeline(read_workload(spark, workload, max_rows=7_777).load())
        query_run = app.sink(df, tmp_path / "output").option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        try:
            query_run.processAllAvailable()
        finally:
            query_run.stop()
    assert app.digest(tmp_path / "output") == str(reference_digest(query, app.chosen, workload))
