"""A kernel that came to another process by value is loaded there from disk, and not compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.devices import disk_cache
from penstock.devices.device import _remembered
from penstock.devices.kernel import Aggregate, Kernel, kernel
from penstock.devices.registry import device

LO = np.arange(0, 60, 2)
WORKER = """
import sys, pickle, numpy as np
from numba.core import event
from penstock.devices.registry import device

kernel = pickle.loads(open(sys.argv[1], "rb").read())
with event.install_recorder("numba:compile") as compiled:
    program = device("numba").load(kernel, ("float64",), (2.0,))
    results = program([np.arange(100.0)], np.arange(0, 60, 2), np.arange(0, 60, 2) + 40)
print(len(compiled.buffer), results.outputs[0].sum())
"""


def make_kernel(factor: float) -> Kernel:
    """A kernel with a helper and a value from around it, which no other process can import."""

    def scaled(value: Any) -> Any:
        return factor * value

    def total(x: Any, by: Any) -> Any:
        found = 0.0
        for row in range(x.shape[0]):
            found += scaled(x[row])
        return found * by

    aggregate = Aggregate(
        lambda x, by: (scaled(x),), lambda a, b: (a[0] + b[0],), lambda a, rows, by: a[0] * by, width=1
    )
    return kernel("total double", aggregate=aggregate)(total)


def run_here(made: Kernel) -> float:
    _remembered.clear()
    results = device("numba").load(made, ("float64",), (2.0,))([np.arange(100.0)], LO, LO + 40)
    return float(results.outputs[0].sum())


def run_elsewhere(made: Kernel, folder: Path) -> tuple[int, float]:
    """How often Numba compiled there, and the total."""
    from pyspark import cloudpickle

    (folder / "kernel").write_bytes(cloudpickle.dumps(made))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    program = [sys.executable, "-c", WORKER, str(folder / "kernel")]
    done = subprocess.run(program, capture_output=True, text=True, env=environment, timeout=120, check=True)
    compiled, total = done.stdout.split()
    return int(compiled), float(total)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kernels"


def test_a_worker_loads_what_the_driver_has_compiled(cache: Path, tmp_path: Path) -> None:
    made = make_kernel(0.5)
    expected = run_here(made)
    assert run_elsewhere(made, tmp_path) == (0, expected)
    assert len(list(cache.iterdir())) == 2


def test_a_worker_compiles_what_nobody_has_compiled(cache: Path, tmp_path: Path) -> None:
    compiled, total = run_elsewhere(make_kernel(0.25), tmp_path)
    assert compiled > 0
    assert total == run_here(make_kernel(0.25))


def test_kernels_that_differ_in_a_value_around_them_are_different(cache: Path) -> None:
    assert run_here(make_kernel(3.0)) == 3 * run_here(make_kernel(1.0))
    assert make_kernel(3.0).fingerprint == make_kernel(3.0).fingerprint


def test_a_fingerprint_travels_with_its_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker gets the kernel anew for every task, and some fingerprints are other ones in every process."""
    from pyspark import cloudpickle

    made = make_kernel(0.5)
    before, sent = made.fingerprint, cloudpickle.dumps(made)
    monkeypatch.setattr("penstock.devices.kernel.fingerprint", lambda *parts: "computed again")
    assert cloudpickle.loads(sent).fingerprint == before != "computed again"


def test_a_damaged_file_is_compiled_anew_and_replaced(cache: Path, tmp_path: Path) -> None:
    made = make_kernel(0.75)
    expected = run_here(made)
    for file in cache.rglob("*.nb?"):
        file.write_bytes(b"damaged")
    assert run_here(made) == expected
    assert run_here(made) == expected
    assert run_elsewhere(made, tmp_path) == (0, expected)


def test_a_folder_that_cannot_be_written_to_costs_only_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "file"))
    assert run_here(make_kernel(1.0)) == 2.0 * sum(sum(range(start, start + 40)) for start in range(0, 60, 2))
    assert (tmp_path / "file").read_text() == "not a folder"


def test_the_kernels_that_were_not_used_for_longest_are_dropped(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "MOST_KERNELS", 3)
    for age, name in enumerate(["d", "c", "b", "a"]):
        (cache / name).mkdir(parents=True)
        os.utime(cache / name, (1_000_000 - age, 1_000_000 - age))
    disk_cache.touch("<penstock-kernel-b>")
    assert sorted(each.name for each in cache.iterdir()) == ["b", "c", "d"]
