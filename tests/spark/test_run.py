"""One real run of an app, from spec to summary: what `penstock run` prints."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.bench.run import RunSpec, RunState, prepare, run
from penstock.errors import BadInputError

# A target well above the fixed time of a batch, also where other tests share the machine.
SPEC = RunSpec("military", "test", slo="1 s ± 20%", cost="constant:value=256")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("cache"))


def test_a_run_keeps_its_promise_about_the_summary(
    spark: SparkSession, tmp_path: Path, cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    phases: list[str] = []
    summary = run(SPEC, tmp_path / "run", lambda state: phases.append(state.phase))
    assert summary["digest_ok"] is True
    assert summary["interrupted"] is False
    assert list(dict.fromkeys(phases)) == ["starting Spark", "warming up", "running", "checking output"]
    assert {"b_slh", "i_slh", "mad_d", "sd_d", "batches", "items", "throughput_per_s", "patterns"} <= set(summary)
    assert {"p50", "p95", "p99"} <= set(summary["latency_s"])
    assert {"planning", "wal", "processing", "commit"} <= set(summary["durations_s"])
    assert summary["control"]["share_percent"] > 0
    written = (tmp_path / "run" / "summary.json").read_text()
    assert json.loads(written) == json.loads(json.dumps(summary))
    assert "NaN" not in written


def test_a_stopped_run_still_writes_its_summary(spark: SparkSession, tmp_path: Path) -> None:
    stop = threading.Event()

    def tick(state: RunState) -> None:
        if state.items_done > 5000:  # the first batch is warm-up and does not count
            stop.set()

    summary = run(SPEC, tmp_path, tick, stop)
    assert summary["interrupted"] is True
    assert summary["digest_ok"] is None
    assert 0 < summary["items"] < 150_132
    assert (tmp_path / "summary.json").exists()


def test_a_folder_with_strange_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(BadInputError, match=r"thesis\.txt"):
        run(SPEC, tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [("arrivals", "decreasing:min=0,max=1k,period=10s", "arrivals"), ("cost", "constant:value=0", "cost")],
)
def test_what_could_never_finish_is_refused_before_spark_starts(field: str, value: str, named: str) -> None:
    with pytest.raises(BadInputError, match=named):
        prepare(RunSpec("military", "test", **{field: value}))


def test_a_run_that_breaks_off_leaves_no_query_behind(spark: SparkSession, tmp_path: Path) -> None:
    def tick(state: RunState) -> None:
        if state.phase == "running":
            raise RuntimeError("the screen is gone")

    with pytest.raises(RuntimeError, match="screen"):
        run(SPEC, tmp_path, tick)
    assert not spark.streams.active
