"""Numbers of groups, chosen by Spark's own hash so that group g runs in task g mod P of a shuffle into P.

Spark sends a row with the integer key k to partition `pmod(murmur3(k, seed 42), P)`. With numbers 0, 1, 2, ... groups
would collide by chance, and tasks would be idle. So group g has the number k whose hash is g modulo 8,400 = 2⁴·3·5²·7,
and then that is so for every P that divides it. The numbers depend on nothing else: a checkpoint keeps them.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

MODULUS = 8_400
_SEED = 42
# Numbers looked at: every residue is met about twenty times among them, and at least once.
_LOOKED_AT = 20 * MODULUS


def group_number(group: int) -> int:
    """The key of a group, from 0 to 8,399.

    >>> hashes = murmur3(np.array([group_number(group) for group in range(6)], np.int32))
    >>> (hashes % 2).tolist(), (hashes % 3).tolist()
    ([0, 1, 0, 1, 0, 1], [0, 1, 2, 0, 1, 2])
    """
    return int(_numbers()[group])


def group_of(number: int) -> int:
    """The group that has this key."""
    return int(murmur3(np.array([number], np.int32))[0]) % MODULUS


@lru_cache(maxsize=1)
def _numbers() -> NDArray[np.int64]:
    residues = murmur3(np.arange(_LOOKED_AT, dtype=np.int32)).astype(np.int64) % MODULUS
    found, numbers = np.unique(residues, return_index=True)
    assert len(found) == MODULUS
    return numbers


def murmur3(keys: NDArray[np.int32]) -> NDArray[np.int32]:
    """Spark's hash of integers: MurmurHash3 of 32 bits over four bytes.

    >>> murmur3(np.array([0, 1, -1], np.int32)).tolist()
    [933211791, -559580957, -1604776387]
    """
    # Overflow is meant: arithmetic is modulo 2**32.
    mixed = keys.astype(np.uint32) * np.uint32(0xCC9E2D51)
    mixed = _rotated(mixed, 15) * np.uint32(0x1B873593)
    hashed = _rotated(np.uint32(_SEED) ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    hashed ^= np.uint32(4)
    hashed = (hashed ^ (hashed >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashed = (hashed ^ (hashed >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return (hashed ^ (hashed >> np.uint32(16))).astype(np.int32)


def _rotated(values: NDArray[np.uint32], bits: int) -> NDArray[np.uint32]:
    return (values << np.uint32(bits)) | (values >> np.uint32(32 - bits))
