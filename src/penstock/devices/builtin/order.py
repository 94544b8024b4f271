"""Kernels by rank: quantile and median absolute deviation, by Hoare's selection in scratch memory, about O(rows)."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.devices.kernel import ROWS, kernel


def quantile_of(x: Any, q: Any, scratch: Any) -> Any:
    """The q-quantile, q from 0 to 1, between two values by a straight line, as NumPy's default; else NaN.

    >>> float(quantile_of(np.array([4.0, 1.0, 3.0, 2.0]), 0.5, np.empty(4)))
    2.5
    """
    rows = x.shape[0]
    for row in range(rows):
        scratch[row] = x[row]
    return _quantile(scratch, rows, q)


def mad_of(x: Any, scratch: Any) -> Any:
    """The median absolute deviation, `median |x - median x|`, not scaled.

    >>> float(mad_of(np.array([1, 1, 2, 2, 4, 6, 9]), np.empty(7)))
    1.0
    """
    rows = x.shape[0]
    for row in range(rows):
        scratch[row] = x[row]
    median = _quantile(scratch, rows, 0.5)
    for row in range(rows):
        scratch[row] = abs(x[row] - median)
    return _quantile(scratch, rows, 0.5)


def _quantile(values: Any, rows: Any, q: Any) -> Any:
    if rows == 0 or not 0.0 <= q <= 1.0:
        return np.nan
    for row in range(rows):
        if values[row] != values[row]:
            return np.nan
    place = q * (rows - 1.0)
    rank = int(place)
    lower = _select(values, rows, rank)
    if rank == rows - 1 or place == rank:
        return lower
    upper = values[rank + 1]
    for row in range(rank + 2, rows):
        upper = min(upper, values[row])
    return lower + (upper - lower) * (place - rank)


def _select(values: Any, rows: Any, rank: Any) -> Any:
    """The value of this rank; smaller ones end before it, larger ones behind (Hoare 1961)."""
    low = 0
    high = rows - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i = low
        j = high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while pivot < values[j]:
                j -= 1
            if i <= j:
                kept = values[i]
                values[i] = values[j]
                values[j] = kept
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            break
    return values[rank]


quantile = kernel("quantile double", scratch=ROWS, name="quantile")(quantile_of)
mad = kernel("mad double", scratch=ROWS, name="mad")(mad_of)
