"""LMStream's six queries on Spark: the right rows, whatever the batches, and a run from spec to summary."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from penstock.apps.lmstream.app import LmStreamApp
from penstock.apps.lmstream.digest import result_files
from penstock.apps.lmstream.queries import QUERIES
from penstock.bench.run import RunSpec, run
from penstock.patterns.arrivals import Saturated
from penstock.spark.source.workload import read_workload

# Two minutes of stream in 2.4 s: event time does not follow the clock on the wall.
ARRIVALS = "datasets:rows=30,every=20 ms"
ITEMS = 3600


def results(spark: SparkSession, app: LmStreamApp, out: Path, max_rows: int | None = None) -> list[dict[str, Any]]:
    """Run a query over the class `small`, and give the progress of its batches."""
    workload = replace(app.workload("small", arrivals=ARRIVALS), arrivals=Saturated())
    df = app.pipeline(read_workload(spark, workload, max_rows=max_rows).load())
    query = app.sink(df, out / "output").option("checkpointLocation", str(out / "checkpoint")).start()
    try:
        query.processAllAvailable()
        return list(query.recentProgress)
    finally:
        query.stop()


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without warm-up: one test of it is enough."""
    monkeypatch.setattr("penstock.bench.run._warm_up", lambda *parts: None)


@pytest.mark.parametrize("name", QUERIES)
def test_a_few_batches_give_the_rows_of_the_reference(spark: SparkSession, name: str, tmp_path: Path) -> None:
    app = LmStreamApp(QUERIES[name])
    # Not a multiple of the 30 rows of a second: rows of one second come in two batches.
    batches = results(spark, app, tmp_path, max_rows=1234)
    assert app.digest(tmp_path / "output") == app.reference_digest("small", arrivals=ARRIVALS)
    # The last batch has no data and closes the windows; a join with itself is still one source.
    assert [len(progress["sources"]) for progress in batches] == [1] * len(batches)
    assert [bool(progress["numInputRows"]) for progress in batches] == [True, True, True, False]
    open_windows = app.query.range_s // app.query.slide_s
    assert sum(state["numRowsTotal"] for state in batches[-1]["stateOperators"]) <= open_windows
    if app.query.order:
        for path in result_files(tmp_path / "output"):
            rows = pyarrow.parquet.read_table(path).to_pylist()
            assert rows == sorted(rows, key=lambda row: [row[column] for column in app.query.order])


# The other two have their second batching in the runs below.
@pytest.mark.parametrize("name", ["lr1s", "lr2s", "cm1s", "cm2s"])
def test_one_batch_gives_the_same_rows(spark: SparkSession, name: str, tmp_path: Path) -> None:
    app = LmStreamApp(QUERIES[name])
    assert len(results(spark, app, tmp_path)) == 2
    assert app.digest(tmp_path / "output") == app.reference_digest("small", arrivals=ARRIVALS)


def test_a_trace_out_of_order_loses_no_row_to_the_watermark(spark: SparkSession, tmp_path: Path) -> None:
    trace = tmp_path / "trace.txt"
    seconds = [second + (25 if second % 7 == 3 else 0) for second in range(90)]
    lines = [f"{second} {at % 9} {at % 60} 0 1 {at % 2} {at * 977}\n" for at, second in enumerate(seconds)]
    trace.write_text("".join(lines))
    app = LmStreamApp(QUERIES["lr2s"]).replaying(trace)
    results(spark, app, tmp_path / "parts", max_rows=2000)
    assert app.digest(tmp_path / "parts" / "output") == app.reference_digest("small", arrivals=ARRIVALS)


def test_a_run_ends_when_its_windows_are_closed_and_tells_of_every_dataset(spark: SparkSession, tmp_path: Path) -> None:
    spec = RunSpec("lr1t", "small", slo="<= 5 s end-to-end", controller="pmbaf", arrivals=ARRIVALS)
    phases: list[str] = []
    summary = run(spec, tmp_path / "run", lambda state: phases.append(state.phase))
    assert summary["digest_ok"] is True
    assert summary["interrupted"] is False
    assert list(dict.fromkeys(phases))[-2:] == ["closing windows", "checking output"]
    told = summary["end_to_end"]
    assert 0 < told["datasets"]["count"] <= ITEMS / 30
    assert told["datasets"]["mean"] <= told["datasets"]["max"]
    # Spark counts the rows of a self-join twice, a run does not.
    assert summary["processed"]["rows"] <= ITEMS
    assert summary["processed"]["bytes_per_s"] == pytest.approx(63.7 * summary["processed"]["rows_per_s"])
    assert (summary["bad_rows"], summary["spec"]["arrivals"]) == (0, ARRIVALS)


def test_a_fixed_trigger_gives_the_same_rows_in_few_batches(spark: SparkSession, cold: None, tmp_path: Path) -> None:
    spec = RunSpec("cm1s", "small", controller="fixed", gated=False, trigger="3 s", arrivals=ARRIVALS)
    summary = run(spec, tmp_path / "run")
    assert summary["digest_ok"] is True
    # One trigger at the start, at most one while the 2.4 s of data come, and one after them.
    assert summary["batches"] <= 3


def test_dynamic_batching_gives_the_same_rows(spark: SparkSession, cold: None, tmp_path: Path) -> None:
    spec = RunSpec("cm1t", "small", slo="<= 1 s end-to-end", controller="lmstream", arrivals=ARRIVALS)
    summary = run(spec, tmp_path / "run")
    assert summary["digest_ok"] is True
    assert summary["end_to_end"]["datasets"]["count"] > 0
