"""Q1 and Q2 as one would write them with NumPy alone: for the loop in one process, and for Flink's workers.

Nothing else is imported, so that any Python with NumPy runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np


@lru_cache(maxsize=4)
def _fit(rows: int) -> Any:
    """What multiplies prices to give the coefficients of a cubic, and the powers at the next row."""
    u = (2.0 * np.arange(rows) - (rows - 1.0)) / rows
    solve = np.linalg.pinv(np.vander(u, 4, increasing=True))
    following = (rows + 1.0) / rows
    return following ** np.arange(4.0) @ solve


def forecast(price: Any) -> tuple[float, ...]:
    """The next price by a cubic, and the candlestick: with equal spacing the fit is one product of two vectors.

    >>> round(forecast(np.arange(8.0) ** 3)[0], 6)
    512.0
    """
    predicted = price[0] + (price - price[0]) @ _fit(len(price))
    return float(predicted), float(price[0]), float(price.max()), float(price.min()), float(price[-1])


def drones(x: Any, y: Any) -> tuple[float, ...]:
    """K-means of 4 centres in 5 iterations, a matrix of distances in each."""
    points = np.stack([x, y], axis=1)
    rows, drones = len(points), 4
    centres = points[[(2 * drone + 1) * rows // (2 * drones) for drone in range(drones)]].copy()
    spread = 0.0
    for _ in range(5):
        squares = (x[:, None] - centres[:, 0]) ** 2 + (y[:, None] - centres[:, 1]) ** 2
        nearest = squares.argmin(axis=1)
        spread = float(squares[np.arange(rows), nearest].mean())
        counts = np.bincount(nearest, minlength=drones)
        some = counts > 0
        for axis, values in enumerate((x, y)):
            sums = np.bincount(nearest, values, minlength=drones)
            centres[some, axis] = sums[some] / counts[some]
    return (*map(float, centres.ravel()), spread)


KERNELS: dict[str, Callable[..., tuple[float, ...]]] = {"q1": forecast, "q2": drones}
