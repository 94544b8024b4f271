"""The user's own file: any file cut into blocks, or bzip2 data cut at its streams; refused before Spark starts."""

from __future__ import annotations

import bz2
import mmap
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from penstock.errors import BadInputError

# A stream begins with its level and then the digits of pi, at a whole byte; 10 bytes do not meet by chance.
_STREAM = re.compile(rb"BZh[1-9]1AY&SY")
# What a worker is asked to decompress at once: more would not fit beside Spark.
MOST_STREAM_BYTES = 50_000_000
_PIECE_BYTES = 2**20


@dataclass(frozen=True)
class PlainFile:
    """Blocks of a file; the last one is as long as what is left."""

    path: str
    block_bytes: int

    def given(self, item: int, seed: int) -> bytes:
        """The block."""
        start = self.distinct(item) * self.block_bytes
        return mapped(self.path)[start : start + self.block_bytes]

    original = given

    def original_bytes(self, item: int) -> int:
        """The length of the block."""
        return min(self.block_bytes, len(mapped(self.path)) - self.distinct(item) * self.block_bytes)

    def distinct(self, item: int) -> int:
        """Again from the first after the last."""
        return item % -(-len(mapped(self.path)) // self.block_bytes)

    def check(self) -> None:
        """Refuse a file that cannot be read."""
        mapped(self.path)


@dataclass(frozen=True)
class StreamsFile:
    """The streams of a file of bzip2 data, as parallel compressors and `cat` of several files leave them."""

    path: str

    def given(self, item: int, seed: int) -> bytes:
        """A stream."""
        ends = stream_ends(self.path)
        at = self.distinct(item)
        return mapped(self.path)[ends[at] : ends[at + 1]]

    def original(self, item: int, seed: int) -> bytes:
        """What the stream gives."""
        return bz2.decompress(self.given(item, seed))

    def original_bytes(self, item: int) -> None:
        """Not known beforehand."""

    def distinct(self, item: int) -> int:
        """Again from the first after the last."""
        return item % (len(stream_ends(self.path)) - 1)

    def check(self) -> None:
        """Refuse a file that is no bzip2 data, has a stream too long for a worker, or ends within one."""
        ends = stream_ends(self.path)
        if len(ends) < 2 or ends[0] != 0:
            raise BadInputError("input", self.path, "no bzip2 data", "give a .bz2 file, or leave decompress out")
        if max(end - start for start, end in pairwise(ends)) > MOST_STREAM_BYTES:
            reason = f"one stream of it is over {MOST_STREAM_BYTES // 10**6} MB, and a stream is an item"
            raise BadInputError("input", self.path, reason, "compress it by pbzip2, which leaves a stream a block")
        last = bz2.BZ2Decompressor()
        try:
            # A piece at a time: what it gives may be far larger than it is.
            last.decompress(mapped(self.path)[ends[-2] :], _PIECE_BYTES)
            while not (last.eof or last.needs_input):
                last.decompress(b"", _PIECE_BYTES)
        except OSError as error:
            remedy = "compress the original again"
            raise BadInputError("input", self.path, "its last stream does not decompress", remedy) from error
        if not last.eof:
            raise BadInputError("input", self.path, "truncated: its last stream has no end", "copy the whole file")


def mapped(path: str) -> mmap.mmap:
    """A file's bytes, mapped into memory."""
    return _mapped(path, changed_ns(path))


def stream_ends(path: str) -> list[int]:
    """Where the streams of a file begin, and where the last one ends."""
    return _stream_ends(path, changed_ns(path))


def changed_ns(path: str) -> int:
    """When a file was last written; refuses what is no file."""
    try:
        if not Path(path).is_file():
            raise BadInputError("input", path, "no such file", "give the path of a file")
        return Path(path).stat().st_mtime_ns
    except OSError as error:
        raise BadInputError(
            "input", path, f"cannot be read ({error.strerror})", "give a file that you may read"
        ) from error


@lru_cache(maxsize=2)
def _mapped(path: str, changed: int) -> mmap.mmap:
    try:
        with open(path, "rb") as file:
            if not Path(path).stat().st_size:
                raise BadInputError("input", path, "it is empty", "give a file with bytes in it")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise BadInputError(
            "input", path, f"cannot be read ({error.strerror})", "give a file that you may read"
        ) from error


@lru_cache(maxsize=2)
def _stream_ends(path: str, changed: int) -> list[int]:
    whole = mapped(path)
    return [*(found.start() for found in _STREAM.finditer(whole)), len(whole)]
