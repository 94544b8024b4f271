"""The demonstration against runs that need no Spark."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from penstock.bench.demo import hold as demo_hold
from penstock.bench.demo import race
from penstock.bench.demo import runs as demo_runs
from penstock.bench.demo.careful_size import CarefulSize
from penstock.bench.demo.picture import draw_race
from penstock.bench.demo.race_result import FIXED, NAMES, PENSTOCK, PLAIN, RaceResult, Span, notes, sentence
from penstock.bench.run import RunSpec, RunState, Tick, Work, prepare
from penstock.cli import main as cli
from penstock.errors import MissingExtraError
from penstock.journal import Journal
from penstock.sample import BatchSample, Decision, Status
from penstock.score import summarise
from penstock.slo import Slo

pytest.importorskip("matplotlib")
pytest.importorskip("plotly")

ITEMS = prepare(race.SPEC).workload.items or 0
# Seconds of each batch; the first of a run that is limited is a warm-up.
TIMES_S = {PLAIN: [38.0], FIXED: [0.5] * 100, PENSTOCK: [0.6, 1.2] + [0.9] * 42 + [1.05], "adaptive": [1.0] * 6}


class FakeRuns:
    """Writes journals and summaries as runs do, and remembers what it was asked."""

    def __init__(self) -> None:
        self.specs: list[RunSpec] = []
        self.digest_ok: bool | None = True
        self.before_end: Callable[[threading.Event], None] = lambda stop: None

    def __call__(
        self, spec: RunSpec, out: Path, tick: Tick, stop: threading.Event, *, warm_up: bool = True
    ) -> dict[str, Any]:
        self.specs.append(spec)
        times_s = TIMES_S[spec.label or "adaptive"]
        slo, items = Slo.parse(spec.slo), -(-ITEMS // len(times_s))
        samples, start_s = [], 1000.0
        with Journal.open(out / "journal.jsonl", {"slo": spec.slo, "controller": spec.controller}) as journal:
            for number, took_s in enumerate(times_s):
                status = Status.WARM_UP if number == 0 and spec.gated else Status.OK
                samples.append(BatchSample(number, items, items, took_s, started_s=start_s, status=status, backlog=1))
                start_s += took_s
                journal.sample(samples[-1], control_s=0.001)
                journal.decision(number, Decision(items, "as told"), applied=spec.gated)
                tick(RunState("running", start_s - 1000.0, items, ITEMS, out / "journal.jsonl"))
                if stop.is_set():
                    break
        os.write(1, b"a child process prints\n")
        self.before_end(stop)
        return {
            **summarise(samples, slo),
            "control": {"mean_ms": 1.0, "max_ms": 1.0, "share_percent": 0.1},
            "digest_ok": None if stop.is_set() else self.digest_ok,
            "interrupted": stop.is_set(),
            "spec": {"controller": spec.controller, "label": spec.label, "size": spec.size},
        }


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeRuns:
    fake = FakeRuns()
    monkeypatch.setattr(demo_runs, "run", fake)
    monkeypatch.setattr(demo_runs, "session", lambda master: nullcontext())
    monkeypatch.setattr(race, "careful_size", lambda *given: CarefulSize(1712.0, 0.2, 0.0003))
    monkeypatch.chdir(tmp_path)
    return fake


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    code = ended.value.code
    return code if isinstance(code, int) else 0


def alone(spec: RunSpec, work: Work) -> dict[str, Any]:
    return work(lambda state: None, threading.Event())


def test_json_is_one_object_of_three_contenders_and_nothing_else(
    fake: FakeRuns, capfd: pytest.CaptureFixture[str]
) -> None:
    assert call("demo", "--json") == 0
    said = capfd.readouterr()
    assert said.out.count("\n") == 1
    found = json.loads(said.out)
    assert list(found) == ["contenders"]
    assert list(found["contenders"]) == ["plain", "fixed", "penstock"]
    for contender in found["contenders"].values():
        assert list(contender) == ["batches", "within_percent", "longest_s", "drain_s", "output_ok"]
    assert found["contenders"]["plain"] == {
        "batches": 1,
        "within_percent": 0.0,
        "longest_s": 38.0,
        "drain_s": 38.0,
        "output_ok": True,
    }
    ours = found["contenders"]["penstock"]
    assert (ours["batches"], ours["longest_s"]) == (45, 1.2)
    assert ours["within_percent"] == pytest.approx(100 * 43 / 45)
    assert ours["drain_s"] == pytest.approx(sum(TIMES_S[PENSTOCK]))
    assert "Penstock: told p95 <= 1 s" in said.err


def test_the_three_are_the_same_stream_and_differ_in_what_limits_them(fake: FakeRuns, tmp_path: Path) -> None:
    race.demonstrate(tmp_path / "show", alone)
    plain, penstock, fixed = fake.specs
    assert (plain.gated, penstock.gated, fixed.gated) == (False, True, True)
    assert (penstock.controller, penstock.slo) == (RunSpec("military").controller, "p95 <= 1 s")
    assert (fixed.controller, fixed.size) == ("fixed", 1712.0)
    assert len({(spec.app, spec.size_class, spec.cost, spec.seed, spec.slo) for spec in fake.specs}) == 1


def test_the_summary_is_a_sentence_then_the_three_then_the_measures_of_the_thesis(
    fake: FakeRuns, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert call("demo", "--out", "show") == 0
    said = capfd.readouterr().out
    places = [
        said.index(text)
        for text in (
            "fixed size: 1,712 items a batch, chosen for the heaviest items",
            "43 of 45 batches took at most 1 s; plain Spark made one batch of 38 s.",
            "batches within 1 s",
            "43 of 45 (95.6%)",
            "batches within the bound",
            "show/backlog.png",
            "show/report.html",
        )
    ]
    assert places == sorted(places)
    assert (tmp_path / "show" / "backlog.png").stat().st_size > 20_000
    page = (tmp_path / "show" / "report.html").read_text()
    assert "43 of 45 batches took at most 1 s" in page
    for name in NAMES:
        assert f'href="{name}/report.html"' in page
        assert (tmp_path / "show" / name / "report.html").exists()


def test_wrong_output_is_code_1(fake: FakeRuns, capfd: pytest.CaptureFixture[str]) -> None:
    fake.digest_ok = False
    assert call("demo", "--json") == 1
    assert json.loads(capfd.readouterr().out)["contenders"]["plain"]["output_ok"] is False


def test_a_run_that_the_limit_cuts_is_said_and_the_rest_goes_on(fake: FakeRuns, tmp_path: Path) -> None:
    found = race.demonstrate(tmp_path / "show", alone, limit_s=35.0)
    fixed = found.results[FIXED]
    assert not found.stopped
    assert (fixed.cut_s, fixed.drain_s, fixed.output_ok) == (35.0, None, None)
    assert 0 < fixed.done_percent < 100
    assert len(notes(found.results)) == 2
    assert "fixed size was ended after 35 s with 71% of items done" in notes(found.results)[1]
    assert found.report is not None
    assert "was ended after 35 s" in found.report.read_text()


def test_ctrl_c_in_a_run_ends_with_130_and_names_no_file(fake: FakeRuns, capfd: pytest.CaptureFixture[str]) -> None:
    def interrupt(stop: threading.Event) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.wait(10)

    fake.before_end = interrupt
    assert call("demo", "--out", "show") == 130
    assert len(fake.specs) == 1
    said = capfd.readouterr()
    assert "show/" not in said.out
    assert "Traceback" not in said.err


def test_ctrl_c_between_runs_ends_with_130_too(
    fake: FakeRuns, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(race, "draw_race", interrupted)
    assert call("demo", "--out", "show") == 130
    assert "show/" not in capfd.readouterr().out


def test_json_after_ctrl_c_has_null_for_who_did_not_run(fake: FakeRuns, capfd: pytest.CaptureFixture[str]) -> None:
    fake.before_end = lambda stop: stop.set()
    assert call("demo", "--json") == 130
    assert json.loads(capfd.readouterr().out) == {"contenders": {"plain": None, "fixed": None, "penstock": None}}


def result(*times_s: float, items: int = 100, cut_s: float | None = None) -> RaceResult:
    spans = tuple(Span(10.0 * number, took_s, items) for number, took_s in enumerate(times_s))
    return RaceResult(spans, bound_s=1.0, items=items * max(len(times_s), 1), cut_s=cut_s)


@pytest.mark.parametrize(
    ("ours", "plain", "said"),
    [
        (
            result(0.9, 1.0),
            result(38.4),
            "2 of 2 batches took at most 1 s; plain Spark made one batch of 38.4 s. The",
        ),
        (result(1.01), result(3.0, 5.0), "0 of 1 batch took at most 1 s; plain Spark made 2 batches, the longest"),
        (result(0.5), result(cut_s=120.0), "1 of 1 batch took at most 1 s; plain Spark had ended no batch after 120"),
    ],
)
def test_the_sentence_tells_what_plain_spark_did(ours: RaceResult, plain: RaceResult, said: str) -> None:
    assert sentence({PLAIN: plain, PENSTOCK: ours}).startswith(said)


@pytest.mark.parametrize(
    ("ours", "plain", "said"),
    [
        (result(0.9, 1.0), result(8.0), "The backlog was drained in 11 s, 1.38 times plain Spark's time."),
        (result(0.9), result(cut_s=120.0), "The backlog was drained in 0.9 s."),
        (
            result(0.9, cut_s=120.0),
            result(50.0),
            "100% of the backlog was done after 120 s, all of it by plain Spark",
        ),
    ],
)
def test_the_sentence_tells_what_the_bound_cost(ours: RaceResult, plain: RaceResult, said: str) -> None:
    assert said in sentence({PLAIN: plain, PENSTOCK: ours})


def test_a_run_that_was_cut_is_blamed_on_the_machine_only_where_plain_spark_was_cut_too() -> None:
    cut = result(0.9, cut_s=120.0)
    assert "busy" not in notes({PLAIN: result(50.0), PENSTOCK: cut})[0]
    assert "busy" in notes({PLAIN: result(cut_s=120.0), PENSTOCK: cut})[1]


@pytest.mark.parametrize("plain", [result(38.0), result(cut_s=120.0), result(0.001, 0.5)])
@pytest.mark.parametrize("missing", [True, False])
def test_the_picture_has_all_that_there_is(
    plain: RaceResult, missing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    monkeypatch.setitem(matplotlib.rcParams, "svg.fonttype", "none")
    results = {PLAIN: plain, PENSTOCK: result(0.9, 1.2)} | ({} if missing else {FIXED: result(0.5)})
    draw_race(results, tmp_path / "race.svg")
    drawn = (tmp_path / "race.svg").read_text()
    for text in ("plain Spark", "Penstock", "1 of 2 batches within 1 s", "longest batch 1.2 s", "bound"):
        assert text in drawn
    assert ("fixed size" in drawn) is not missing
    draw_race(results, tmp_path / "race.png")
    assert (tmp_path / "race.png").read_bytes().startswith(b"\x89PNG")


def test_the_careful_size_survives_times_that_make_no_sense() -> None:
    faster = CarefulSize.of([(500, 0.9), (1500, 0.6)], bound_s=1.0)
    assert (faster.size, faster.batch_s) == (2000.0, 0.0)
    assert CarefulSize.of([(500, 2.0), (1500, 2.1)], bound_s=1.0).size == 100.0


def test_hold_runs_both_and_draws_both(fake: FakeRuns, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert call("demo", "--hold", "--out", "show") == 0
    adaptive, fixed = fake.specs
    assert (adaptive.slo, adaptive.controller, fixed.controller) == ("1 s ± 10%", "predictive", "fixed")
    assert fixed.size == -(-ITEMS // 6)
    assert (fixed.cost, fixed.slo, fixed.size_class) == (adaptive.cost, adaptive.slo, adaptive.size_class)
    said = capfd.readouterr().out
    assert "predictive: 5 of 5 batches took between 900 ms and 1.1 s." in said
    for name in ("adaptive.png", "comparison.png", "adaptive.html"):
        assert f"show/{name}" in said
        assert (tmp_path / "show" / name).exists()


def test_hold_cuts_long_runs_and_still_compares(fake: FakeRuns, tmp_path: Path) -> None:
    found = demo_hold.demonstrate_hold(tmp_path / "show", alone, limit_s=3.0)
    assert [summary["interrupted"] for summary in found.summaries] == [True, True]
    assert found.stopped is False
    assert found.pictures[-1].exists()


def test_hold_stops_after_ctrl_c(fake: FakeRuns) -> None:
    fake.before_end = lambda stop: stop.set()
    assert call("demo", "--hold", "--out", "show") == 130
    assert len(fake.specs) == 1


def test_hold_has_no_json(fake: FakeRuns, capfd: pytest.CaptureFixture[str]) -> None:
    assert call("demo", "--hold", "--json") == 2
    assert capfd.readouterr().err.startswith("penstock: json = ")
    assert fake.specs == []


@pytest.mark.parametrize("demonstrate", [race.demonstrate, demo_hold.demonstrate_hold])
def test_plotly_is_asked_for_before_anything_runs(
    demonstrate: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(MissingExtraError, match="plotly"):
        demonstrate(tmp_path, lambda spec, work: pytest.fail("a run was spent"))
