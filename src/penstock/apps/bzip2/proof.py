"""The proof that an output is right: decompressed and in the order of its items, it is the input byte for byte."""

from __future__ import annotations

import bz2
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from penstock.apps.bzip2.blocks import Blocks
from penstock.apps.digest import committed_files


def proof_of(directory: Path, blocks: Blocks, decompress: bool) -> Mapping[str, Any]:
    """Whether the output in a run's directory gives its input back, and input bytes over output bytes.

    `decompresses` is true where items 0 to n - 1 are there, none missing, and each gives its own block.
    """
    right = Proof(blocks, decompress)
    for path in committed_files(directory):
        right.take(_rows(path))
    return {
        "decompresses": right.holds,
        "ratio": right.given_bytes / right.output_bytes if right.output_bytes else None,
    }


class Proof:
    """Rows of an output against the blocks that they came from, as they are read; memory for a number a block."""

    def __init__(self, blocks: Blocks, decompress: bool) -> None:
        self.blocks = blocks
        self.decompress = decompress
        self.given_bytes = 0
        self.output_bytes = 0
        self._wrong = 0
        self._seen: set[int] = set()
        # Blocks come again and again; the same bytes of the same block are decompressed once.
        self._right: dict[tuple[int, int, bytes], int] = {}

    @property
    def holds(self) -> bool:
        """Whether there are items, none is missing before the last one, and none is wrong."""
        return bool(self._seen) and not self._wrong and max(self._seen) == len(self._seen) - 1

    def take(self, rows: Iterable[tuple[int, int, bytes]]) -> None:
        """Check rows of (item, seed, output)."""
        for item, seed, data in rows:
            key = (seed, self.blocks.distinct(item), hashlib.sha256(data).digest())
            if key not in self._right:
                if not self._gives(self.blocks.original(item, seed), data):
                    self._wrong += 1
                    continue
                self._right[key] = len(self.blocks.given(item, seed))
            if item not in self._seen:
                self._seen.add(item)
                self.given_bytes += self._right[key]
                self.output_bytes += len(data)

    def _gives(self, original: bytes, data: bytes) -> bool:
        if self.decompress:
            return data == original
        try:
            return bz2.decompress(data) == original
        except (OSError, ValueError):
            return False


def _rows(path: Path) -> Iterable[tuple[int, int, bytes]]:
    import pyarrow.parquet

    for batch in pyarrow.parquet.ParquetFile(path).iter_batches(batch_size=64, columns=["id", "seed", "data"]):
        yield from zip(*(batch.column(name).to_pylist() for name in ("id", "seed", "data")), strict=True)
