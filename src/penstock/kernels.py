"""Kernels that are there already: `from penstock import kernels`, then `kernels.mean`.

`quantile` takes its q as an argument (`args=(0.95,)`). `linear_regression` and `polynomial_regression` take columns x
and y, and `kmeans(clusters, iterations)` makes a kernel of x and y. What each does with NaN and with no rows is said in
`penstock.devices.builtin`.
"""

from __future__ import annotations

from penstock.devices.builtin.aggregates import linear_regression, mean, variance
from penstock.devices.builtin.aggregates import max_kernel as max
from penstock.devices.builtin.aggregates import min_kernel as min
from penstock.devices.builtin.aggregates import sum_kernel as sum
from penstock.devices.builtin.fits import kmeans, polynomial_regression
from penstock.devices.builtin.order import mad, quantile

__all__ = [
    "kmeans",
    "linear_regression",
    "mad",
    "max",
    "mean",
    "min",
    "polynomial_regression",
    "quantile",
    "sum",
    "variance",
]
