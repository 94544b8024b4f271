"""Smooth random paths: where something is at moment i is a pure function of (seed, its number, i), in integers.

Value noise in octaves: random heights at every `spacing`-th moment, joined by a smoothstep in fixed point. An octave
has 16 times the moments and 4 times the height of the one before, as a random walk has. No state goes from one moment
to the next, so that any slice of a stream can be made anywhere, and integers are the same on every machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.patterns.hashing import hashed

OCTAVES = 4
# The heights of an octave have 16 bits; three further ones add a quarter, a sixteenth and a 64th of it.
HIGHEST = 2**15 + 2**13 + 2**11 + 2**9
_FINER_BITS = 4
# Positions between two heights, in fixed point: 1.0 is 2**12.
_WEIGHT_BITS = 12
_ONE = 1 << _WEIGHT_BITS
# Walkers of one octave have numbers of their own: moments stay below 2**40 spacings.
_MOMENT_BITS = 40


def wander(
    walkers: NDArray[np.int64], moments: NDArray[np.int64], spacing_bits: int, seed: int, stream: int
) -> NDArray[np.int64]:
    """The heights of walkers at moments, within ±HIGHEST; the slowest octave has 2**spacing_bits moments.

    `stream` and the three numbers after it name the random numbers, one for each octave.

    >>> path = wander(np.zeros(5, dtype=np.int64), np.arange(5) * 4096, spacing_bits=16, seed=1, stream=1)
    >>> bool(np.abs(path).max() <= HIGHEST), bool((path[3:] == wander(*[np.zeros(2, dtype=np.int64),
    ...     np.arange(3, 5) * 4096], spacing_bits=16, seed=1, stream=1)).all())
    (True, True)
    """
    total = np.zeros(len(moments), dtype=np.int64)
    for octave in range(OCTAVES):
        bits = spacing_bits - _FINER_BITS * octave
        cells = (walkers << _MOMENT_BITS) + (moments >> bits)
        here, following = (_height(each, seed, stream + octave) for each in (cells, cells + 1))
        step = (moments & ((1 << bits) - 1)) << _WEIGHT_BITS >> bits
        weight = (step * step * (3 * _ONE - 2 * step)) >> (2 * _WEIGHT_BITS)
        total += ((here << _WEIGHT_BITS) + (following - here) * weight) >> (_WEIGHT_BITS + 2 * octave)
    return total


def _height(cells: NDArray[np.int64], seed: int, stream: int) -> NDArray[np.int64]:
    """Random heights within ±2**15."""
    return (hashed(cells, seed, stream) >> np.uint64(48)).astype(np.int64) - 2**15
