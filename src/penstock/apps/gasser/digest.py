"""The hash of a window's result, by Spark and by NumPy alike: integers only, so that no last bit of a float decides.

Outputs count in thousandths, rounded half to even. The hash is Spark's `xxhash64`: XXH64 (Collet 2012) of 8 bytes, the
hash of one column being the seed of the next. The number of a result is its key times 2**40 plus its window's number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from penstock.patterns.base import FloatArray

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WINDOW_BITS = 40
_SCALE = 1000.0
# Of Spark's function, and of XXH64.
_SEED = np.uint64(42)
_PRIME_1, _PRIME_2, _PRIME_3, _PRIME_4, _PRIME_5 = (
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)


def with_hash(df: DataFrame, key: str | None, outputs: Sequence[str]) -> DataFrame:
    """Results with their number `id` and their `hash`."""
    from pyspark.sql import functions

    number = functions.col("window")
    if key is not None:
        number = functions.shiftleft(functions.col(key).cast("bigint"), _WINDOW_BITS) + number
    values = [functions.rint(functions.col(name) * _SCALE).cast("bigint") for name in outputs]
    return df.select("*", number.alias("id"), functions.xxhash64(number, "start", "end", *values).alias("hash"))


def result_hashes(
    key: int, windows: NDArray[np.int64], start: NDArray[np.int64], end: NDArray[np.int64], outputs: FloatArray
) -> NDArray[np.uint64]:
    """The same hashes of windows of one key (0 where there is none); `outputs` has a row a window.

    >>> at = np.array([7])
    >>> once, nearly, other = (result_hashes(3, at, at, at, np.array([[x, 2.5]])) for x in (1.0, 1.0004, 1.0006))
    >>> bool(once == nearly), bool(once == other)
    (True, False)
    """
    number = (key << _WINDOW_BITS) + windows
    values = np.rint(outputs * _SCALE).astype(np.int64)
    hashes = np.full(len(windows), _SEED)
    for column in (number, start, end, *values.T):
        hashes = _xxh64(column.astype(np.uint64), hashes)
    return hashes


def _xxh64(column: NDArray[np.uint64], seeds: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """XXH64 of 8 bytes each."""
    hashes = seeds + _PRIME_5 + np.uint64(8)
    hashes ^= _rotated(column * _PRIME_2, 31) * _PRIME_1
    hashes = _rotated(hashes, 27) * _PRIME_1 + _PRIME_4
    hashes = (hashes ^ (hashes >> np.uint64(33))) * _PRIME_2
    hashes = (hashes ^ (hashes >> np.uint64(29))) * _PRIME_3
    return hashes ^ (hashes >> np.uint64(32))


def _rotated(values: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    return (values << np.uint64(bits)) | (values >> np.uint64(64 - bits))
