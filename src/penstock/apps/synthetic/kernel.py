"""Units of work: an invertible 64-bit map 1,000 steps forward and 1,000 back, so that the result is the input.

A step is x' = rotl(a x + c mod 2**64, 29), the step back x = (rotr(x', 29) - c) / a with the inverse of odd a. The
result therefore depends on no calibration, yet comes out only if every step was taken. Each step needs the one before
it, so a processor cannot hurry them. Importing this module needs Numba and not Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
from numpy.typing import NDArray

from penstock.errors import MissingExtraError

try:
    import numba
except ImportError as error:
    raise MissingExtraError("numba", "spark") from error

STEPS = 1000
_FACTOR = np.uint64(0xD1342543DE82EF95)
_BACK = np.uint64(pow(0xD1342543DE82EF95, -1, 2**64))
_ADDED = np.uint64(0x9E3779B97F4A7C15)
_LEFT, _RIGHT = np.uint64(29), np.uint64(35)


def _worked(values: NDArray[np.uint64], units: NDArray[np.int64]) -> NDArray[np.uint64]:
    done = np.empty_like(values)
    for item in range(len(values)):
        x = values[item]
        for _ in range(units[item]):
            for _ in range(STEPS):
                x = x * _FACTOR + _ADDED
                x = (x << _LEFT) | (x >> _RIGHT)
            for _ in range(STEPS):
                x = (x >> _LEFT) | (x << _RIGHT)
                x = (x - _ADDED) * _BACK
        done[item] = x
    return done


worked = cast(
    Callable[[NDArray[np.uint64], NDArray[np.int64]], NDArray[np.uint64]],
    numba.njit(cache=True, nogil=True)(_worked),
)
"""Each value after its number of units: the value itself."""
