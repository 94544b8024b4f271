"""Kernels with an incremental form: sum, mean, minimum, maximum, variance, linear regression.

Where windows share rows, `numba` computes them from what it has of the window before; the results are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.devices.builtin.exact import add, cross, rounded, two_product
from penstock.devices.kernel import Aggregate, kernel

# Rows that a deviation needs.
_TWO = 2


def sum_of(x: Any) -> Any:
    """The sum, as of 106 bits rounded once (see `exact`); 0 of no rows.

    >>> float(sum_of(np.array([1e16, 1.0, -1e16])))
    1.0
    """
    return rounded(_summed(x))


def mean_of(x: Any) -> Any:
    """The arithmetic mean.

    >>> float(mean_of(np.array([1, 2, 6])))
    3.0
    """
    return _mean(_summed(x), x.shape[0])


def min_of(x: Any) -> Any:
    """The smallest value.

    >>> float(min_of(np.array([2.0, 1.0, 3.0]))), float(min_of(np.array([2.0, np.nan, 3.0])))
    (1.0, nan)
    """
    least = (np.inf if x.shape[0] else np.nan,)
    for row in range(x.shape[0]):
        least = _smaller(least, _alone(x[row]))
    return least[0]


def max_of(x: Any) -> Any:
    """The largest value.

    >>> float(max_of(np.array([2, 1, 3])))
    3.0
    """
    most = (-np.inf if x.shape[0] else np.nan,)
    for row in range(x.shape[0]):
        most = _larger(most, _alone(x[row]))
    return most[0]


def variance_of(x: Any) -> Any:
    """The variance of a sample, `Σ(x - mean)² / (n - 1)`, as `variance` in Spark; NaN of fewer than two rows.

    From the sums of x and x², carried with 106 bits: right to the last digits while the mean is below 10^6 deviations,
    and 0 where the deviation is below 10^-12 of the mean. Values beyond 10^150 overflow.

    >>> float(variance_of(np.array([1e6 + 1, 1e6 + 2, 1e6 + 3])))
    1.0
    """
    total = (0.0, 0.0, 0.0, 0.0)
    for row in range(x.shape[0]):
        total = _add_squares(total, _squares(x[row]))
    return _variance(total, x.shape[0])


def linear_regression_of(x: Any, y: Any) -> Any:
    """Slope and intercept of the line `y = slope x + intercept` by least squares; NaN where all x are equal.

    `slope = (n Σxy - Σx Σy) / (n Σx² - (Σx)²)`, from sums with 106 bits, so that x may be large, as times are.

    >>> [float(value) for value in linear_regression_of(np.array([1e9, 1e9 + 1, 1e9 + 2]), np.array([1.0, 3.0, 5.0]))]
    [2.0, -1999999999.0]
    """
    total = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for row in range(x.shape[0]):
        total = _add_products(total, _products(x[row], y[row]))
    return _line(total, x.shape[0])


def _summed(x: Any) -> Any:
    total = (0.0, 0.0)
    for row in range(x.shape[0]):
        total = add(total, _one(x[row]))
    return total


def _one(x: Any) -> Any:
    return 1.0 * x, 0.0


def _sum(total: Any, rows: Any) -> Any:
    return rounded(total)


def _mean(total: Any, rows: Any) -> Any:
    return rounded(total) / rows if rows else np.nan


def _alone(x: Any) -> Any:
    return (1.0 * x,)


def _smaller(a: Any, b: Any) -> Any:
    return b if b[0] < a[0] or b[0] != b[0] else a


def _larger(a: Any, b: Any) -> Any:
    return b if b[0] > a[0] or b[0] != b[0] else a


def _itself(found: Any, rows: Any) -> Any:
    return found[0]


def _squares(x: Any) -> Any:
    square, error = two_product(1.0 * x, 1.0 * x)
    return 1.0 * x, 0.0, square, error


def _add_squares(a: Any, b: Any) -> Any:
    return add(a[:2], b[:2]) + add(a[2:], b[2:])


def _variance(total: Any, rows: Any) -> Any:
    if rows < _TWO:
        return np.nan
    return max(cross(rows, total[2:], total[:2], total[:2]), 0.0) / (1.0 * rows * (rows - 1.0))


def _products(x: Any, y: Any) -> Any:
    return (1.0 * x, 0.0, 1.0 * y, 0.0, *two_product(1.0 * x, 1.0 * x), *two_product(1.0 * x, 1.0 * y))


def _add_products(a: Any, b: Any) -> Any:
    return add(a[:2], b[:2]) + add(a[2:4], b[2:4]) + add(a[4:6], b[4:6]) + add(a[6:], b[6:])


def _line(total: Any, rows: Any) -> Any:
    x, y = total[:2], total[2:4]
    spread = cross(rows, total[4:6], x, x)
    if rows < _TWO or not spread > 0.0:
        return np.nan, np.nan
    slope = cross(rows, total[6:], x, y) / spread
    return slope, (rounded(y) - slope * rounded(x)) / rows


sum_kernel = kernel("sum double", aggregate=Aggregate(_one, add, _sum, 2), name="sum")(sum_of)
mean = kernel("mean double", aggregate=Aggregate(_one, add, _mean, 2), name="mean")(mean_of)
min_kernel = kernel("min double", aggregate=Aggregate(_alone, _smaller, _itself, 1), name="min")(min_of)
max_kernel = kernel("max double", aggregate=Aggregate(_alone, _larger, _itself, 1), name="max")(max_of)
variance = kernel("variance double", aggregate=Aggregate(_squares, _add_squares, _variance, 4), name="variance")(
    variance_of
)
linear_regression = kernel(
    "slope double, intercept double",
    aggregate=Aggregate(_products, _add_products, _line, 8),
    name="linear_regression",
)(linear_regression_of)
