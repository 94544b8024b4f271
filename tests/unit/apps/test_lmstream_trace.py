"""Real traces in place of made rows: what is read, what is counted as bad, and how it is repeated."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.apps import registry
from penstock.apps.lmstream.app import LmStreamApp
from penstock.apps.lmstream.queries import QUERIES
from penstock.apps.lmstream.stream import EPOCH_S, MICROS
from penstock.bench.run import RunSpec, prepare
from penstock.cli import main as cli
from penstock.cli import run as running
from penstock.errors import BadInputError
from penstock.sample import BatchSample
from penstock.score import summarise
from penstock.slo import Slo

POSITIONS = """\
5\t107\t32 0 1 0\t53320
5 109 20 0 0 1 100644

6,107,30,0,2,0,53000
"""
TASKS = """\
1 5285926325 0 32064642 1 280 0 9 0.063 0.006 0.000 0
2 6251537638 861 -1 4 328 0 2 0.025 0.080 0.000 1
"""


def trace(folder: Path, text: str) -> Path:
    path = folder / "trace.txt"
    path.write_text(text)
    return path


def app(name: str) -> LmStreamApp:
    return LmStreamApp(QUERIES[name])


def test_rows_come_in_their_order_and_again_with_shifted_time(tmp_path: Path) -> None:
    replaying = app("lr1s").replaying(trace(tmp_path, POSITIONS))
    columns = replaying.workload("test").columns(0, 8)
    assert np.asarray(columns["vehicle"]).tolist() == [107, 109, 107, 107, 109, 107, 107, 109]
    seconds = np.asarray(columns["timestamp"]) // MICROS - EPOCH_S
    assert seconds.tolist() == [0, 0, 1, 2, 2, 3, 4, 4]
    assert np.asarray(columns["segment"]).tolist()[:3] == [10, 19, 10]
    assert set(columns) == set(app("lr1s").workload("test").columns(0, 1))


def test_a_whole_class_is_replayed_and_closed(tmp_path: Path) -> None:
    replaying = app("cm1s").replaying(trace(tmp_path, TASKS))
    workload = replaying.workload("test", arrivals="datasets:rows=10,every=1s")
    assert workload.items == 200
    columns = workload.columns(0, 200)
    assert np.asarray(columns["jobId"])[:2].tolist() == [5285926325, 6251537638]
    assert np.asarray(columns["machineId"])[1] == -1
    assert np.asarray(columns["userId"])[:2].tolist() == ["280", "328"]
    assert np.argmax(columns["timestamp"]) == 199
    # 0.063 as the nearest multiple of 2**-20, so that sums do not depend on the order.
    assert abs(float(np.asarray(columns["cpu"])[0]) - 0.063) < 2**-20
    assert float(np.asarray(columns["cpu"])[0]) * 2**20 % 1 == 0
    assert int(replaying.reference_digest("test", arrivals="datasets:rows=10,every=1s").split("-")[0]) > 0
    assert replaying.row_bytes == pytest.approx(51, abs=3)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("1 107 32 0 1 0", "6 fields and not 7"),
        ("1 107 32 0 1 0 53320 9", "8 fields and not 7"),
        ("1 107 fast 0 1 0 53320", "speed 'fast'"),
        ("-3 107 32 0 1 0 53320", "negative"),
        ("nan 107 32 0 1 0 53320", "timestamp 'nan'"),
        ("1 99999999999 32 0 1 0 53320", "too large"),
        ("999999999999 107 32 0 1 0 53320", "ten years"),
    ],
)
def test_what_is_no_row_is_counted_and_the_first_is_named(tmp_path: Path, line: str, why: str) -> None:
    replaying = app("lr2s").replaying(trace(tmp_path, f"{POSITIONS}{line}\n7 1 2 3 4 5 6\n{line}\n"))
    assert replaying.bad_rows == 2
    assert replaying.first_bad_row is not None
    assert replaying.first_bad_row.startswith("line 5: ")
    assert why in replaying.first_bad_row
    assert replaying.trace is not None
    assert replaying.trace.rows == 4


def test_rows_out_of_order_are_kept_and_the_watermark_waits_for_them(tmp_path: Path) -> None:
    lines = [f"{second} 1 2 0 0 0 {second}\n" for second in (10, 14, 12, 30, 9)]
    replaying = app("lr2s").replaying(trace(tmp_path, "".join(lines)))
    assert replaying.trace is not None
    assert (replaying.trace.disorder_s, replaying.trace.lap_s) == (21, 22)
    assert replaying.trace.columns["timestamp"].tolist() == [1, 5, 3, 21, 0]


def test_a_file_that_cannot_be_replayed_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"data = .*nowhere.*cannot be read"):
        app("lr1s").replaying(tmp_path / "nowhere")
    with pytest.raises(BadInputError, match="cannot be read"):
        app("lr1s").replaying(tmp_path)
    with pytest.raises(BadInputError, match="it has no rows"):
        app("lr1s").replaying(trace(tmp_path, "\n\n"))
    with pytest.raises(BadInputError, match=r"none of its 2 lines is a row .*12 fields and not 7"):
        app("lr1s").replaying(trace(tmp_path, TASKS))


def test_a_trace_that_would_outlast_the_stream_is_refused(tmp_path: Path) -> None:
    years = "".join(f"{second} 1 2 0 0 0 5\n" for second in (0, 300_000_000))
    with pytest.raises(BadInputError, match="10000 times its 300000001 s"):
        app("lr1s").replaying(trace(tmp_path, years)).workload("test")


def test_an_app_without_traces_refuses_data_before_spark_starts(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="military makes its own items"):
        prepare(RunSpec("military", "test", data=str(trace(tmp_path, TASKS))))


def test_a_spec_with_data_is_prepared_with_it(tmp_path: Path) -> None:
    prepared = prepare(RunSpec("cm2s", "test", data=str(trace(tmp_path, TASKS + "what is this\n"))))
    assert prepared.app.bad_rows == 1  # type: ignore[attr-defined]
    assert prepared.arrivals == registry.create("cm2s").default_arrivals
    assert np.asarray(prepared.workload.columns(0, 1)["jobId"]).tolist() == [5285926325]


def test_the_command_passes_data_and_trigger_on_and_tells_of_bad_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    specs: list[RunSpec] = []

    def run(spec: RunSpec, *_: object) -> dict[str, Any]:
        specs.append(spec)
        summary = summarise([BatchSample(0, 10, 10, 1.0)], Slo.parse(spec.slo))
        control = {"mean_ms": 1.0, "share_percent": 1.0}
        bad = {"bad_rows": 3, "first_bad_row": "line 9: 6 fields and not 12"}
        run = {"digest_ok": True, "interrupted": False, "spec": {"controller": spec.controller}}
        return {**summary, "control": control, **bad, **run}

    monkeypatch.setattr(running, "run", run)
    path = trace(tmp_path, TASKS)
    with pytest.raises(SystemExit) as ended:
        cli.main(["run", "cm2s", "--class", "test", "--data", str(path), "--trigger", "10 s"])
    assert not ended.value.code
    assert (specs[0].data, specs[0].trigger, specs[0].arrivals) == (str(path), "10 s", None)
    assert "3 lines of" in (said := capfd.readouterr().out)
    assert "line 9: 6 fields and not 12" in said


@pytest.mark.parametrize("trigger", ["soon", "0 s", "-3 s"])
def test_a_trigger_that_is_no_interval_is_refused_before_spark_starts(trigger: str) -> None:
    with pytest.raises(BadInputError, match="trigger"):
        prepare(RunSpec("cm2s", "test", trigger=trigger))


@pytest.mark.parametrize(
    ("name", "file"), [("lr1s", "linear-road-positions.txt"), ("cm2s", "google-cluster-task-events.txt")]
)
def test_the_real_traces_are_read_whole(name: str, file: str) -> None:
    folder = os.environ.get("PENSTOCK_DATA")
    path = Path(folder or "") / file
    if not folder or not path.exists():
        pytest.skip(f"PENSTOCK_DATA names no folder with {file}")
    replaying = app(name).replaying(path)
    assert replaying.bad_rows == 0
    assert replaying.trace is not None
    assert replaying.trace.rows >= 16_384
    assert replaying.trace.disorder_s == 0
    assert int(replaying.reference_digest("test").split("-")[0]) > 1000
