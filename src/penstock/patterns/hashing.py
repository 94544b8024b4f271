"""Random numbers by counting: the number of index i is a pure function of (seed, stream, i), whoever asks, and when.

The mixer is the finaliser of SplitMix64 (Steele, Lea, Flood 2014): two rounds of xor-shift and multiply.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

_GOLDEN = 0x9E3779B97F4A7C15
_MASK = 0xFFFFFFFFFFFFFFFF


def hashed(indices: ArrayLike, seed: int, stream: int = 0) -> NDArray[np.uint64]:
    """64 random bits for every index; streams of one seed are independent of each other.

    >>> bits = hashed(np.arange(4), seed=1)
    >>> bool((bits[2:] == hashed(np.arange(2, 4), seed=1)).all())
    True
    >>> int(hashed(np.arange(1), seed=1, stream=1)[0] == bits[0])
    0
    """
    key = _mix_int(_mix_int(seed & _MASK) + stream * _GOLDEN & _MASK)
    counter = np.atleast_1d(np.asarray(indices)).astype(np.uint64)
    return _mix((counter + np.uint64(1)) * np.uint64(_GOLDEN) + np.uint64(key))


def uniform(indices: ArrayLike, seed: int, stream: int = 0) -> NDArray[np.float64]:
    """A number in [0, 1) for every index.

    >>> bool(abs(uniform(np.arange(10_000), seed=1).mean() - 0.5) < 0.01)
    True
    """
    return (hashed(indices, seed, stream) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _mix_int(number: int) -> int:
    return int(_mix(np.array([(number + _GOLDEN) & _MASK], dtype=np.uint64))[0])
