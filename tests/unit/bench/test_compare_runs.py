"""Comparisons on Spark, with a runner that needs none: order, time, resuming, and what counts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from penstock.bench.compare import runs as module
from penstock.bench.compare.runs import Compared, compare_runs, wrong_outputs
from penstock.bench.compare.spec import CompareSpec, entries_of, everything
from penstock.bench.run import RunSpec, RunState, Tick, Work
from penstock.cli import compare as comparing
from penstock.cli import main as cli
from penstock.clock import ManualClock
from penstock.control import registry
from penstock.errors import BadInputError, PenstockError
from penstock.score.comparison import load

SPEC = CompareSpec("military", ("faf", "pid", "mbaf"), size_class="test")


class FakeMachine:
    """Runs take a hand-set time on a hand-moved clock, in steps of a second, and obey the order to stop."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.took_s: dict[str, float] = {}
        self.started: list[str] = []
        self.specs: list[RunSpec] = []
        self.said: list[str] = []
        self.sessions = 0
        self.digest_ok: dict[str, bool] = {}
        self.before: Callable[[str, threading.Event], None] = lambda name, stop: None

    def session(self, master: str) -> Any:
        self.sessions += 1
        return nullcontext()

    def run(self, spec: RunSpec, out: Path, tick: Tick, stop: threading.Event) -> dict[str, Any]:
        name = spec.label or spec.controller
        self.started.append(name)
        self.specs.append(spec)
        (out / "output").mkdir()
        (out / "journal.jsonl").write_text("")
        tick(RunState("running", 0.0, 0, 100, out / "journal.jsonl"))
        took_s = self.took_s.get(name, 10.0)
        done_s = 0.0
        while done_s < took_s and not stop.is_set():
            self.clock.advance(1.0)
            done_s += 1.0
        self.before(name, stop)
        size = spec.size or 1000.0
        summary = {
            "i_slh": max(100.0 - abs(size - 3000.0) / 100.0, 0.0),
            "b_slh": 50.0,
            "mad_d": 10.0,
            "sd_d": 20.0,
            "batches": 5,
            "batch_latency_s": {"mean": size / 2000.0},
            "interrupted": done_s < took_s or stop.is_set(),
            "digest_ok": self.digest_ok.get(name, True),
            "wall_s": done_s,
        }
        (out / "summary.json").write_text(json.dumps(summary))
        return summary

    def compare(self, out: Path, spec: CompareSpec = SPEC, runs: int = 2, **options: Any) -> Compared:
        def watch(spec: RunSpec, work: Work) -> dict[str, Any]:
            return work(lambda state: None, self.stop)

        self.stop = threading.Event()
        self.started.clear()
        return compare_runs(
            spec,
            runs,
            out,
            watch,
            self.said.append,
            runner=self.run,
            clock=self.clock,
            open_session=self.session,
            **options,
        )


@pytest.fixture
def machine() -> FakeMachine:
    return FakeMachine()


def runs_of(found: Compared) -> dict[str, int]:
    return {row["controller"]: row["runs"] for row in found.comparison["rows"]}


def test_rounds_are_interleaved_and_begin_elsewhere_each_time(machine: FakeMachine, tmp_path: Path) -> None:
    found = machine.compare(tmp_path / "c", runs=3)
    assert machine.started == ["faf", "pid", "mbaf", "pid", "mbaf", "faf", "mbaf", "faf", "pid"]
    assert runs_of(found) == {"faf": 3, "pid": 3, "mbaf": 3}
    assert load(tmp_path / "c") == found.comparison


def test_each_run_says_where_it_stands_and_how_long_it_will_be(machine: FakeMachine, tmp_path: Path) -> None:
    machine.took_s = {"faf": 60.0, "pid": 60.0, "mbaf": 60.0}
    machine.compare(tmp_path)
    assert machine.said[1] == "run 2 of 6, round 1: pid, about 5 min left"


def test_bulky_output_is_removed_and_the_journal_stays(machine: FakeMachine, tmp_path: Path) -> None:
    machine.compare(tmp_path, runs=1)
    assert sorted(path.name for path in (tmp_path / "r1" / "pid").iterdir()) == ["journal.jsonl", "summary.json"]


def test_rows_name_the_folders_of_the_runs_that_count(machine: FakeMachine, tmp_path: Path) -> None:
    found = machine.compare(tmp_path)
    assert found.comparison["rows"][1]["folders"] == ["r1/pid", "r2/pid"]


def test_no_run_is_started_that_could_not_end_in_time(machine: FakeMachine, tmp_path: Path) -> None:
    machine.took_s = {"faf": 10.0, "pid": 40.0, "mbaf": 10.0}
    found = machine.compare(tmp_path, runs=2, budget_s=90.0)
    # Round 2 begins with pid, for which 30 s are too few; the others still fit.
    assert machine.started == ["faf", "pid", "mbaf", "mbaf", "faf"]
    assert runs_of(found) == {"faf": 2, "pid": 1, "mbaf": 2}
    assert machine.clock.monotonic_s() <= 90.0
    assert any("run 4 of 6, round 2: pid is left out" in line for line in machine.said)


def test_a_run_that_overruns_is_stopped_in_time_and_does_not_count(machine: FakeMachine, tmp_path: Path) -> None:
    machine.took_s = {"faf": 10.0, "pid": 10_000.0}
    found = machine.compare(tmp_path, runs=2, budget_s=60.0)
    assert machine.clock.monotonic_s() <= 60.0
    assert not found.stopped
    assert runs_of(found) == {"faf": 1, "pid": 0, "mbaf": 0}
    assert [row["against_best"] for row in found.comparison["rows"]] == ["best", "not run", "not run"]


def test_a_killed_comparison_goes_on_where_it_was(machine: FakeMachine, tmp_path: Path) -> None:
    def kill(name: str, stop: threading.Event) -> None:
        if len(machine.started) == 4:
            raise SystemExit

    machine.before = kill
    with pytest.raises(SystemExit):
        machine.compare(tmp_path)
    machine.before = lambda name, stop: None
    found = machine.compare(tmp_path)
    assert machine.started == ["pid", "mbaf", "faf"]
    assert runs_of(found) == {"faf": 2, "pid": 2, "mbaf": 2}
    assert found.comparison["about"]["seconds"] == 60.0
    machine.compare(tmp_path)
    assert machine.started == []


def test_a_torn_summary_is_run_again(machine: FakeMachine, tmp_path: Path) -> None:
    machine.compare(tmp_path, runs=1)
    (tmp_path / "r1" / "pid" / "summary.json").write_text('{"i_slh": 9')
    machine.compare(tmp_path, runs=1)
    assert machine.started == ["pid"]


def test_more_runs_can_be_added_to_a_comparison(machine: FakeMachine, tmp_path: Path) -> None:
    machine.compare(tmp_path, runs=1)
    found = machine.compare(tmp_path, runs=2)
    assert sorted(machine.started) == ["faf", "mbaf", "pid"]
    assert runs_of(found) == {"faf": 2, "pid": 2, "mbaf": 2}


def test_ctrl_c_keeps_what_is_finished(machine: FakeMachine, tmp_path: Path) -> None:
    machine.before = lambda name, stop: machine.stop.set() if name == "pid" else None
    found = machine.compare(tmp_path)
    assert found.stopped
    assert machine.started == ["faf", "pid"]
    assert runs_of(found) == {"faf": 1, "pid": 0, "mbaf": 0}


def test_another_comparison_in_the_same_folder_is_refused(machine: FakeMachine, tmp_path: Path) -> None:
    machine.compare(tmp_path)
    other = CompareSpec("military", SPEC.controllers, size_class="test", slo="2 s ± 10%")
    with pytest.raises(BadInputError, match=r"slo was '1 s ± 10%'; give another --out"):
        machine.compare(tmp_path, other)
    assert other.folder_name != SPEC.folder_name


def test_a_folder_with_strange_files_is_refused(machine: FakeMachine, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(BadInputError, match=r"thesis\.txt"):
        machine.compare(tmp_path)


def test_one_run_that_fails_does_not_end_the_others(machine: FakeMachine, tmp_path: Path) -> None:
    def fail(name: str, stop: threading.Event) -> None:
        if name == "pid":
            raise PenstockError("the query failed: no space left")

    machine.before = fail
    found = machine.compare(tmp_path, runs=1)
    assert runs_of(found) == {"faf": 1, "pid": 0, "mbaf": 1}
    assert found.comparison["about"]["failures"] == ["round 1, pid: the query failed: no space left"]


def test_a_run_with_wrong_output_does_not_count_and_is_named(machine: FakeMachine, tmp_path: Path) -> None:
    machine.digest_ok = {"pid": False}
    found = machine.compare(tmp_path, runs=1)
    assert runs_of(found) == {"faf": 1, "pid": 0, "mbaf": 1}
    assert wrong_outputs(found.comparison) == ["pid"]


def test_the_best_fixed_size_is_searched_once_on_other_items_and_kept(machine: FakeMachine, tmp_path: Path) -> None:
    spec = CompareSpec("military", ("fixed:auto", "pid"), size_class="small")
    found = machine.compare(tmp_path, spec)
    trials = [each for each in machine.specs if not each.check_output]
    assert {(each.size_class, each.seed) for each in trials} == {("test", 2)}
    assert len(trials) == 5
    about = found.comparison["rows"][0]["about"]
    assert [trial["size"] for trial in about["trials"]] == [4000.0, 2000.0, 8000.0, 5657.0, 2828.0]
    assert about["size"] == 2828.0
    assert about["seconds"] == 50.0
    finals = [each for each in machine.specs if each.label == "fixed:auto" and each.check_output]
    assert [(each.size, each.size_class, each.seed) for each in finals] == [(2828.0, "small", 1)] * 2
    machine.specs.clear()
    machine.compare(tmp_path, spec, runs=3)
    assert [each.size for each in machine.specs if each.controller == "fixed"] == [2828.0]


def test_a_search_that_finds_no_time_leaves_its_controller_not_run(machine: FakeMachine, tmp_path: Path) -> None:
    machine.took_s = {"fixed:auto": 10_000.0}
    found = machine.compare(tmp_path, CompareSpec("military", ("pid", "fixed:auto")), runs=1, budget_s=60.0)
    assert runs_of(found) == {"pid": 1, "fixed:auto": 0}
    assert machine.clock.monotonic_s() <= 60.0


def test_plain_is_ungated_and_the_oracle_admits_by_cost_out_of_the_ranking(
    machine: FakeMachine, tmp_path: Path
) -> None:
    spec = CompareSpec("military", ("plain", "oracle", "fixed:size=2k", "pid:kp=20%"), size_class="test")
    found = machine.compare(tmp_path, spec, runs=1)
    by_name = {each.label: each for each in machine.specs}
    assert by_name["plain"].gated is False
    assert (by_name["oracle"].admit, by_name["oracle"].controller) == ("cost", "predictive")
    assert by_name["fixed:size=2k"].size == 2000.0
    assert by_name["pid:kp=20%"].settings == {"kp": "20%"}
    assert [row["limit"] for row in found.comparison["rows"]] == [False, True, False, False]
    assert found.comparison["rows"][1]["against_best"] == "oracle"


def test_everything_is_every_controller_and_can_be_prepared() -> None:
    names = everything()
    assert set(registry.names()) - {"fixed"} <= set(names)
    assert {"plain", "fixed:auto", "oracle"} <= set(names)
    assert len(entries_of(CompareSpec("military", names, size_class="test"))) == len(names)


@pytest.mark.parametrize(
    "options",
    [
        ["military", "--controllers", "pid,nonsense"],
        ["military", "--controllers", "pid,pid"],
        ["military", "--controllers", ","],
        ["military", "--controllers", "pid:kp"],
        ["military", "--runs", "0"],
        ["military", "--budget", "soon"],
        ["military", "--budget", "0s"],
        ["military", "--class", "huge"],
        ["navy"],
        [],
        ["military", "--plant", "thesis"],
        ["military", "--seeds", "3"],
        ["--plant", "thesis", "--budget", "1min"],
        ["--plant", "thesis", "--noise", "loud"],
    ],
)
def test_bad_input_is_one_line_and_exit_2_before_spark_starts(
    options: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        cli.main(["compare", *options])
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()


@pytest.fixture
def on_machine(machine: FakeMachine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeMachine:
    """The command, run on the fake machine in an empty folder."""

    def compare(*args: Any, **options: Any) -> Compared:
        return compare_runs(*args, **options, runner=machine.run, clock=machine.clock, open_session=machine.session)

    monkeypatch.setattr(comparing, "compare_runs", compare)
    monkeypatch.chdir(tmp_path)
    return machine


def test_the_command_prints_one_json_object_and_leaves_the_same_file(
    on_machine: FakeMachine, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arguments = ["compare", "military", "--class", "test", "--controllers", "faf,pid", "--runs", "1", "--json"]
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 0
    found = json.loads(capfd.readouterr().out)
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.startswith("compare-military-test-")
    assert load(folder) == found
    assert found["about"]["command"].startswith("penstock compare military --class test")


def test_the_command_shows_the_table_and_how_to_see_the_report(
    on_machine: FakeMachine, capfd: pytest.CaptureFixture[str]
) -> None:
    options = ["--class", "test", "--controllers", "faf,pid", "--runs", "1", "--out", "here"]
    with pytest.raises(SystemExit) as ended:
        cli.main(["compare", "military", *options])
    assert ended.value.code == 0
    out = capfd.readouterr().out
    assert "run 2 of 2, round 1: pid" in out
    assert "cannot tell" in out
    assert "penstock report here" in out


def test_a_stopped_command_says_how_to_go_on_and_exits_130(
    on_machine: FakeMachine, capfd: pytest.CaptureFixture[str]
) -> None:
    def interrupt(name: str, stop: threading.Event) -> None:
        if name == "pid":
            raise KeyboardInterrupt

    on_machine.before = interrupt
    with pytest.raises(SystemExit) as ended:
        cli.main(["compare", "military", "--class", "test", "--controllers", "faf,pid", "--out", "here"])
    assert ended.value.code == 130
    assert "to go on: penstock compare military" in capfd.readouterr().err


def test_the_trial_class_falls_back_to_the_class_itself(
    machine: FakeMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_TRIAL_CLASS", "no such class")
    machine.compare(tmp_path, CompareSpec("military", ("fixed:auto",), size_class="small"), runs=1)
    assert {each.size_class for each in machine.specs} == {"small"}
