from __future__ import annotations

import sys
from pathlib import Path

import pytest

from penstock.errors import BadInputError, MissingExtraError
from penstock.journal import Recording
from penstock.report.picture import check, curve_of, draw, draw_pair
from penstock.sample import BatchSample, Status
from penstock.slo import Slo, Verdict

HOLD = Slo.parse("1 s ± 10%")


def recording(latencies_s: list[float], started: bool = True, controller: str = "pbaf-wt") -> Recording:
    samples = [
        BatchSample(
            number,
            size=100.0 * 4**number,
            items=100 * 4**number,
            processing_s=latency_s,
            started_s=50.0 + 2 * number if started else None,
            status=Status.WARM_UP if number == 0 else Status.OK,
            load=1.0 + number,
            part="increasing" if number < 2 else "wave",
        )
        for number, latency_s in enumerate(latencies_s)
    ]
    return Recording(header={"controller": controller}, samples=samples)


def test_time_counts_from_the_first_batch() -> None:
    curve = curve_of(recording([1.0, 1.0, 1.5]), HOLD)
    assert curve.at_s == [0.0, 2.0, 4.0]
    assert curve.end_s == 5.5


def test_without_starts_batches_follow_each_other() -> None:
    assert curve_of(recording([3.0, 1.0, 1.5], started=False), HOLD).at_s == [0.0, 3.0, 4.0]


def test_verdicts_are_those_of_the_slo() -> None:
    curve = curve_of(recording([1.0, 1.0, 1.5]), HOLD)
    assert curve.verdicts == [Verdict.UNKNOWN, Verdict.MET, Verdict.MISSED]


def test_batches_without_a_measure_are_left_out() -> None:
    assert curve_of(recording([1.0, float("nan"), 1.5]), HOLD).values == [1.0, 1.5]


def test_empty_batches_are_left_out() -> None:
    run = recording([1.0, 1.5])
    run.samples.append(BatchSample(9, size=0.0, items=0, processing_s=0.1, status=Status.EMPTY, started_s=60.0))
    assert curve_of(run, HOLD).values == [1.0, 1.5]


def test_a_run_without_batches_is_refused() -> None:
    with pytest.raises(BadInputError, match="let the run last longer"):
        curve_of(Recording(), HOLD)


@pytest.mark.parametrize("slo", ["1 s ± 10%", "<= 1 s", ">= 1k/s", "3 ms ± 5%"])
@pytest.mark.parametrize("latencies_s", [[1.0], [1.0, 1.05, 40.0, 0.2], [0.5, 0.002, 0.003, 0.0031]])
def test_every_objective_is_drawn(slo: str, latencies_s: list[float], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw(recording(latencies_s), Slo.parse(slo), tmp_path / "run.png")
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def test_controller_objective_hits_and_parts_are_on_the_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    monkeypatch.setitem(matplotlib.rcParams, "svg.fonttype", "none")
    runs = [recording([1.0, 1.0, 1.5]), recording([1.0, 5.0, 1.5], controller="fixed")]
    draw_pair(runs, HOLD, tmp_path / "pair.svg")
    drawn = (tmp_path / "pair.svg").read_text()
    for text in (
        "pbaf-wt   1 s ± 10%",
        "fixed   1 s ± 10%",
        "1 of 2 batches met   B-SLH 50.0%   I-SLH 20.0%",
        "wave",
        "miss",
    ):
        assert text in drawn


def test_missing_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"penstock-spark\[report\]"):
        check(tmp_path / "run.png")


def test_check_leaves_no_file_behind_and_keeps_one_that_is_there(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    old = tmp_path / "old.png"
    old.write_bytes(b"old")
    check(old)
    check(tmp_path / "new" / "run.png")
    assert old.read_bytes() == b"old"
    assert list((tmp_path / "new").iterdir()) == []
