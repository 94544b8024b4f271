"""What compiled code has as a constant is part of what it is known by: no stale value comes from a cache."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from penstock.devices.auto import Auto, runner
from penstock.devices.kernel import kernel

WINDOW = np.array([0]), np.array([3])


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """A module of the user's, whose file says nothing of the value."""
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "user_settings.py"
    path.write_text("import os\nSCALE = float(os.environ['SCALE'])\n")
    module = ModuleType("user_settings")
    module.__file__ = str(path)
    monkeypatch.setitem(sys.modules, "user_settings", module)
    return module


def scaled(settings: Any) -> Any:
    space: dict[str, Any] = {"settings": settings, "__name__": "a_script"}
    exec("def scaled(x):\n    return x[0] * settings.SCALE\n", space)
    return kernel("found double")(space["scaled"])


def result(auto: Auto) -> float:
    return float(auto.run([np.array([1.0, 2.0, 3.0])], *WINDOW)[0].outputs[0][0])


def test_another_value_in_a_module_is_another_kernel(settings: Any) -> None:
    found = []
    for value in (2.0, 5.0):
        settings.SCALE = value
        found += [result(runner(scaled(settings), ("float64",), device=name)) for name in ("numba", "numpy")]
    assert found == [2.0, 2.0, 5.0, 5.0]


def test_a_global_that_changed_since_is_seen_when_the_kernel_is_used_again() -> None:
    space: dict[str, Any] = {"SCALE": 2.0, "__name__": "a_notebook"}
    exec("def scaled(x):\n    return x[0] * SCALE\n", space)
    same = kernel("found double")(space["scaled"])
    assert result(runner(same, ("float64",), device="numba")) == 2.0
    space["SCALE"] = 5.0
    assert result(runner(same, ("float64",), device="numba")) == 5.0


def test_a_global_inside_a_comprehension_is_found() -> None:
    space: dict[str, Any] = {"SCALE": 3.0, "__name__": "a_script"}
    exec("def total(x):\n    return sum([v * SCALE for v in x])\n", space)
    assert result(runner(kernel("found double")(space["total"]), ("float64",), device="numba")) == 18.0


def test_calls_without_windows_teach_nothing() -> None:
    auto = runner(kernel("first double", name="first")(lambda x: x[0]), ("float64",))
    none = np.empty(0, np.int64)
    for _ in range(50):
        results, ran = auto.run([np.ones(10)], none, none)
        assert len(results.outputs[0]) == 0
        assert (ran.work, ran.seconds) == (0, 0.0)
    assert not auto._measured


def test_a_kernel_that_takes_its_length_from_an_argument_is_measured_on_whole_windows() -> None:
    def last(x: Any, rows: int, scratch: Any) -> Any:
        for row in range(rows):
            scratch[row] = x[row]
        return scratch[rows - 1]

    rows = 4_000
    auto = runner(kernel("last double", scratch="rows")(last), ("float64",), (rows,))
    lo = np.arange(0, 600, 2)
    for _ in range(4):
        results, _ = auto.run([np.arange(5_000.0)], lo, lo + rows)
        assert results.outputs[0].tolist() == (lo + rows - 1.0).tolist()
