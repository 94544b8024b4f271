"""The items: drones, each with 32 coordinates to look from and 16 units to place; a pure function of (seed, id)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.apps.military.terrain import SIDE
from penstock.apps.military.units import NAMES
from penstock.errors import BadInputError
from penstock.patterns.base import FloatArray
from penstock.workloads.workload import Columns, hashed

COORDINATES = 32
UNITS = 16
ROTATIONS = 4
WIDEST = SIDE // 2
ITEM_DDL = "id bigint, width int, coordinates binary, units binary"

_COORDINATE_STREAM = 101
_UNIT_STREAM = 102


def items(indices: NDArray[np.int64], costs: FloatArray, seed: int) -> Columns:
    """The columns of items: a cost of c is a square of about c cells, so its width is round(sqrt(c)).

    Binary columns are 2-D arrays of bytes, a row an item: 32 coordinates packed as y * SIDE + x in 4 bytes each,
    and 16 unit types in one byte each. In Arrow that is one buffer, copied whole; lists of integers took twice as
    long through Spark.

    >>> columns = items(np.arange(2), np.array([256.0, 7744.0]), seed=1)
    >>> columns["width"].tolist(), columns["coordinates"].shape, columns["units"].shape
    ([16, 88], (2, 128), (2, 16))
    """
    widths = np.rint(np.sqrt(costs)).astype(np.int32)
    if widths.size and not (widths.min() >= 1 and widths.max() <= WIDEST):
        wrong = float(costs.min() if widths.min() < 1 else costs.max())
        raise BadInputError("cost", wrong, "a cost is the cells of a square", f"stay within 1..{WIDEST**2}")
    # One hash gives two coordinates, which use the low 20 bits of its halves.
    pairs = indices[:, None] * (COORDINATES // 2) + np.arange(COORDINATES // 2)
    random = hashed(pairs.ravel(), seed, _COORDINATE_STREAM)
    coordinates = np.stack((random, random >> np.uint64(32)), axis=1) & np.uint64(SIDE * SIDE - 1)
    shifts = np.arange(UNITS, dtype=np.uint64) * np.uint64(4)
    units = (hashed(indices, seed, _UNIT_STREAM)[:, None] >> shifts) & np.uint64(len(NAMES) - 1)
    return {
        "id": indices,
        "width": widths,
        "coordinates": coordinates.astype("<i4").reshape(len(indices), COORDINATES).view(np.uint8),
        "units": units.astype(np.uint8),
    }


def cells(widths: NDArray[np.int32]) -> NDArray[np.int64]:
    """How many cells of the map the drones of these widths look at.

    >>> cells(np.array([16, 88])).tolist()
    [32768, 991232]
    """
    return COORDINATES * ROTATIONS * widths.astype(np.int64) ** 2
