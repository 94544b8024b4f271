"""Kernels with columns and arguments to run them on, for the tests of all devices; on `cuda` as a program.

`python device_cases.py` prints one line a kernel, "name equal", for `cuda` against `numpy`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import kernels
from penstock.apps.gasser.kernels import FORECAST, PLACE_DRONES
from penstock.devices.device import Array, Results, Rows
from penstock.devices.kernel import Kernel, kernel
from penstock.devices.registry import device


def half(value: Any) -> Any:
    return value / 2


@kernel("weighted double, rows bigint")
def weighted(x: Any, y: Any, weights: Any, scale: Any) -> Any:
    """Integers and doubles, an array and a number as arguments, a helper, two types of output."""
    total = 0.0
    for row in range(x.shape[0]):
        total += half(x[row]) * y[row] * weights[row % weights.shape[0]]
    return total * scale, x.shape[0]


@dataclass(frozen=True)
class Case:
    kernel: Kernel
    dtypes: tuple[str, ...]
    args: tuple[Any, ...] = ()

    @property
    def name(self) -> str:
        return self.kernel.name


CASES = [
    Case(kernels.sum, ("float64",)),
    Case(kernels.mean, ("int64",)),
    Case(kernels.min, ("float64",)),
    Case(kernels.max, ("int64",)),
    Case(kernels.variance, ("float64",)),
    Case(kernels.quantile, ("float64",), (0.9,)),
    Case(kernels.mad, ("float64",)),
    Case(kernels.linear_regression, ("int64", "float64")),
    Case(kernels.polynomial_regression, ("float64", "float64")),
    Case(kernels.kmeans(clusters=3, iterations=2), ("float64", "float64")),
    Case(FORECAST, ("float64",)),
    Case(PLACE_DRONES, ("float64", "float64")),
    Case(weighted, ("int64", "float64"), (np.array([1.0, 2.0, 4.0]), 0.5)),
]


def columns_of(case: Case, rows: int) -> list[Array]:
    rng = np.random.default_rng(7)
    return [rng.uniform(-50, 150, rows).astype(dtype) for dtype in case.dtypes]


def run(name: str, case: Case, columns: list[Array], lo: Rows, hi: Rows) -> Results:
    return device(name).load(case.kernel, case.dtypes, case.args)(columns, lo, hi)


def same(a: Results, b: Results) -> bool:
    pairs = zip([*a.outputs, a.failed], [*b.outputs, b.failed], strict=True)
    return all(x.dtype == y.dtype and np.array_equal(x, y, equal_nan=x.dtype.kind == "f") for x, y in pairs)


if __name__ == "__main__":
    lo = np.array([0, 3, 6, 9, 2])
    hi = np.array([12, 15, 6 + 4, 24, 14])
    for case in CASES:
        columns = columns_of(case, 24)
        print(case.name, same(run("cuda", case, columns, lo, hi), run("numpy", case, columns, lo, hi)))
