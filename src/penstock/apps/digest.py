"""The digest of results: the same for any order and any batches, and for a batch written twice.

Where the sink is Spark's own for Parquet, it is exactly-once through its log `_spark_metadata`: only the files named
there were committed, and a batch committed before is skipped when it runs again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BadInputError, MissingExtraError

_LOG = "_spark_metadata"


@dataclass(frozen=True)
class Digest:
    """Count, sum modulo 2**64 and exclusive or of the hashes of results: the same in any order and any batches.

    >>> left, right = Digest.of(np.array([1, 2], dtype=np.uint64)), Digest.of(np.array([7], dtype=np.uint64))
    >>> str(left + right), (left + right) == (right + left)
    ('3-000000000000000a-0000000000000004', True)
    >>> left + left == Digest.of(np.array([1, 2], dtype=np.uint64), times=np.array([2, 2]))
    True
    """

    count: int = 0
    total: int = 0
    parity: int = 0

    @classmethod
    def of(cls, hashes: NDArray[np.uint64], times: NDArray[np.int64] | None = None) -> Digest:
        """The digest of results with these hashes, each so many times, or once."""
        if times is None:
            times = np.ones(len(hashes), dtype=np.int64)
        total = (hashes * times.astype(np.uint64)).sum(dtype=np.uint64)
        return cls(int(times.sum()), int(total), int(np.bitwise_xor.reduce(hashes[times % 2 == 1])))

    def __add__(self, other: Digest) -> Digest:
        """The digest of both: what is in both counts twice."""
        total = (self.total + other.total) % 2**64
        return Digest(self.count + other.count, total, self.parity ^ other.parity)

    def __str__(self) -> str:
        """The digest as text."""
        return f"{self.count}-{self.total:016x}-{self.parity:016x}"


def digest_of_directory(directory: Path) -> Digest:
    """The digest of the results committed to a directory; the same item with the same result counts once."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "spark") from error

    rows = []
    for path in committed_files(directory):
        table = pyarrow.parquet.read_table(path, columns=["id", "hash"])
        rows.append(np.stack([table.column(name).to_numpy() for name in ("id", "hash")], axis=1))
    if not rows:
        return Digest()
    # Sorted by id, then hash: an item with two different results keeps both, and so spoils the digest.
    distinct = np.unique(np.concatenate(rows), axis=0)
    return Digest.of(distinct[:, 1].astype(np.int64).view(np.uint64))


def committed_files(directory: Path) -> list[Path]:
    """The files that committed batches wrote, in the order of their commits."""
    log = directory / _LOG
    if not log.is_dir():
        raise BadInputError(
            "directory", str(directory), "no batch was committed there", "give a run's output directory"
        )
    entries = [path for path in log.iterdir() if path.name.removesuffix(".compact").isdecimal()]
    entries.sort(key=lambda path: int(path.name.removesuffix(".compact")))
    # A compact entry holds all before it.
    last_compact = max((at for at, path in enumerate(entries) if path.suffix == ".compact"), default=0)
    lines = [line for path in entries[last_compact:] for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    return [directory / json.loads(line)["path"].rpartition("/")[2] for line in lines]
