"""Segments into lanes, in whole numbers.

Each steep segment is prolonged to the last row and to the upper row of the region, in 1/16 pixel. Segments that come
close together in the last row belong to one marking. A marking has a left and a right edge, with different numbers of
segments: its lane is halfway between the mean of the segments left of their common mean and the mean of the others.
Weights are squared heights, since the error of a prolongation falls with the height of its segment.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.apps.lane.road import LAST_ROW

FAR_ROW = 180
"""The upper row of the region of interest."""
_APART_PX = 32
"""Segments that end further apart are of two markings."""
_LEAST_ROWS = 40
"""A marking has segments of so many rows together, at least."""
_UNIT = 16

Ints = NDArray[np.int64]


def lanes(segments: NDArray[np.int32]) -> Ints:
    """Lanes from the left to the right, of each the column in the last row and in `FAR_ROW`.

    Segments are rows of x1, y1, x2, y2 in the frame.

    >>> edges = np.array([[100, 359, 200, 180], [110, 359, 204, 180], [0, 300, 600, 310]], np.int32)
    >>> lanes(edges).tolist()
    [[105, 202]]
    """
    x1, y1, x2, y2 = segments.astype(np.int64).reshape(-1, 4).T
    steep = 2 * abs(y2 - y1) >= np.maximum(abs(x2 - x1), 2)
    x1, y1, x2, y2 = x1[steep], y1[steep], x2[steep], y2[steep]
    fall = y2 - y1
    near = x1 * _UNIT + (x2 - x1) * (LAST_ROW - y1) * _UNIT // fall
    far = x1 * _UNIT + (x2 - x1) * (FAR_ROW - y1) * _UNIT // fall
    order = np.lexsort((fall, far, near))
    near, far, rows = near[order], far[order], abs(fall[order])
    groups = np.split(np.arange(len(near)), np.flatnonzero(np.diff(near) > _APART_PX * _UNIT) + 1)
    found = [
        (_middle(near[group], rows[group]), _middle(far[group], rows[group]))
        for group in groups
        if rows[group].sum() >= _LEAST_ROWS
    ]
    return np.array(found, np.int64).reshape(-1, 2)


def matched(found: Ints, expected: Ints, within_px: int) -> int:
    """How many of the expected columns have a found one of their own; both go up from the left to the right.

    >>> matched(np.array([10, 12, 50]), np.array([11, 53, 80]), within_px=4)
    2
    """
    pairs = left = 0
    for column in expected.tolist():
        while left < len(found) and found[left] < column - within_px:
            left += 1
        if left < len(found) and found[left] <= column + within_px:
            pairs += 1
            left += 1
    return pairs


def _middle(columns: Ints, rows: Ints) -> int:
    """The middle between left and right edge, in whole pixels."""
    weights = rows * rows
    left = columns * weights.sum() <= (columns * weights).sum()
    sides = [side for side in (left, ~left) if side.any()]
    means = [int((columns[side] * weights[side]).sum() // weights[side].sum()) for side in sides]
    return (sum(means) + len(means) * _UNIT // 2) // (len(means) * _UNIT)
