"""The digest of a query's results: a set of rows with their multiplicities, whatever their order and batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.apps.digest import Digest, committed_files
from penstock.errors import BadInputError, MissingExtraError
from penstock.patterns.hashing import hashed

BATCH = "batch-"


def row_digest(
    columns: Mapping[str, NDArray[Any]], names: Sequence[str], times: NDArray[np.int64] | None = None
) -> Digest:
    """The digest of these rows, each so many times, or once.

    >>> rows = {"jobId": np.array([7, 9]), "avgCpu": np.array([0.5, 0.25])}
    >>> once = row_digest(rows, ("jobId", "avgCpu"))
    >>> once + once == row_digest(rows, ("jobId", "avgCpu"), np.array([2, 2])), once.count
    (True, 2)
    """
    hashes = np.zeros(len(columns[names[0]]), dtype=np.uint64)
    for place, name in enumerate(names):
        hashes = hashed(hashes ^ _bits(columns[name]), seed=place)
    return Digest.of(hashes, times)


def digest_of_directory(directory: Path, names: Sequence[str]) -> Digest:
    """The digest of the results that a run wrote, by Spark's own file sink or a batch at a time."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "spark") from error

    digest = Digest()
    for path in result_files(directory):
        table = pyarrow.parquet.read_table(path, columns=list(names))
        digest += row_digest({name: table.column(name).to_numpy() for name in names}, names)
    return digest


def result_files(directory: Path) -> list[Path]:
    """The files of whole batches: a batch written twice has taken its own place."""
    batches = sorted(directory.glob(f"{BATCH}*"), key=lambda folder: int(folder.name.removeprefix(BATCH)))
    if not batches:
        return committed_files(directory)
    for folder in batches:
        if not (folder / "_SUCCESS").exists():
            raise BadInputError("directory", str(folder), "the batch was not written to its end", "run it again")
    return [path for folder in batches for path in sorted(folder.glob("*.parquet"))]


def _bits(column: NDArray[Any]) -> NDArray[np.uint64]:
    if column.dtype.kind == "f":
        return column.astype(np.float64).view(np.uint64)
    return column.astype(np.int64).view(np.uint64)
