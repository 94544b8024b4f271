"""Every kernel gives the same bits on every device of a CPU, and on a simulated GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from device_cases import CASES, Case, columns_of, run, same

COMPILED = ["numba", "numba-parallel"]
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
each_device = pytest.mark.parametrize("device", COMPILED)


@each_case
@each_device
def test_results_do_not_depend_on_the_device(case: Case, device: str) -> None:
    columns = columns_of(case, 400)
    lo = np.arange(0, 300, 5)
    # Sharing much (the incremental form runs), sharing nothing, in any order and of any length.
    rng = np.random.default_rng(3)
    anywhere = rng.integers(0, 300, 20)
    for starts, ends in [(lo, lo + 100), (lo[::20], lo[::20] + 100), (anywhere, anywhere + rng.integers(4, 100, 20))]:
        assert same(run(device, case, columns, starts, ends), run("numpy", case, columns, starts, ends))


@each_case
@each_device
def test_no_windows_give_no_results(case: Case, device: str) -> None:
    none = np.zeros(0, np.int64)
    results = run(device, case, columns_of(case, 10), none, none)
    assert [len(output) for output in results.outputs] == [0] * len(case.kernel.outputs)
    assert len(results.failed) == 0


@each_device
def test_columns_may_be_strided_read_only_or_of_another_type(device: str) -> None:
    case = CASES[0]
    column = np.arange(40.0, dtype=np.float32)[::2]
    column.flags.writeable = False
    results = run(device, case, [column], np.array([0, 5]), np.array([5, 20]))
    assert results.outputs[0].tolist() == [20.0, 360.0]


def test_a_simulated_gpu_gives_the_same() -> None:
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    program = [sys.executable, str(Path(__file__).parent / "device_cases.py")]
    done = subprocess.run(program, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:-1] == [f"{case.name} True" for case in CASES]
