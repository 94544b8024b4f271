"""The map: a smooth, seeded height field in integers, the same on every machine.

Value noise in octaves: random heights on a lattice, interpolated with a smoothstep in fixed point, halved in
amplitude and lattice spacing from octave to octave. The map wraps around: coordinates are masked with `side - 1`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BadInputError
from penstock.workloads.workload import hashed

SIDE = 1024
MAP_SEED = 1
_SPACINGS = (256, 128, 64, 32, 16, 8)
_ONE = 256  # 1.0 in the fixed point of the interpolation


@lru_cache(maxsize=2)
def terrain(seed: int = MAP_SEED, side: int = SIDE) -> NDArray[np.int32]:
    """Heights 0..4095 of a `side` x `side` map, indexed [y, x]; read-only, built once a process.

    It takes some ten milliseconds, so workers rebuild it instead of receiving it.

    >>> heights = terrain(seed=7, side=256)
    >>> heights.shape, heights.dtype.name, bool(heights.min() >= 0), bool(heights.max() < 4096)
    ((256, 256), 'int32', True, True)
    """
    if side < _SPACINGS[0] or side & (side - 1):
        raise BadInputError("side", side, "coordinates wrap by masks", f"give a power of two >= {_SPACINGS[0]}")
    heights = np.zeros((side, side), dtype=np.int32)
    for octave, spacing in enumerate(_SPACINGS):
        heights += _octave(seed, octave, side, spacing) >> (5 + octave)
    heights.setflags(write=False)
    return heights


def _octave(seed: int, octave: int, side: int, spacing: int) -> NDArray[np.int32]:
    points = side // spacing
    lattice = (hashed(np.arange(points * points), seed, octave) >> np.uint64(48)).astype(np.int32)
    along_x = _interpolated(lattice.reshape(points, points), spacing)
    return _interpolated(along_x.T, spacing).T


def _interpolated(rows: NDArray[np.int32], spacing: int) -> NDArray[np.int32]:
    """Each row stretched by `spacing`, wrapping at its end; 16-bit values times 8-bit weights fit in 32 bits."""
    step = np.arange(spacing, dtype=np.int32) * _ONE // spacing
    weight = ((step * step * (3 * _ONE - 2 * step)) >> 16).astype(np.int32)
    here, following = rows[:, :, None], np.roll(rows, -1, axis=1)[:, :, None]
    mixed = (here * (_ONE - weight) + following * weight) >> 8
    return np.ascontiguousarray(mixed.reshape(rows.shape[0], -1))
