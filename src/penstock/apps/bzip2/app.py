"""Bzip2 as an application of Penstock: blocks compressed or decompressed, proved to give the input back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from penstock.apps.bzip2.blocks import CHUNKS, Generated
from penstock.apps.bzip2.input import CHUNK_BYTES, DATA
from penstock.apps.bzip2.own_file import PlainFile, StreamsFile, changed_ns
from penstock.apps.bzip2.proof import proof_of
from penstock.apps.bzip2.stages import WRITTEN_DDL, bytes_hash, result, stages
from penstock.apps.digest import Digest
from penstock.apps.known_digests import KnownDigests
from penstock.apps.suite.app import SuiteApp
from penstock.apps.suite.results import one_of
from penstock.errors import BadInputError
from penstock.progress import Progress
from penstock.stages.arrow import vector
from penstock.stages.stage import Stage

# Items of the reference between two reports of its progress.
_REFERENCE_ITEMS = 128


@dataclass(frozen=True)
class Bzip2(SuiteApp):
    """Blocks through bzip2, one by one.

    >>> app = Bzip2().configured("test", {"block": "900k", "data": "mix"})
    >>> [stage.name for stage in app.stages()], app.count("test")
    (['read', 'compress', 'write'], 333)
    """

    name: ClassVar[str] = "bzip2"
    description: ClassVar[str] = "SPBench's Bzip2: blocks of text compressed (or decompressed) in parallel"
    items: ClassVar[Mapping[str, int]] = {
        "test": 3_000,
        "small": 24_000,
        "medium": 120_000,
        "large": 600_000,
        "huge": 3_000_000,
    }
    first: ClassVar[int] = 160
    own_options: ClassVar[Mapping[str, str]] = {
        "data": "text (default), or mix: stretches of text, tables, long repeats, base64 and zeros",
        "decompress": "no (default), or yes: blocks are compressed beforehand, and the run decompresses them",
        "block": "bytes of a block: 100k (default), or 900k with a ninth of the items",
        "input": "a file of your own instead, cut into blocks; to decompress, a .bz2 file, a stream an item",
    }
    result_ddl: ClassVar[str] = WRITTEN_DDL
    digests: ClassVar[KnownDigests] = KnownDigests(Path(__file__).with_name("digests.json"), "bzip2-digests")

    @property
    def decompress(self) -> bool:
        """Whether the run decompresses."""
        return one_of(self.chosen, "decompress", ("no", "yes")) == "yes"

    @property
    def blocks(self) -> Generated | PlainFile | StreamsFile:
        """Where the blocks come from."""
        if "input" in self.chosen:
            path = str(Path(self.chosen["input"]).absolute())
            return StreamsFile(path) if self.decompress else PlainFile(path, self._chunks * CHUNK_BYTES)
        return Generated(one_of(self.chosen, "data", DATA), self._chunks, self.decompress)

    @property
    def classes(self) -> Mapping[str, str]:
        """Classes by their items, and by their bytes: the output is kept."""
        items = {name: self.count(name) for name in self.items}
        size = {name: count * self._chunks * CHUNK_BYTES / 1e9 for name, count in items.items()}
        return {name: f"{count:,} items, {size[name]:g} GB, of which text leaves 29%" for name, count in items.items()}

    def stages(self) -> tuple[Stage, ...]:
        """Read, compress or decompress, write."""
        return stages(self.blocks, self.decompress)

    def check(self) -> None:
        """Refuse options that cannot be, and a file that cannot be used."""
        super().check()
        blocks = self.blocks
        if isinstance(blocks, Generated):
            return
        if "data" in self.chosen:
            raise BadInputError("data", self.chosen["data"], "a file of your own is not generated", "leave it out")
        if self.decompress and "block" in self.chosen:
            raise BadInputError("block", self.chosen["block"], "a .bz2 file has blocks of its own", "leave it out")
        blocks.check()

    def count(self, size_class: str) -> int:
        """The items of a class: about the same bytes with blocks of either length."""
        return super().count(size_class) // self._chunks

    def first_size(self, size_class: str) -> int:
        """About half a second of work."""
        return min(self.first // self._chunks, self.count(size_class))

    def make_input(self, seed: int, progress: Progress | None = None) -> Path | None:
        """Make the blocks of a seed; a file of one's own is there already."""
        blocks = self.blocks
        if not isinstance(blocks, Generated):
            return None
        return (blocks.compressed_input if blocks.compressed else blocks.input).ready(seed, progress)

    def truth(self, directory: Path) -> Mapping[str, Any]:
        """The items whose lengths are right, and whether the output gives the input back byte for byte."""
        return {**super().truth(directory), **proof_of(directory, self.blocks, self.decompress)}

    def plain_digest(self, items: int, seed: int = 1, progress: Progress | None = None) -> Digest:
        """The digest of the first items by their original bytes; compressing has no part in it, `truth` proves that."""
        blocks, total = self.blocks, Digest()
        known: dict[int, tuple[int, int]] = {}
        for start in range(0, items, _REFERENCE_ITEMS):
            ids = np.arange(start, min(start + _REFERENCE_ITEMS, items))
            for item in ids.tolist():
                if blocks.distinct(item) not in known:
                    original = blocks.original(item, seed)
                    known[blocks.distinct(item)] = bytes_hash(original), len(original)
            originals = np.array([known[blocks.distinct(item)] for item in ids.tolist()])
            total += Digest.of(vector(result(ids, originals, [1] * len(ids)), "hash").view(np.uint64))
            if progress is not None:
                progress(int(ids[-1]) + 1, items)
        return total

    @property
    def _chunks(self) -> int:
        return CHUNKS[one_of(self.chosen, "block", tuple(CHUNKS))]

    def _digest_name(self, size_class: str, seed: int) -> str:
        """By what changes the original bytes; a file of one's own by when it was written, too."""
        blocks = self.blocks
        if isinstance(blocks, Generated):
            told = [blocks.data] * (blocks.data != DATA[0]) + ["900k"] * (blocks.chunks > 1)
            return "-".join([self.name, size_class, str(seed), *told])
        way = "streams" if self.decompress else f"blocks-{self._chunks}"
        return f"{self.name}-{size_class}-{blocks.path}-{changed_ns(blocks.path)}-{way}"
