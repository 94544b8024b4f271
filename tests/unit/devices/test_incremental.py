"""Windows that share rows, computed from each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import kernels
from penstock.devices import compiled
from penstock.devices.device import Rows
from penstock.devices.incremental import pays
from penstock.devices.kernel import Aggregate, Kernel, kernel
from penstock.devices.registry import device

COLUMN = np.random.default_rng(5).uniform(-10, 10, 120)


def _chain(x: Any) -> Any:
    """The rows as affine maps, v -> x v + 1, one after the other, from 0: order matters, and nothing can be undone."""
    value = 0
    for row in range(x.shape[0]):
        value = (x[row] * value + 1) % 1009
    return 1.0 * value


chain = kernel(
    "value double",
    name="chain",
    aggregate=Aggregate(
        lift=lambda x: (1.0 * x, 1.0),
        combine=lambda a, b: ((b[0] * a[0]) % 1009.0, (b[0] * a[1] + b[1]) % 1009.0),
        lower=lambda total, rows: total[1],
        width=2,
    ),
)(_chain)


@st.composite
def moving_windows(draw: st.DrawFn) -> tuple[Rows, Rows]:
    """Windows of any length that only move forward, some of them standing still."""
    count = draw(st.integers(1, 40))
    steps = st.lists(st.integers(0, 6), min_size=count, max_size=count)
    lo = np.cumsum(draw(steps)) % 60
    lo.sort()
    hi = np.maximum.accumulate(lo + 1 + np.array(draw(steps)) * draw(st.integers(0, 9)))
    return lo, np.minimum(hi, 120)


def _always(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("penstock.devices.incremental.LEAST_OVERLAP", 0)


def _used(patch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each call from now on was done incrementally."""
    used: list[bool] = []
    original = compiled.Incremental.__call__

    def spied(self: Any, *arguments: Any) -> bool:
        used.append(original(self, *arguments))
        return used[-1]

    patch.setattr(compiled.Incremental, "__call__", spied)
    return used


@settings(max_examples=60, deadline=None)
@given(windows=moving_windows())
def test_any_windows_that_move_forward_give_what_the_plain_function_gives(windows: tuple[Rows, Rows]) -> None:
    lo, hi = windows
    integers = (np.arange(120) * 7919) % 1009
    cases: list[tuple[Kernel, Any]] = [(chain, integers), (kernels.sum, COLUMN), (kernels.variance, COLUMN)]
    with pytest.MonkeyPatch.context() as patch:
        _always(patch)
        used = _used(patch)
        for each, column in cases:
            dtypes = (str(column.dtype),)
            found = device("numba").load(each, dtypes, ())([column], lo, hi)
            plain = device("numpy").load(each, dtypes, ())([column], lo, hi)
            assert np.array_equal(found.outputs[0], plain.outputs[0], equal_nan=True)
    assert used == [True] * len(cases)


@pytest.mark.parametrize(
    ("lo", "hi", "why"),
    [
        ([4, 2, 0], [40, 41, 42], "a start goes back"),
        ([0, 1, 2], [40, 39, 41], "an end goes back"),
        ([0, 1, 1], [40, 40, 1], "one is empty"),
        ([0, 10, 20], [12, 22, 32], "they share few rows"),
    ],
)
def test_other_windows_are_left_to_the_plain_function(lo: list[int], hi: list[int], why: str) -> None:
    assert not pays(np.array(lo), np.array(hi)), why


def test_windows_that_share_rows_are_computed_from_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    used = _used(monkeypatch)
    lo = np.arange(0, 80, 2)
    for name in ("numba", "numba-parallel", "numpy"):
        device(name).load(kernels.min, ("float64",), ())([COLUMN], lo, lo + 40)
    assert used == [True]


def test_sums_are_exact_in_any_order() -> None:
    """Plain addition would lose the small values, from another side in each form."""
    column = np.array([1e16, 1.0, -1e16, 3.0] * 30)
    lo = np.arange(0, 80, 4)
    found = device("numba").load(kernels.sum, ("float64",), ())([column], lo, lo + 40)
    assert found.outputs[0].tolist() == [40.0] * len(lo)


def test_a_row_that_raises_is_found_by_the_plain_function(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(x: Any) -> Any:
        if x < 0:
            raise ValueError("below 0")
        return (1.0 * x,)

    def total(x: Any) -> Any:
        found = 0.0
        for row in range(x.shape[0]):
            found += refuse(x[row])[0]
        return found

    def combine(a: Any, b: Any) -> Any:
        return (a[0] + b[0],)

    def lower(a: Any, rows: Any) -> Any:
        return a[0]

    used = _used(monkeypatch)
    picky = kernel("total double", aggregate=Aggregate(refuse, combine, lower, 1))(total)
    column = np.ones(200)
    column[150] = -1.0
    lo = np.arange(0, 160, 4)
    results = device("numba").load(picky, ("float64",), ())([column], lo, lo + 40)
    assert used == [False]
    assert results.failed.tolist() == [start <= 150 < start + 40 for start in lo.tolist()]
    assert np.isnan(results.outputs[0]).tolist() == results.failed.tolist()
