"""Comparisons in virtual time, and the command `simulate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.bench.compare import virtual as compare_virtual
from penstock.bench.compare.virtual import compare_plant
from penstock.bench.simulate import simulate_run
from penstock.cli.main import main
from penstock.errors import BadInputError
from penstock.journal import read
from penstock.score import summarise
from penstock.sim.run import SimSpec, simulate
from penstock.slo import Slo

SPARK = {"plant": "spark", "slo": "1 s ± 10%", "items": 400_000}


def test_every_table_has_the_limits_and_says_who_is_best():
    seen: list[tuple[int, int]] = []
    found = compare_plant(controllers=["pid", "clipper"], seeds=5, progress=lambda *at: seen.append(at), **SPARK)
    rows = {row["controller"]: row for row in found["rows"]}
    assert list(rows) == ["pid", "clipper", "oracle", "oracle-causal", "oracle-reported"]
    assert [rows[name]["limit"] for name in rows] == [False, False, True, True, True]
    assert rows["pid"]["against_best"] == "best"
    assert rows["clipper"]["against_best"] == "below"
    assert rows["oracle"]["i_slh"]["mean"] > rows["pid"]["i_slh"]["mean"]
    assert len(rows["pid"]["i_slh"]["values"]) == 5
    assert rows["pid"]["i_slh"]["low"] <= rows["pid"]["i_slh"]["mean"] <= rows["pid"]["i_slh"]["high"]
    assert set(rows["pid"]["patterns"]) == {"increasing", "spike", "decreasing", "binary", "wave"}
    assert seen[-1] == (25, 25)


def test_a_comparison_has_the_numbers_of_its_runs():
    row = compare_plant(controllers=["pid"], seeds=2, **SPARK)["rows"][0]
    runs = [simulate(SimSpec("spark", "pid", slo="1 s ± 10%", items=400_000, seed=seed)) for seed in (1, 2)]
    summaries = [summarise(run.samples(), run.slo) for run in runs]
    for name in ("i_slh", "b_slh", "mad_d", "sd_d", "throughput_per_s", "batches"):
        assert row[name]["values"] == pytest.approx([summary[name] for summary in summaries])
    assert row["p95_s"]["values"] == pytest.approx([summary["latency_s"]["p95"] for summary in summaries])
    assert row["at"]["20%"]["i_slh"]["values"] == pytest.approx([each["at"]["20%"]["i_slh"] for each in summaries])
    wave = [each["patterns"]["wave"]["i_slh"] for each in summaries]
    assert row["patterns"]["wave"]["i_slh"]["values"] == pytest.approx(wave)


def test_a_bound_has_no_limits_beside_it():
    found = compare_plant("spark", "<= 1 s", ["pid", "pid:size=500"], seeds=2, items=400_000)
    assert [row["controller"] for row in found["rows"]] == ["pid", "pid:size=500"]


def test_a_controller_cannot_be_told_from_itself():
    found = compare_plant(controllers=["pid", "pid:kp=30%:ki=80%:kd=0%"], seeds=3, **SPARK)
    assert sorted(row["against_best"] for row in found["rows"] if not row["limit"]) == ["best", "cannot tell"]


def test_the_best_settings_are_sought_on_seeds_that_are_not_judged(monkeypatch: pytest.MonkeyPatch):
    asked: list[SimSpec] = []

    def spied(spec: SimSpec, **options: bool) -> object:
        asked.append(spec)
        return simulate(spec)

    monkeypatch.setattr(compare_virtual, "simulate", spied)
    monkeypatch.setattr(compare_virtual, "_WORTH_COMPILING", 10_000)
    monkeypatch.setitem(compare_virtual.STEPS, True, ("10%", "50%"))
    monkeypatch.setattr(compare_virtual, "SAMPLES", (1, 20))
    row = compare_plant(controllers=["pmbaf:best"], seeds=2, **SPARK)["rows"][0]
    pmbaf = [spec for spec in asked if spec.controller == "pmbaf"]
    judged = [spec for spec in pmbaf if spec.seed < 100]
    assert {spec.seed for spec in pmbaf} == {1, 2, *compare_virtual.TRAINING_SEEDS}
    assert len(pmbaf) == 4 * len(compare_virtual.TRAINING_SEEDS) + 2
    assert [dict(spec.settings) for spec in judged] == [{"step": "50%", "sample": 1}] * 2
    assert row["settings"] == {"step": "50%", "sample": "1"}


def test_processes_give_what_one_process_gives(monkeypatch: pytest.MonkeyPatch):
    alone = compare_plant(controllers=["pid"], seeds=2, **SPARK)
    monkeypatch.setattr(compare_virtual, "_WORTH_COMPILING", 1)
    assert compare_plant(controllers=["pid"], seeds=2, **SPARK) == alone


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"controllers": ["das:best"]}, "no grid"),
        ({"seeds": 0}, "seeds"),
        ({"controllers": ["nobody"]}, "nobody"),
        ({"controllers": ["pid", "pid"]}, "twice"),
        ({"controllers": ["fixed:auto"]}, "virtual time"),
    ],
)
def test_bad_input_is_refused(change: dict[str, object], text: str):
    with pytest.raises(BadInputError, match=text):
        compare_plant(**{"controllers": ["pid"], **SPARK, **change})  # type: ignore[arg-type]


def test_simulate_prints_the_fields_of_a_run(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main(["simulate", "--controller", "pmbaf", "--items", "100k", "--set", "step=1", "--set", "sample=1", "--json"])
    assert ended.value.code == 0
    summary = json.loads(capsys.readouterr().out)
    fields = "app class slo b_slh i_slh mad_d sd_d batches items at verdicts ignored throughput_per_s latency_s"
    fields += " batch_latency_s end_to_end_s wait_s patterns durations_s control saso events digest_ok interrupted"
    assert set((fields + " wall_s spec settling_batches").split()) <= set(summary)
    assert summary["items"] == 100_000
    assert isinstance(summary["settling_batches"], int)


def test_a_kept_simulation_has_its_samples_decisions_and_reasons(tmp_path: Path):
    spec = SimSpec("spark", "pmbaf", slo="1 s ± 10%", items=300_000)
    summary = simulate_run(spec, tmp_path)
    recording = read(tmp_path / "journal.jsonl")
    assert len(recording.samples) == summary["batches"]
    assert summarise(recording.samples, Slo.parse(spec.slo))["i_slh"] == summary["i_slh"]
    # All but the last batch are followed by a decision, and the first size comes before them.
    assert len(recording.decisions) == summary["batches"]
    assert "latency" in recording.decisions[2].decision.reason
    assert json.loads((tmp_path / "summary.json").read_text())["plant"] == "spark"


def test_fit_plant_and_simulate_on_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    simulate_run(SimSpec("spark", "pmbaf", slo="1 s ± 10%", items=900_000), tmp_path / "run")
    out = tmp_path / "plant.json"
    with pytest.raises(SystemExit) as ended:
        main(["fit-plant", str(tmp_path / "run"), "--out", str(out)])
    assert ended.value.code == 0
    assert "explains" in capsys.readouterr().out
    assert simulate_run(SimSpec(str(out), "pid", slo="1 s ± 10%", items=100_000))["batches"] > 5


@pytest.mark.parametrize(
    "arguments",
    [
        ["--plant", "moon"],
        ["--noise", "loud"],
        ["--items", "1.5"],
        ["--controller", "nobody"],
        ["--slo", "?"],
        ["--set", "size=1"],
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main(["simulate", *arguments])
    assert ended.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
