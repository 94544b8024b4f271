"""LMStream's evaluation from the plan to the page, with runs that need no Spark."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from penstock.apps.lmstream.queries import QUERIES
from penstock.bench.run import RunSpec, RunState, Tick, Work, prepare
from penstock.cli import main as cli
from penstock.cli import reproduce as reproducing
from penstock.errors import PenstockError
from penstock.journal import Journal, read
from penstock.reproduce.lmstream import published
from penstock.reproduce.lmstream import reproduce as module
from penstock.reproduce.lmstream.findings import FINDINGS
from penstock.reproduce.lmstream.page import page, results_section, write_page
from penstock.reproduce.lmstream.paper_runs import BASELINE, CONSTANT, LMSTREAM, OURS, TUNED, PaperRuns, quick_runs
from penstock.reproduce.lmstream.reproduce import Reproduction, reproduce
from penstock.reproduce.lmstream.runs import COLD, run_all
from penstock.reproduce.lmstream.scores import measure
from penstock.sample import BatchSample, Status

SMALL = PaperRuns("test", queries=("lr1s", "lr1t"), random=("lr1t",))
BEGAN_S = 1_000_000.0


def write_journal(path: Path, rows: int, every_s: float, took_s: float, batches: int, closing_s: float = 0.0) -> None:
    """Batches of so many rows; their oldest row waited as long as the time between them is."""
    with Journal.open(path, {"unit": "rows"}) as journal:
        number = 0
        for at in range(batches):
            began_s = BEGAN_S + at * every_s
            # A join scans rows twice, and Spark counts them twice.
            sample = BatchSample(number, rows, 2 * rows, took_s, wait_s=every_s, started_s=began_s)
            journal.sample(replace(sample, confirmed=False, processing_s=took_s / 2), control_s=0.001)
            journal.sample(sample, control_s=0.001)
            number += 1
            if closing_s:
                after_s = began_s + took_s
                empty = BatchSample(number, 0, 0, closing_s, status=Status.EMPTY, started_s=after_s)
                journal.sample(empty, control_s=0.0)
                number += 1


def summary_of(rows: int, took_s: float, mean_s: float, batches: int, closing_s: float = 0.0) -> dict[str, Any]:
    busy_s = batches * (took_s + closing_s)
    size = 64.0 * rows * batches
    return {
        "end_to_end": {"datasets": {"mean": mean_s, "max": 2 * mean_s}},
        "processed": {"rows": rows * batches, "bytes": size, "bytes_per_s": size / busy_s},
        "interrupted": False,
        "digest_ok": True,
        "wall_s": 30.0,
    }


def fake_name(spec: RunSpec) -> str:
    return f"{spec.app}-{spec.label}" + ("-random" if "sd=" in str(spec.arrivals) else "")


class FakeMachine:
    """Every run has its made-up batches; some have what a test wants of them."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.said: list[str] = []
        self.cold = 0
        self.stop = threading.Event()
        self.changes: dict[str, Mapping[str, Any]] = {}
        self.before: Callable[[str], None] = lambda name: None

    def session(self, master: str) -> Any:
        return nullcontext()

    def watch(self, spec: RunSpec, work: Work) -> dict[str, Any]:
        return work(lambda state: None, self.stop)

    def run(self, spec: RunSpec, out: Path, tick: Tick, stop: threading.Event) -> dict[str, Any]:
        name = fake_name(spec)
        if spec.label == COLD:
            self.cold += 1
        else:
            self.started.append(name)
        self.before(name)
        tick(RunState("running", 0.0, 0, 100, out / "journal.jsonl"))
        (out / "output").mkdir(exist_ok=True)
        every_s = 10.0 if spec.label == BASELINE else 4.0
        numbers = {"rows": int(1000 * every_s), "took_s": 1.0, "batches": int(120 / every_s)}
        write_journal(out / "journal.jsonl", every_s=every_s, **numbers)
        summary = {
            **summary_of(mean_s=every_s / 2 + 1.0, **numbers),
            "spec": asdict(spec) | {"size": 1000.0},
            **self.changes.get(name, {}),
        }
        (out / "summary.json").write_text(json.dumps(summary))
        return summary

    def reproduce(self, plan: PaperRuns, out: Path) -> Reproduction | None:
        return reproduce(plan, out, self.watch, self.said.append, runner=self.run, open_session=self.session)

    def whole(self, plan: PaperRuns, out: Path) -> Reproduction:
        found = self.reproduce(plan, out)
        assert found is not None
        return found


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> FakeMachine:
    # One test draws them.
    monkeypatch.setattr(module, "draw_all", lambda *given: [])
    return FakeMachine()


# The plan


def test_every_kind_of_run_is_one_that_can_be_run() -> None:
    plan = PaperRuns("test", queries=("lr1s", "cm1t"), random=("lr1s",))
    for each in plan.runs():
        prepared = prepare(each.spec)
        assert prepared.slo.target == plan.bound_s(each.query)
        assert prepared.workload.items == 20_000


def test_variants_differ_in_nothing_but_how_batches_are_made() -> None:
    for query in QUERIES:
        specs = [each.spec for each in PaperRuns().runs() if (each.query, each.traffic) == (query, CONSTANT)]
        assert len(specs) == 4
        assert len({(spec.slo, spec.arrivals, spec.seed, spec.size_class, spec.cost) for spec in specs}) == 1


def test_bounds_are_slides_and_the_trigger_where_windows_tumble() -> None:
    specs = {each.name: each.spec for each in PaperRuns().runs()}
    assert specs["constant/cm2s/lmstream"].settings == {"slide": "5 s"}
    assert specs["constant/cm2s/lmstream-90"].settings == {"slide": "4.5 s"}
    assert specs["constant/cm2s/pmbaf"].slo == "<= 5 s end-to-end"
    assert specs["constant/cm1t/lmstream"].settings == {"slide": "0"}
    assert specs["constant/cm1t/pmbaf"].slo == "<= 10 s end-to-end"
    assert (specs["constant/lr1t/baseline"].trigger, specs["constant/lr1t/baseline"].gated) == ("10 s", False)


def test_needed_runs_are_estimated_to_fit_the_hour_and_a_quick_plan_five_minutes() -> None:
    assert sum(each.estimate_s for each in PaperRuns().runs() if not each.spare) < 57 * 60
    assert sum(each.estimate_s for each in quick_runs().runs()) < 270


def test_quick_plan_scales_all_times_alike() -> None:
    plan = quick_runs()
    assert plan.trigger_s * plan.speed == published.TRIGGER_S
    assert {plan.bound_s(query) * plan.speed for query in ("lr1s", "cm2s")} == {5.0}
    assert plan.stream_s * plan.speed == 20.0


# Running it


def test_runs_follow_each_other_by_query(machine: FakeMachine, tmp_path: Path) -> None:
    found = machine.whole(SMALL, tmp_path)
    assert machine.started == [
        *(f"lr1s-{variant}" for variant in (BASELINE, LMSTREAM, OURS, TUNED)),
        *(f"lr1t-{variant}" for variant in (LMSTREAM, OURS, TUNED, BASELINE)),
        *(f"lr1t-{variant}-random" for variant in (BASELINE, LMSTREAM)),
    ]
    assert (len(found.ran.summaries), found.ran.computed, found.good) == (10, 10, True)
    assert "10 runs of 20 s of stream; about" in machine.said[0]
    assert not list(tmp_path.rglob("output"))


def test_killed_reproduction_goes_on_with_what_is_missing(machine: FakeMachine, tmp_path: Path) -> None:
    def die(name: str) -> None:
        if name == "lr1t-pmbaf":
            raise SystemExit(9)

    machine.before = die
    with pytest.raises(SystemExit):
        machine.reproduce(SMALL, tmp_path)
    done = len(machine.started) - 1
    machine.started.clear()
    machine.before = lambda name: None
    found = machine.whole(SMALL, tmp_path)
    assert machine.started[0] == "lr1t-pmbaf"
    assert (len(machine.started), found.ran.computed) == (10 - done, 10 - done)
    assert len(found.ran.summaries) == 10


def test_spark_is_warmed_by_a_run_that_leaves_nothing_and_only_where_there_is_something_to_run(
    machine: FakeMachine, tmp_path: Path
) -> None:
    for _ in range(2):
        machine.whole(SMALL, tmp_path)
        assert machine.cold == 1
    assert not (tmp_path / COLD).exists()


def test_run_by_another_spec_is_not_kept(machine: FakeMachine, tmp_path: Path) -> None:
    machine.whole(SMALL, tmp_path)
    machine.started.clear()
    machine.whole(replace(SMALL, seed=2), tmp_path)
    assert len(machine.started) == 10


def test_stop_by_the_user_leaves_finished_runs_and_no_results(machine: FakeMachine, tmp_path: Path) -> None:
    def stop(name: str) -> None:
        if name == "lr1s-pmbaf":
            machine.stop.set()

    machine.before = stop
    assert machine.reproduce(SMALL, tmp_path) is None
    assert machine.started[-1] == "lr1s-pmbaf"
    assert (tmp_path / "constant/lr1s/lmstream/summary.json").exists()
    assert not (tmp_path / "results.json").exists()


def test_wrong_output_does_not_count_is_kept_to_look_at_and_is_run_again(machine: FakeMachine, tmp_path: Path) -> None:
    machine.changes["lr1s-lmstream"] = {"digest_ok": False}
    found = machine.whole(SMALL, tmp_path)
    assert found.ran.wrong == ("constant/lr1s/lmstream",)
    assert not found.good
    assert found.scores.get("lr1s", LMSTREAM) is None
    assert (tmp_path / "constant/lr1s/lmstream/output").is_dir()
    machine.changes.clear()
    machine.started.clear()
    assert machine.whole(SMALL, tmp_path).good
    assert machine.started == ["lr1s-lmstream"]


def test_run_that_fails_costs_no_other(machine: FakeMachine, tmp_path: Path) -> None:
    def fail(name: str) -> None:
        if name == "lr1t-lmstream":
            raise PenstockError("the query failed")

    machine.before = fail
    found = machine.whole(SMALL, tmp_path)
    assert found.ran.failures == ("constant/lr1t/lmstream: the query failed",)
    assert (len(found.ran.summaries), found.good) == (9, False)


def test_spare_runs_give_way_to_those_that_matter_more(machine: FakeMachine, tmp_path: Path) -> None:
    # Each takes what was thought: eight that are needed, and time for one of the two that are not.
    machine.changes = {name: {"wall_s": each.estimate_s} for each in SMALL.runs() if (name := fake_name(each.spec))}
    needed_s = sum(each.estimate_s for each in SMALL.runs() if not each.spare)
    ran = run_all(
        replace(SMALL, limit_s=needed_s + 60), tmp_path, machine.watch, runner=machine.run, open_session=machine.session
    )
    assert ran.left_out == ("constant/lr1t/lmstream-90",)
    assert len(ran.summaries) == 9


# What is measured


def test_measures_of_a_run(tmp_path: Path) -> None:
    write_journal(tmp_path / "journal.jsonl", rows=4000, every_s=4.0, took_s=1.0, batches=5, closing_s=0.5)
    summary = summary_of(rows=4000, took_s=1.0, mean_s=2.5, batches=5, closing_s=0.5)
    run = measure(summary, read(tmp_path / "journal.jsonl"), bound_s=5.0)
    assert (run.mean_s, run.max_s, run.batches, run.without_data, run.mean_rows) == (2.5, 5.0, 5, 5, 4000)
    assert run.within == 100.0
    assert measure(summary, read(tmp_path / "journal.jsonl"), bound_s=4.9).within == 0.0
    assert run.bytes_per_s == pytest.approx(64 * 20_000 / 7.5)
    assert run.bytes_per_s_of_data == pytest.approx(64 * 20_000 / 5.0)
    assert run.delivered_per_s == pytest.approx(1000.0)
    # 17 s from the first start to the last end with data, in which five batches with data ran and four without.
    assert run.split.processing == pytest.approx(100 * 7.0 / 17.0)
    assert run.split.buffering + run.split.processing == pytest.approx(100.0)
    assert run.split.control == pytest.approx(100 * 0.010 / 17.0)
    assert run.timeline.at_s[:2] == (0.0, 4.0)
    assert set(run.timeline.latency_s) == {5.0}


def test_run_without_waits_is_left_out(tmp_path: Path, machine: FakeMachine) -> None:
    machine.changes["lr1s-baseline"] = {"end_to_end": None}
    found = machine.whole(SMALL, tmp_path)
    assert found.scores.get("lr1s", BASELINE) is None
    assert found.scores.get("lr1s", LMSTREAM) is not None


# Findings


def test_page_has_tables_findings_and_figures_and_keeps_what_is_written_by_hand(tmp_path: Path) -> None:
    machine = FakeMachine()
    found = machine.whole(replace(SMALL, random=("lr1s", "lr1t")), tmp_path / "out")
    assert [path.name for path in found.figures] == [
        "lmstream-6-latency.png",
        "lmstream-7-throughput.png",
        "lmstream-8-lr1s.png",
        "lmstream-9-lr1t.png",
    ]
    docs = tmp_path / "docs" / "lmstream.md"
    docs.parent.mkdir()
    docs.write_text("# By hand\n\n<!-- begin: lmstream -->\nold\n<!-- end: lmstream -->\n\nAlso by hand.\n")
    write_page(found, docs)
    text = docs.read_text()
    assert text.startswith("# By hand\n\n<!-- begin: lmstream -->\n## ")
    assert text.endswith("<!-- end: lmstream -->\n\nAlso by hand.\n")
    linked = [line.split("](")[1].split(")")[0] for line in text.splitlines() if line.startswith("![")]
    assert len(linked) == 4
    assert all((docs.parent / link).exists() for link in linked)
    # Half of the baseline's latency, the same processing of four times as many batches: 0.4 times its throughput.
    assert "| LR1S | lmstream | 3.00 | 6.00 | -50.0% | lower | 256.00 | 0.40x | 1.74x | 1000 | correct |" in text
    assert "| processing phase | 81.01 |" in text
    assert all(finding.claim in text for finding in FINDINGS)
    assert "`lmstream` keeps it in 2 of 2 queries" in text
    kept = json.loads((tmp_path / "out" / "results.json").read_text())
    assert set(kept["tables"]) == {"figures-6-7", "figures-8-9", "IV", "bounds"}
    assert [finding["name"] for finding in kept["findings"]] == [finding.name for finding in FINDINGS]


def test_left_out_runs_are_named_on_the_page(machine: FakeMachine, tmp_path: Path) -> None:
    found = machine.whole(replace(SMALL, limit_s=1.0), tmp_path)
    assert "Left out, as all runs are to end within the hour: constant/lr1s/lmstream-90" in page(found)
    assert "| LR1S | lmstream-90 |" not in page(found)


def test_results_section_is_short(machine: FakeMachine, tmp_path: Path) -> None:
    text = results_section(machine.whole(SMALL, tmp_path))
    assert text.count("### ") == 2
    assert "| LR1T | pmbaf |" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--runs", "3"], "leave it out"),
        (["--quick", "--page", "x.md"], "leave out --quick"),
        (["--quick", "--results", "x.md"], "leave out --quick"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["reproduce", "lmstream", *words])
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


def command(machine: FakeMachine, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    def fake(plan: PaperRuns, folder: Path, watch: object, say: Callable[[str], None]) -> Reproduction | None:
        say("one line of progress")
        return machine.reproduce(SMALL, folder)

    monkeypatch.setattr(reproducing.lmstream, "reproduce", fake)
    with pytest.raises(SystemExit) as stopped:
        cli.main(["reproduce", "lmstream", *words])
    return int(stopped.value.code or 0)


def test_command_prints_one_json_object(
    machine: FakeMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert command(machine, monkeypatch, "--quick", "--out", str(tmp_path), "--json") == 0
    printed = capfd.readouterr()
    answer = json.loads(printed.out)
    assert (answer["runs"], answer["quick"], answer["wrong"]) == (10, True, [])
    assert "one line of progress" in printed.err


def test_wrong_output_fails_the_command_and_changes_no_page(
    machine: FakeMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    machine.changes["lr1t-pmbaf"] = {"digest_ok": False}
    written = tmp_path / "lmstream.md"
    assert command(machine, monkeypatch, "--out", str(tmp_path / "out"), "--page", str(written)) == 1
    assert "WRONG output: constant/lr1t/pmbaf" in capfd.readouterr().err
    assert not written.exists()


def test_command_writes_page_and_results(
    machine: FakeMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / "lmstream.md", tmp_path / "results.md"]
    words = ("--out", str(tmp_path / "out"), "--page", str(files[0]), "--results", str(files[1]))
    assert command(machine, monkeypatch, *words) == 0
    assert all("<!-- begin: lmstream -->" in file.read_text() for file in files)
    assert "LMStream's average latency is much lower" in capfd.readouterr().out


def test_stop_is_told_with_the_way_to_go_on(
    machine: FakeMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    machine.stop.set()
    assert command(machine, monkeypatch, "--out", str(tmp_path)) == 130
    assert "goes on from there" in capfd.readouterr().err
