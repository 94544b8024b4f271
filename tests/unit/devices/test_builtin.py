"""The built-in kernels against NumPy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import kernels
from penstock.devices.device import Array
from penstock.devices.kernel import ROWS, Kernel
from penstock.errors import BadInputError

finite = st.floats(-1e6, 1e6)
columns = st.lists(finite, min_size=3, max_size=50).map(np.array)


def call(kernel: Kernel, *columns: Array, args: tuple[Any, ...] = ()) -> Any:
    scratch = len(columns[0]) if kernel.scratch == ROWS else kernel.scratch
    with np.errstate(all="ignore"):
        return kernel(*columns, *args, *([np.empty(scratch)] if kernel.scratch else []))


@given(column=columns)
def test_sum_is_that_of_106_bits_rounded_once(column: Array) -> None:
    exact = sum(map(Fraction, column.tolist()))
    found = float(call(kernels.sum, column))
    beyond_106_bits = len(column) ** 2 * sum(map(abs, map(Fraction, column.tolist()))) / 2**106
    assert abs(Fraction(found) - exact) <= Fraction(math.ulp(found)) / 2 + beyond_106_bits
    assert call(kernels.mean, column) == found / len(column)


@given(column=columns)
def test_minimum_and_maximum(column: Array) -> None:
    assert (call(kernels.min, column), call(kernels.max, column)) == (column.min(), column.max())


@given(column=columns)
def test_variance(column: Array) -> None:
    scale = float(np.abs(column).max()) ** 2
    assert call(kernels.variance, column) == pytest.approx(np.var(column, ddof=1), rel=1e-9, abs=1e-15 * scale)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e9 + 0.1, 0.0])
def test_equal_values_have_no_variance(value: float) -> None:
    assert call(kernels.variance, np.full(999, value)) == 0.0


@given(column=columns, q=st.floats(0, 1))
def test_quantile(column: Array, q: float) -> None:
    assert call(kernels.quantile, column, args=(q,)) == pytest.approx(np.quantile(column, q), rel=1e-9, abs=1e-9)


@given(column=columns)
def test_median_absolute_deviation(column: Array) -> None:
    truth = np.median(np.abs(column - np.median(column)))
    assert call(kernels.mad, column) == pytest.approx(truth, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_regressions_find_what_made_the_points(offset: float) -> None:
    x = offset + np.arange(100.0)
    slope, intercept = call(kernels.linear_regression, x, 3.0 * (x - offset) - 7.0)
    assert slope == pytest.approx(3.0, rel=1e-12)
    assert intercept == pytest.approx(-7.0 - 3.0 * offset, rel=1e-12)
    u = x - offset
    c0, c1, c2 = call(kernels.polynomial_regression, x, 5.0 - 2.0 * u + 0.5 * u * u)
    assert c2 == pytest.approx(0.5, rel=1e-9)
    assert c0 + c1 * x[50] + c2 * x[50] ** 2 == pytest.approx(5.0 - 100.0 + 1250.0, rel=1e-6, abs=1e-17 * offset**2)


@given(points=st.lists(st.tuples(st.integers(-100, 100), finite), min_size=4, max_size=40))
def test_regressions_agree_with_least_squares_of_numpy(points: list[tuple[int, float]]) -> None:
    x, y = (np.array(values, dtype=float) for values in zip(*points, strict=True))
    scale = float(np.abs(y).max()) + 1.0
    for degree, each in ((1, kernels.linear_regression), (2, kernels.polynomial_regression)):
        found = np.array(call(each, x, y))[:: -1 if degree == 2 else 1]
        if len(set(x)) <= degree:
            assert np.isnan(found).all()
        else:
            assert np.polyval(found, x) == pytest.approx(np.polyval(np.polyfit(x, y, degree), x), abs=1e-6 * scale)


def test_kmeans_finds_the_clusters() -> None:
    rng = np.random.default_rng(1)
    centres = np.array([[0.0, 0.0], [100.0, 0.0], [0.0, 100.0]])
    points = np.repeat(centres, 30, axis=0) + rng.normal(0, 1, (90, 2))
    *found, spread = call(kernels.kmeans(clusters=3), points[:, 0], points[:, 1])
    assert np.array(found).reshape(3, 2) == pytest.approx(centres, abs=1.0)
    assert spread == pytest.approx(2.0, rel=0.5)


ONE_COLUMN = [kernels.mean, kernels.min, kernels.max, kernels.variance, kernels.mad]
TWO_COLUMNS = [kernels.linear_regression, kernels.polynomial_regression]


@pytest.mark.parametrize("kernel", [*ONE_COLUMN, *TWO_COLUMNS], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize(
    "column", [[], [1.0, math.nan, 3.0, 7.0], [math.nan, 1.0, 2.0, 5.0], [5.0, 1.0, 3.0, math.nan]]
)
def test_no_rows_and_nan_give_nan(kernel: Kernel, column: list[float]) -> None:
    given = [np.array(column), np.arange(len(column)) * 1.0]
    found = call(kernel, *given[: 1 if kernel in ONE_COLUMN else 2])
    assert np.isnan(found).all()


def test_the_sum_of_nothing_is_0_and_of_infinity_infinite() -> None:
    assert call(kernels.sum, np.zeros(0)) == 0.0
    assert call(kernels.sum, np.array([1.0, math.inf, 2.0])) == math.inf
    assert math.isnan(call(kernels.sum, np.array([1.0, math.nan, 2.0])))


def test_a_quantile_outside_of_0_to_1_is_nan() -> None:
    assert math.isnan(call(kernels.quantile, np.arange(3.0), args=(1.5,)))


@pytest.mark.parametrize(("clusters", "iterations", "field"), [(0, 5, "clusters"), (2, 0, "iterations")])
def test_kmeans_refuses_what_cannot_be_found(clusters: int, iterations: int, field: str) -> None:
    with pytest.raises(BadInputError, match=field):
        kernels.kmeans(clusters, iterations)
