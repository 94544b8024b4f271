"""The bytes that blocks are cut from: chunks of text, base64, tables, long repeats and zeros, by integers alone.

Chunk i is a pure function of (i, seed). A word's rank r is drawn as 2**e - 1 + (uniform below 2**e) with e uniform, so
that its frequency falls as 1/r, as in natural text (Zipf 1935).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from penstock.patterns.hashing import hashed

CHUNK_BYTES = 100_000
DATA = ("text", "mix")
# Chunks of one kind in a row: two blocks of 900 kB.
STRETCH_CHUNKS = 18
MIX = ("text", "table", "text", "repeats", "base64", "zeros")

Bytes = NDArray[np.uint8]

_RANKS, _LONGEST = 13, 12
_WORDS = 2**_RANKS - 1
_TOKENS = 28_000
# Streams of the seed, so that no two uses share random bits.
_LETTER, _LENGTH, _TOKEN, _RICHNESS, _CODE, _CELL, _UNIT = range(7)
# How often a letter stands in English, in tenths of a percent.
_OFTEN = "e127 t91 a82 o75 i70 n67 s63 h61 r60 d43 l40 c28 u28 m24 w24 f22 g20 y20 p19 b15 v10 k8"
_LETTERS = np.frombuffer("".join(each[0] * int(each[1:]) for each in _OFTEN.split()).encode(), np.uint8)
_CODES = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)
_STATES = np.frombuffer(b"open    shipped returnedlost    ", np.uint8).reshape(4, 8)
_ROW = b"00000000,2026-11-00,0000000,        \n"
_ROW_BYTES = len(_ROW)
_ENDS = np.frombuffer(b"  , . .\n", np.uint8).reshape(4, 2)


def chunk(index: int, seed: int, data: str = "text") -> Bytes:
    """Chunk `index` of the input: text, or in a mix the kind of its stretch.

    >>> chunk(0, seed=1).tobytes()[:30], len(chunk(0, seed=1))
    (b'eo sntde hhn mnhsnys enteah, f', 100000)
    """
    kind = "text" if data == "text" else kind_of(index, seed)
    if kind == "zeros":
        return np.zeros(CHUNK_BYTES, np.uint8)
    make = {"text": text, "table": table, "repeats": repeats, "base64": base64}[kind]
    return np.resize(make(index, seed), CHUNK_BYTES)


def kind_of(index: int, seed: int) -> str:
    """What a chunk of a mix is: stretches follow each other in one order, from a place that the seed gives.

    >>> sorted({kind_of(index, seed=1) for index in range(0, 216, STRETCH_CHUNKS)}) == sorted(set(MIX))
    True
    """
    return MIX[(index // STRETCH_CHUNKS + seed) % len(MIX)]


def text(index: int, seed: int) -> Bytes:
    """Words, commas, full stops and line ends; chunks differ in how many words they know, from 255 to 8,191."""
    bits = hashed(index * _TOKENS + np.arange(_TOKENS), seed, _TOKEN)
    richness = 8 + hashed(index, seed, _RICHNESS)[0] % np.uint64(_RANKS - 7)
    below = np.left_shift(np.uint64(1), bits % richness)
    rank = below - np.uint64(1) + ((bits >> np.uint64(8)) & (below - np.uint64(1)))
    letters, lengths = vocabulary(seed)
    tokens, long = letters[rank], lengths[rank]
    # One word in 8 is followed by a comma, one in 16 by a full stop, every fourth of those ends a line.
    mark = (bits >> np.uint64(40)) % np.uint64(64)
    end = np.where(mark < 8, 1, np.where(mark < 11, 2, np.where(mark < 12, 3, 0)))
    rows = np.arange(_TOKENS)
    tokens[rows, long] = _ENDS[end, 0]
    tokens[rows, long + 1] = _ENDS[end, 1]
    words: Bytes = tokens[np.arange(tokens.shape[1]) < (long + 1 + (end > 0))[:, None]]
    return words


@lru_cache(maxsize=4)
def vocabulary(seed: int) -> tuple[Bytes, NDArray[np.int64]]:
    """The words of a seed by rank, each with room for what ends it, and their lengths; frequent ones are short."""
    rank = np.arange(_WORDS)
    half_log = np.searchsorted(4 ** np.arange(1, 8), rank + 1, side="right")
    lengths = 1 + half_log + (hashed(rank, seed, _LENGTH) % np.uint64(4)).astype(np.int64)
    cells = hashed(np.arange(_WORDS * (_LONGEST + 2)), seed, _LETTER) % np.uint64(len(_LETTERS))
    return _LETTERS[cells].reshape(_WORDS, -1), lengths


def base64(index: int, seed: int) -> Bytes:
    """Lines of 76 of 64 letters, all equally likely."""
    lines = -(-CHUNK_BYTES // 77)
    bits = hashed(index * lines * 76 + np.arange(lines * 76), seed, _CODE)
    rows = np.full((lines, 77), ord("\n"), np.uint8)
    rows[:, :76] = _CODES[bits & np.uint64(63)].reshape(lines, 76)
    return rows.ravel()


def table(index: int, seed: int) -> Bytes:
    """Rows of a number that counts, a day, an amount and a state, with commas between."""
    rows = -(-CHUNK_BYTES // _ROW_BYTES)
    number = index * rows + np.arange(rows)
    bits = hashed(number, seed, _CELL)
    day = (number // 97) % 28 + 1
    amount = (bits % np.uint64(10_000_000)).astype(np.int64) >> (bits >> np.uint64(40)).astype(np.int64) % 16
    states = _STATES[(bits >> np.uint64(60)).astype(np.int64) % 4]
    cells = np.tile(np.frombuffer(_ROW, np.uint8), (rows, 1))
    cells[:, :8], cells[:, 17:19], cells[:, 20:27], cells[:, 28:36] = (
        _digits(number, 8),
        _digits(day, 2),
        _digits(amount, 7),
        states,
    )
    return cells.ravel()


def repeats(index: int, seed: int) -> Bytes:
    """A passage of 1,000 to 4,999 bytes of text again and again, the same in a whole stretch: the longest to sort."""
    stretch = index // STRETCH_CHUNKS
    long = 1000 + int(hashed(stretch, seed, _UNIT)[0] % np.uint64(4000))
    return text(stretch * STRETCH_CHUNKS, seed)[:long]


def _digits(values: NDArray[np.int64], width: int) -> Bytes:
    """Decimal digits with leading zeros, a row a value."""
    places = 10 ** np.arange(width - 1, -1, -1)
    return (values[:, None] // places % 10 + ord("0")).astype(np.uint8)
