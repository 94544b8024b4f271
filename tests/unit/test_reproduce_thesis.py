"""The published evaluation in virtual time: its data, the cache, the findings, the command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from penstock.bench.thesis import cells as cells_module
from penstock.bench.thesis import published
from penstock.bench.thesis import reproduce as reproduce_module
from penstock.bench.thesis.cells import FILE, PARTS, numbers_of, read_cells, run_cells
from penstock.bench.thesis.findings import FINDINGS, look
from penstock.bench.thesis.grid import ORACLES, STEPPING, THRESHOLDS, Cell, Config, Grid, quick_grid
from penstock.bench.thesis.page import results_section, write_page
from penstock.bench.thesis.reproduce import reproduce
from penstock.bench.thesis.scores import Scores
from penstock.cli import main as cli
from penstock.sim import kernel
from penstock.sim.run import simulate

TINY = Grid(
    runs=2,
    fixed_runs=1,
    steps=(1, 5, 10),
    samples=(1, 5),
    kp=(0, 10),
    ki=(15,),
    kd=(0, 3),
    pid_samples=(1,),
    sizes=(1, 10, 100, 115, 500),
    items=500,
)

SMALL = Grid(
    runs=1,
    fixed_runs=1,
    steps=(5,),
    samples=(1,),
    algorithms=("faf", "pmbaf"),
    kp=(10,),
    ki=(15,),
    kd=(3,),
    pid_samples=(1,),
    sizes=(1, 10),
    items=300,
)


def quiet(done: int, of: int) -> None:
    """Say nothing of progress."""


# The published data, against what the text of the thesis says of them.


def test_published_tables_agree_with_the_prose_around_them() -> None:
    rows = [(h, name) for h in THRESHOLDS for name in STEPPING]
    assert sum(published.HITS[h][name][0].sample > 1 for h, name in rows) == 13
    assert all(published.HITS[h][name][1].sample == 1 for h, name in rows)
    assert all(published.DISTANCES[h][name][1].sample == 1 for h, name in rows)
    gap = published.hit(5, "pid", "i_slh") - published.hit(5, "pmbaf", "i_slh")
    assert gap == pytest.approx(1.4, abs=0.05)
    assert published.hit(15, "pid", "i_slh") - published.hit(15, "pmbaf", "i_slh") == pytest.approx(4.4, abs=0.05)
    assert published.distance(5, "pid", "mad_d") - published.distance(5, "pmbaf", "mad_d") == pytest.approx(1.73)
    assert published.distance(5, "pmbaf", "mad_d") / published.distance(5, "mbaf", "mad_d") == pytest.approx(
        0.6, abs=0.01
    )


def test_published_tables_at_some_places() -> None:
    assert published.HITS[15]["pbaf-wt"] == (published.Best(47.2, 20, 5), published.Best(54.8, 10, 1))
    assert published.DISTANCES[20]["pmbaf"] == (published.Best(17.98, 15, 1), published.Best(38.27, 5, 1))
    assert published.DEVIATIONS["pmbaf"] == (12.73, 1.39)
    assert published.PATTERNS["mbaf"] == (57.99, 19.32, 51.66, 28.73, 22.76)
    assert published.PID_DISTANCES["sd_d"] == published.BestPid(36.86, 1, 10, 5, 5)


# The grid.


def test_grid_has_the_combinations_of_the_thesis() -> None:
    configs = list(Grid().configs())
    assert len(configs) == len(set(configs))
    scored = sum(len(config.scored_at()) for config in configs if config.algorithm in STEPPING)
    assert scored == 400
    assert sum(config.algorithm == "pid" for config in configs) == 6 * 5 * 4 * 4
    assert {config.algorithm for config in configs} == {*STEPPING, "pid", *ORACLES}


def test_quick_grid_is_a_part_of_the_whole_and_much_smaller() -> None:
    whole, quick = set(Grid().cells()), set(quick_grid().cells())
    assert quick < whole
    assert len(quick) < len(whole) / 10


def test_numbers_of_a_run_are_those_of_its_metrics() -> None:
    run = simulate(Cell(Config("pid", kp=10, ki=15, kd=3, sample=1), seed=1, items=5000).spec())
    numbers = numbers_of(run, THRESHOLDS)
    for h in THRESHOLDS:
        whole = run.metrics(h / 100)
        assert numbers["at"][str(h)]["b_slh"] == pytest.approx(whole.b_slh)
        assert numbers["at"][str(h)]["i_slh"] == pytest.approx(whole.i_slh)
        for number, part in enumerate(PARTS):
            inside = run.metrics(h / 100, part)
            assert numbers["at"][str(h)]["parts_b_slh"][number] == pytest.approx(inside.b_slh, abs=1e-3)
            assert numbers["at"][str(h)]["parts_i_slh"][number] == pytest.approx(inside.i_slh, abs=1e-3)
    assert (numbers["mad_d"], numbers["sd_d"]) == (run.metrics().mad_d, run.metrics().sd_d)


# The cache.

KILLED = """
import sys
from pathlib import Path
from penstock.bench.thesis.cells import run_cells
from penstock.bench.thesis.grid import Cell, Config
cells = [Cell(Config("faf", 5, step=step, sample=1), seed, 3000) for step in range(1, 9) for seed in range(1, 9)]
run_cells(cells, Path(sys.argv[1]), lambda done, of: None, processes=1)
"""


def _cells() -> list[Cell]:
    return [Cell(Config("faf", 5, step=step, sample=1), seed, 3000) for step in range(1, 9) for seed in range(1, 9)]


def _until(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    for _ in range(int(seconds / 0.02)):
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for workers in /proc")
def test_killed_run_goes_on_where_it_stopped_and_leaves_no_worker(tmp_path: Path) -> None:
    file = tmp_path / "killed" / FILE
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(file.parent)])
    assert _until(lambda: file.exists() and file.read_bytes().count(b"\n") >= 3)
    workers = [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert workers
    assert _until(lambda: not any(_alive(pid) for pid in workers))
    kept = len(read_cells(file))
    assert 3 <= kept < len(_cells())
    with file.open("ab") as torn:
        torn.write(b'{"stamp": "half a li')

    resumed = run_cells(_cells(), file.parent, quiet, processes=2)
    whole = run_cells(_cells(), tmp_path / "whole", quiet, processes=2)
    assert resumed.computed == len(_cells()) - kept
    assert resumed.numbers == whole.numbers
    assert run_cells(_cells(), file.parent, quiet).computed == 0


def test_cells_of_another_version_or_plant_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = [Cell(Config("faf", 5, step=1, sample=1), seed, 500) for seed in (1, 2)]
    assert run_cells(few, tmp_path, quiet, processes=1).computed == 2
    assert run_cells(few, tmp_path, quiet, processes=1).computed == 0
    plant = cells_module.load_plant("thesis").noisier(2.0)
    monkeypatch.setattr(cells_module, "load_plant", lambda name: plant)
    assert read_cells(tmp_path / FILE) == {}
    monkeypatch.undo()
    monkeypatch.setattr(cells_module, "VERSION", cells_module.VERSION + 1)
    assert run_cells(few, tmp_path, quiet, processes=1).computed == 2


def test_changed_formula_makes_only_its_own_cells_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = [Cell(Config(name, 5, step=5, sample=1), 1, 500) for name in ("faf", "pmbaf")]
    run_cells(two, tmp_path, quiet, processes=1)
    monkeypatch.setattr(kernel, "fine_or_fast_up", lambda ratio, linear: 0.5)
    assert [json.loads(key)["algorithm"] for key in read_cells(tmp_path / FILE)] == ["faf"]
    assert run_cells(two, tmp_path, quiet, processes=1).computed == 1


# The findings, on numbers made up so that each goes either way.


def _made(special: Callable[[Config, int], Mapping[str, Any]]) -> Scores:
    grid = Grid(runs=6, fixed_runs=1, kp=(0, 10), ki=(15,), kd=(0, 3), pid_samples=(1,), sizes=(1, 10, 100, 150, 500))
    found = {}
    for cell in grid.cells():
        wobble = 0.01 * cell.seed
        given = {"b_slh": 50.0, "i_slh": 40.0, "mad_d": 25.0, "sd_d": 40.0, "parts": (60.0, 20.0, 50.0, 15.0, 20.0)}
        given.update({"latency_s": 0.003, "throughput_per_s": 1000.0, "spread": 1.0})
        given.update(special(cell.config, cell.seed))
        parts = [value + wobble for value in given["parts"]]
        hits = {"b_slh": given["b_slh"] + given["spread"] * wobble, "i_slh": given["i_slh"] + wobble}
        found[cell] = {
            "at": {str(h): {**hits, "parts_b_slh": parts, "parts_i_slh": parts} for h in cell.config.scored_at()},
            **{name: given[name] + wobble for name in ("mad_d", "sd_d", "throughput_per_s")},
            "latency_s": given["latency_s"],
            "batches": 1,
        }
    return Scores(found)


def _fixed(config: Config, rates: Mapping[int, float]) -> dict[str, float]:
    return {"throughput_per_s": rates[config.size]} if config.size else {}


Special = Callable[[Config, int], Mapping[str, Any]]
BOTH_WAYS: dict[str, tuple[Special, Special]] = {
    "fixed-throughput-flat": (
        lambda c, s: _fixed(c, {1: 1, 10: 9, 100: 20, 150: 24, 500: 25}),
        lambda c, s: _fixed(c, {1: 1, 10: 5, 100: 10, 150: 12, 500: 25}),
    ),
    "fixed-gain": (
        lambda c, s: _fixed(c, {1: 1, 10: 9, 100: 20, 150: 24, 500: 25}),
        lambda c, s: _fixed(c, {1: 1, 10: 2, 100: 3, 150: 4, 500: 5}),
    ),
    "fixed-latency-slope": (
        lambda c, s: {"latency_s": {1: 1, 10: 2, 100: 11, 150: 13, 500: 30}[c.size] / 1e3} if c.size else {},
        lambda c, s: {"latency_s": {1: 1, 10: 2, 100: 3, 150: 9, 500: 90}[c.size] / 1e3} if c.size else {},
    ),
    "itemized-below-batched": (lambda c, s: {"b_slh": 60.0}, lambda c, s: {"b_slh": 30.0}),
    "items-vary-less": (lambda c, s: {"spread": 9.0}, lambda c, s: {"spread": 0.1}),
    "step-grows-with-threshold": (
        lambda c, s: {"i_slh": 60.0 if (c.step or 0) >= 15 and c.threshold == 20 else 50.0 if c.step == 5 else 40.0},
        lambda c, s: {"i_slh": 60.0 if c.step == 1 and c.threshold == 20 else 50.0 if c.step == 5 else 40.0},
    ),
    "sample-one-for-items": (
        lambda c, s: {"i_slh": 50.0 if c.sample == 1 else 40.0},
        lambda c, s: {"i_slh": 50.0 if c.sample == 5 else 40.0},
    ),
    "larger-sample-for-batches": (
        lambda c, s: {"b_slh": 60.0 if c.sample == 5 else 50.0},
        lambda c, s: {"b_slh": 60.0 if c.sample == 1 else 50.0},
    ),
    "faf-and-mbaf-decay": (
        lambda c, s: {"i_slh": 40.0 - (c.step or 0) * (c.algorithm in ("faf", "mbaf"))},
        lambda c, s: {"i_slh": 40.0 - (c.step or 0)},
    ),
    "homogeneous": (
        lambda c, s: {"b_slh": 30.0, "i_slh": 30.0} if c.algorithm == "faf" and c.threshold == 5 else {},
        lambda c, s: {"i_slh": 20.0 if c.algorithm == "faf" and c.threshold == 20 else 40.0},
    ),
    "pmbaf-leads-batched": (
        lambda c, s: {"b_slh": 60.0 if c.algorithm == "pmbaf" else 50.0},
        lambda c, s: {"b_slh": 60.0 if c.algorithm == "faf" else 50.0},
    ),
    "advice": (
        lambda c, s: {"i_slh": 41.0 if c.sample == 1 else 40.0},
        lambda c, s: {"i_slh": 90.0 if c.sample == 1 else 40.0},
    ),
    "gradual-patterns-best": (lambda c, s: {}, lambda c, s: {"parts": (60.0, 20.0, 50.0, 55.0, 20.0)}),
    "reactive-on-binary": (
        lambda c, s: {"parts": (60, 20, 50, 30 if c.algorithm in ("mbaf", "pmbaf") else 15, 20)},
        lambda c, s: {"parts": (60, 20, 50, 30 if c.algorithm in ("mbaf", "faf") else 15, 20)},
    ),
    "pmbaf-on-spike": (
        lambda c, s: {"parts": (60, 10 if c.algorithm == "pmbaf" else 20, 50, 15, 20)},
        lambda c, s: {"parts": (60, 10 if c.algorithm == "faf" else 20, 50, 15, 20)},
    ),
    "wave-alike": (
        lambda c, s: {},
        lambda c, s: {"parts": (60, 20, 50, 15, 40 if c.algorithm == "faf" else 20)},
    ),
    "sample-helps-gradual": (
        lambda c, s: {"parts": (60 + (c.sample or 0), 20, 50 + (c.sample or 0), 15, 20)},
        lambda c, s: {"parts": (60 - (c.sample or 0), 20, 50 - (c.sample or 0), 15, 20)},
    ),
    "sample-helps-spike": (
        lambda c, s: {"parts": (60, 20 + (c.sample or 0), 50, 15, 20)},
        lambda c, s: {"parts": (60, 20 - (c.sample or 0), 50, 15, 20)},
    ),
    "pmbaf-smallest-mad": (
        lambda c, s: {"mad_d": 15.0 if c.algorithm == "pmbaf" else 25.0},
        lambda c, s: {"mad_d": 15.0 if c.algorithm == "faf" else 25.0},
    ),
    "pmbaf-forty-percent": (
        lambda c, s: {"mad_d": 15.0 if c.algorithm == "pmbaf" else 25.0},
        lambda c, s: {"mad_d": 24.0 if c.algorithm == "pmbaf" else 25.0},
    ),
    "slow-convergence": (
        lambda c, s: {"sd_d": 30.0 if c.step == 1 and c.sample == 1 else 40.0},
        lambda c, s: {"sd_d": 30.0 if c.step == 20 else 40.0},
    ),
    "slow-is-half-as-fast": (
        lambda c, s: {"throughput_per_s": 500.0 if c.step == 1 else 1000.0},
        lambda c, s: {},
    ),
    "pid-level-with-pmbaf": (
        lambda c, s: {"i_slh": 43.0 if c.algorithm == "pid" else 40.0},
        lambda c, s: {"i_slh": 53.0 if c.algorithm == "pid" else 40.0},
    ),
    "pid-mad-level": (
        lambda c, s: {"mad_d": 26.0 if c.algorithm == "pid" else 25.0},
        lambda c, s: {"mad_d": 35.0 if c.algorithm == "pid" else 25.0},
    ),
    "integral-dominates": (
        lambda c, s: {"i_slh": 40.0 if c.kp else 38.0},
        lambda c, s: {"i_slh": 40.0 if c.kp else 20.0},
    ),
    "best-gains": (
        lambda c, s: dict.fromkeys(("b_slh", "i_slh"), 60.0) | {"mad_d": 15.0} if (c.kp, c.kd) == (10, 3) else {},
        lambda c, s: dict.fromkeys(("b_slh", "i_slh"), 60.0) | {"mad_d": 15.0} if (c.kp, c.kd) == (0, 3) else {},
    ),
}  # fmt: skip


def test_every_finding_is_tried_both_ways() -> None:
    assert set(BOTH_WAYS) == {finding.name for finding in FINDINGS}


@pytest.mark.parametrize("name", BOTH_WAYS)
def test_finding_follows_the_numbers(name: str) -> None:
    (finding,) = (finding for finding in FINDINGS if finding.name == name)
    yes, no = (look(finding, _made(special)) for special in BOTH_WAYS[name])
    assert (yes.state, no.state) == ("reproduced", "not reproduced"), (yes.sentence, no.sentence)
    json.dumps([dict(yes.numbers), dict(yes.published)])


def test_finding_without_its_cells_cannot_tell() -> None:
    assert {look(finding, Scores({})).state for finding in FINDINGS} == {"cannot tell"}


def test_finding_on_means_that_noise_blurs_cannot_tell() -> None:
    (finding,) = (finding for finding in FINDINGS if finding.name == "pmbaf-leads-batched")
    blurred = _made(lambda c, s: {"b_slh": 50.0 + 7 * ((s + (c.algorithm == "pmbaf")) % 3)})
    assert look(finding, blurred).state == "cannot tell"


# All of it.


def test_tiny_grid_end_to_end(tmp_path: Path) -> None:
    steps: list[str] = []
    found = reproduce(TINY, tmp_path / "out", quiet, steps.append)
    assert found.cells == found.computed == len(TINY.cells())
    assert [table.name for table in found.tables] == ["5.1", "5.2", "5.3", "5.4", "5.5"]
    assert [len(table.rows) for table in found.tables] == [28, 7, 7, 28, 10]
    assert all(len(row) == len(table.head) for table in found.tables for row in table.rows)
    assert [path.name.split("-")[1] for path in found.figures] == [f"5.{number}" for number in range(1, 10)]
    assert len(steps) == 9
    kept = json.loads((tmp_path / "out" / "results.json").read_text())
    assert {finding["state"] for finding in kept["findings"]} <= {"reproduced", "not reproduced", "cannot tell"}
    assert len(kept["findings"]) == len(FINDINGS)

    write_page(found, tmp_path / "docs" / "thesis.md")
    page = (tmp_path / "docs" / "thesis.md").read_text()
    linked = [line.split("](")[1].split(")")[0] for line in page.splitlines() if line.startswith("![")]
    assert len(linked) == 5
    assert all((tmp_path / "docs" / link).exists() for link in linked)
    assert "| 5% | PMBAF | 57.78 | 10/1 |" in page
    assert "### Table 5.5" in results_section(found)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["reproduce", "nobody"], "write one of thesis"),
        (["reproduce", "thesis", "--runs", "0"], "give 1 or more"),
        (["reproduce", "thesis", "--quick", "--page", "x.md"], "leave out --quick"),
        (["reproduce", "thesis", "--quick", "--results", "x.md"], "leave out --quick"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(words)
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


def test_command_prints_one_json_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from penstock.cli import reproducing

    monkeypatch.setattr(reproducing, "quick_grid", lambda: SMALL)
    # Another test draws the figures.
    monkeypatch.setattr(reproduce_module, "draw_all", lambda *given: [])
    with pytest.raises(SystemExit) as stopped:
        cli.main(["reproduce", "thesis", "--quick", "--out", str(tmp_path), "--json"])
    assert stopped.value.code == 0
    answer = json.loads(capsys.readouterr().out)
    assert set(answer) >= {"tables", "findings", "seconds", "cells"}
    assert answer["cells"] == len(SMALL.cells())
    assert {"name", "state", "numbers", "published"} <= set(answer["findings"][0])


def test_results_option_puts_the_tables_between_their_markers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.cli import reproducing

    monkeypatch.setattr(reproducing, "Grid", lambda: SMALL)
    monkeypatch.setattr(reproduce_module, "draw_all", lambda *given: [])
    results = tmp_path / "results.md"
    results.write_text("Before.\n<!-- begin: thesis -->\nold\n<!-- end: thesis -->\nAfter.\n")
    with pytest.raises(SystemExit) as stopped:
        cli.main(["reproduce", "thesis", "--out", str(tmp_path / "out"), "--results", str(results)])
    assert stopped.value.code == 0
    page = results.read_text()
    assert page.startswith("Before.\n<!-- begin: thesis -->\n## ")
    assert "### Table 5.5" in page
    assert "old" not in page.split()
    assert page.endswith("<!-- end: thesis -->\nAfter.\n")
