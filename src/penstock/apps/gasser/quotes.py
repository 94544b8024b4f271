"""The stream of Q1: financial quotes, each with its number, its symbol, a price and a volume."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.apps.gasser.wander import wander
from penstock.patterns.base import FloatArray
from penstock.patterns.hashing import hashed
from penstock.workloads.workload import Columns

QUOTE_DDL = "id bigint, symbol int, price double, volume double"

# A path's slowest swing takes 262,144 quotes of its symbol, and so 26 windows of 10,000.
_SWING_BITS = 18
# Prices swing by ±2**-2.6 = 16% around their base: HIGHEST is 1.33 * 2**15.
_SWING_SCALE_BITS = 18
# The last quote of a symbol differs from its path by up to ±2**-12 = 0.02%.
_JITTER_BITS = 12
# Base prices from 10.00 to 419.59, in ticks of 0.01.
_LOWEST_TICKS, _TICKS_BITS, TICKS_A_UNIT = 1000, 16, 100.0
_LOT, _LOTS_BITS = 100, 7
_BASE_STREAM, _SYMBOL_STREAM, _JITTER_STREAM, _VOLUME_STREAM, _PATH_STREAM = 201, 202, 203, 204, 210


@dataclass(frozen=True)
class Quotes:
    """Quotes of so many symbols, drawn at random; of one symbol they are all of that one.

    A price is whole ticks of 0.01: its symbol's base, a path that swings by up to 16% of it, and jitter. The path is a
    function of the quote's number; with more symbols, of which each is quoted less often, it is stretched alike.

    >>> quotes = Quotes(symbols=3)(np.arange(4), np.ones(4), seed=1)
    >>> quotes["symbol"].tolist(), quotes["price"].tolist()
    ([0, 0, 2, 2], [255.34, 255.37, 214.75, 214.78])
    """

    symbols: int = 1

    def __call__(self, indices: NDArray[np.int64], costs: FloatArray, seed: int) -> Columns:
        """The columns of quotes with these numbers."""
        symbols = (hashed(indices, seed, _SYMBOL_STREAM) % np.uint64(self.symbols)).astype(np.int64)
        drawn = (hashed(symbols, seed, _BASE_STREAM) >> np.uint64(64 - _TICKS_BITS)).astype(np.int64)
        base = _LOWEST_TICKS + (drawn * 5 >> 3)
        stretch_bits = (self.symbols - 1).bit_length()
        path = wander(symbols, indices, _SWING_BITS + stretch_bits, seed, _PATH_STREAM)
        jitter = (hashed(indices, seed, _JITTER_STREAM) >> np.uint64(48)).astype(np.int64) - 2**15
        ticks = base + (base * path >> _SWING_SCALE_BITS) + (base * jitter >> (_JITTER_BITS + 15))
        lots = 1 + (hashed(indices, seed, _VOLUME_STREAM) >> np.uint64(64 - _LOTS_BITS)).astype(np.int64)
        return {
            "id": indices,
            "symbol": symbols.astype(np.int32),
            "price": ticks / TICKS_A_UNIT,
            "volume": (_LOT * lots).astype(np.float64),
        }
