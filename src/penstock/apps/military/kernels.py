"""The three kernels, compiled with Numba: explore (B), choose (C), validate (D).

Integers only, so that a result is the same bits on any machine and for any way of cutting the stream in batches.
Arrays are one row an item. Tables come as arguments: Numba's cache would not notice a change of another file.
Importing this module needs Numba and not Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from penstock.errors import MissingExtraError

try:
    import numba
except ImportError as error:
    raise MissingExtraError("numba", "spark") from error

P = ParamSpec("P")
R = TypeVar("R")

_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_INCREMENT = np.uint64(0x9E3779B97F4A7C15)


def _compiled(function: Callable[P, R]) -> Callable[P, R]:
    return cast(Callable[P, R], numba.njit(cache=True, nogil=True)(function))


@_compiled
def explore(
    heights: NDArray[np.int32], widths: NDArray[np.int32], coordinates: NDArray[np.int32], features: NDArray[np.int32]
) -> None:
    """Stage B, map: what the drone sees from each coordinate, in four rotations of the square in front of it.

    Writes mean height, relief (highest - lowest), roughness (mean of 16 x the step between neighbours) and exposure
    (highest - lowest mean of the four rotations) of each coordinate into `features` [item, coordinate, 4].
    A coordinate is packed as y * side + x. The cost is 4 * w * w cells a coordinate.
    """
    side = heights.shape[0]
    mask = side - 1
    for item in range(widths.shape[0]):
        w = np.int64(widths[item])
        cells = w * w
        for point in range(coordinates.shape[1]):
            y = coordinates[item, point] // side
            x = coordinates[item, point] & mask
            total = np.int64(0)
            steps = np.int64(0)
            lowest = np.int32(2**30)
            highest = np.int32(-1)
            lowest_mean = np.int64(2**30)
            highest_mean = np.int64(-1)
            for rotation in range(4):
                # North, east, south, west: the square touches the coordinate with the middle of one edge.
                top = y - w if rotation == 0 else (y + 1 if rotation == 2 else y - w // 2)
                left = x - w if rotation == 3 else (x + 1 if rotation == 1 else x - w // 2)
                seen = np.int64(0)
                for row in range(top, top + w):
                    line = heights[row & mask]
                    before = line[left & mask]
                    for column in range(left, left + w):
                        height = line[column & mask]
                        seen += height
                        steps += abs(height - before)
                        lowest = min(lowest, height)
                        highest = max(highest, height)
                        before = height
                total += seen
                lowest_mean = min(lowest_mean, seen // cells)
                highest_mean = max(highest_mean, seen // cells)
            features[item, point, 0] = total // (4 * cells)
            features[item, point, 1] = highest - lowest
            features[item, point, 2] = 16 * steps // (4 * cells)
            features[item, point, 3] = highest_mean - lowest_mean


@_compiled
def choose(
    features: NDArray[np.int32],
    units: NDArray[np.uint8],
    wanted: NDArray[np.int32],
    weights: NDArray[np.int32],
    choices: NDArray[np.uint8],
) -> None:
    """Stage C, map-reduce: the best coordinate for each unit; the lowest score, ties to the lowest index.

    The score is the weighted distance of a coordinate's features from what the unit's type wants.
    Writes the coordinate's index into `choices` [item, unit].
    """
    for item in range(units.shape[0]):
        for unit in range(units.shape[1]):
            kind = units[item, unit]
            best = np.int64(2**62)
            for point in range(features.shape[1]):
                score = np.int64(0)
                for feature in range(features.shape[2]):
                    score += weights[kind, feature] * abs(features[item, point, feature] - wanted[kind, feature])
                if score < best:
                    best = score
                    choices[item, unit] = point


@_compiled
def validate(
    ids: NDArray[np.int64],
    coordinates: NDArray[np.int32],
    units: NDArray[np.uint8],
    features: NDArray[np.int32],
    choices: NDArray[np.uint8],
    limits: NDArray[np.int32],
    places: NDArray[np.int32],
    valid: NDArray[np.bool_],
    hashes: NDArray[np.uint64],
) -> None:
    """Stage D, reduce: checks an item's choices, and one 64-bit hash of them.

    An item is valid when every unit stands on ground its type can bear (relief and roughness within its limits) and
    the units are spread over at least two coordinates. The hash depends on the id, on every chosen coordinate and
    its features, and on the verdict. Writes the chosen coordinates, packed, into `places` [item, unit].
    """
    for item in range(ids.shape[0]):
        bearable = True
        chosen = np.uint64(0)
        value = _mixed(np.uint64(ids[item]))
        for unit in range(units.shape[1]):
            kind = units[item, unit]
            point = choices[item, unit]
            places[item, unit] = coordinates[item, point]
            bearable &= features[item, point, 1] <= limits[kind, 0] and features[item, point, 2] <= limits[kind, 1]
            chosen |= np.uint64(1) << np.uint64(point)
            value = _mixed(value ^ np.uint64(places[item, unit]))
            for feature in range(features.shape[2]):
                value = _mixed(value ^ np.uint64(features[item, point, feature]))
        spread = chosen & (chosen - np.uint64(1)) != np.uint64(0)
        valid[item] = bearable and spread
        hashes[item] = _mixed(value ^ np.uint64(valid[item]))


@_compiled
def _mixed(value: np.uint64) -> np.uint64:
    value = value + _INCREMENT
    value = (value ^ (value >> np.uint64(30))) * _MIX_1
    value = (value ^ (value >> np.uint64(27))) * _MIX_2
    return value ^ (value >> np.uint64(31))
