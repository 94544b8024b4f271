"""Where the blocks of a run come from: generated ones, the user's own file cut into blocks, or a file of bzip2 streams.

Item i of a run is block i modulo the number of distinct blocks, as for all inputs of the suite.
"""

from __future__ import annotations

import bz2
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from penstock.apps.bzip2.input import CHUNK_BYTES, Bytes, chunk
from penstock.apps.suite.inputs import Input

# Chunks of a block, by the option's name.
CHUNKS = {"100k": 1, "900k": 9}
# About 22 MB: 216 blocks of 100 kB, or 24 of 900 kB.
_ALL_CHUNKS = 216
_LENGTH_BYTES = 4


class Blocks(Protocol):
    """The blocks of a run; those of a decompressing run are given compressed."""

    def given(self, item: int, seed: int) -> bytes:
        """What the first stage reads."""
        ...

    def original(self, item: int, seed: int) -> bytes:
        """The bytes that are compressed, or that decompressing must give."""
        ...

    def original_bytes(self, item: int) -> int | None:
        """How many those are; None where only decompressing tells."""
        ...

    def distinct(self, item: int) -> int:
        """The number of the item's block among the distinct ones."""
        ...


@dataclass(frozen=True)
class Generated:
    """Blocks of generated text or of a mix, made beforehand and mapped into memory.

    >>> Generated("text", 1).original_bytes(5), Generated("text", 9).input.distinct
    (100000, 24)
    """

    data: str
    chunks: int
    compressed: bool = False

    @property
    def input(self) -> Input:
        """The original blocks."""
        name = f"bzip2-{self.data}-{self.chunks * CHUNK_BYTES // 1000}k"
        make = partial(block, data=self.data, chunks=self.chunks)
        return Input(name, make, _ALL_CHUNKS // self.chunks)

    @property
    def compressed_input(self) -> Input:
        """The same blocks compressed, each after its length."""
        plain = self.input
        return Input(f"{plain.app}-compressed", partial(compressed_row, make=plain.make), plain.distinct)

    def given(self, item: int, seed: int) -> bytes:
        """The block, or its compressed form."""
        if not self.compressed:
            return self.original(item, seed)
        row: Bytes = self.compressed_input.items(seed)[self.distinct(item)]
        return row[_LENGTH_BYTES : _LENGTH_BYTES + int(row[:_LENGTH_BYTES].view("<u4")[0])].tobytes()

    def original(self, item: int, seed: int) -> bytes:
        """The block."""
        row: Bytes = self.input.items(seed)[self.distinct(item)]
        return row.tobytes()

    def original_bytes(self, item: int) -> int:
        """All have the same length."""
        return self.chunks * CHUNK_BYTES

    def distinct(self, item: int) -> int:
        """Again from the first after the last."""
        return item % self.input.distinct


def block(index: int, seed: int, data: str, chunks: int) -> Bytes:
    """A block of consecutive chunks: blocks of 100 kB and of 900 kB are cut from the same bytes."""
    return np.concatenate([chunk(index * chunks + at, seed, data) for at in range(chunks)])


def compressed_row(index: int, seed: int, make: Callable[[int, int], Bytes]) -> Bytes:
    """A compressed block as a row of a fixed width: its length in 4 bytes, the stream, zeros."""
    plain = make(index, seed)
    stream = bz2.compress(plain.tobytes())
    row = np.zeros(_LENGTH_BYTES + most_compressed_bytes(len(plain)), np.uint8)
    row[:_LENGTH_BYTES].view("<u4")[0] = len(stream)
    row[_LENGTH_BYTES : _LENGTH_BYTES + len(stream)] = np.frombuffer(stream, np.uint8)
    return row


def most_compressed_bytes(plain_bytes: int) -> int:
    """The most that compressed bytes can be: 1% and 600 bytes more than plain ones (manual of bzip2, section 3.4).

    >>> most_compressed_bytes(100_000)
    101600
    """
    return plain_bytes + -(-plain_bytes // 100) + 600
