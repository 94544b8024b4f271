"""The cells of the published evaluation: their numbers, and the cache that outlives a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.reproduce.thesis import cells as cells_module
from penstock.reproduce.thesis.cells import FILE, PARTS, numbers_of, read_cells, run_cells
from penstock.reproduce.thesis.grid import THRESHOLDS, Cell, Config
from penstock.sim import kernel
from penstock.sim.run import simulate

KILLED = """
import sys
from pathlib import Path
from penstock.reproduce.thesis.cells import run_cells
from penstock.reproduce.thesis.grid import Cell, Config
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


def quiet(done: int, of: int) -> None:
    """Say nothing of progress."""


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
