"""The three stages: read a block, compress it (or decompress it), check its size and hand it on to be written."""

from __future__ import annotations

import bz2
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.apps.bzip2.blocks import Blocks, most_compressed_bytes
from penstock.apps.suite.results import RESULT_DDL, hash_of, results
from penstock.errors import BadInputError
from penstock.stages.arrow import record_batch, vector
from penstock.stages.stage import Stage

READ_DDL = "id bigint, seed bigint, data binary"
COMPRESSED_DDL = "id bigint, seed bigint, original_hash bigint, original_bytes bigint, data binary"
WRITTEN_DDL = f"{RESULT_DDL}, seed bigint, data binary"
"""The seed is there so that the output alone tells which input it must give back."""
LEVEL = 9


def stages(blocks: Blocks, decompress: bool) -> tuple[Stage, ...]:
    """Read, compress or decompress, write."""
    name, run = ("decompress", decompressed) if decompress else ("compress", compressed)
    return (
        Stage("read", READ_DDL, partial(read, blocks)),
        Stage(name, COMPRESSED_DDL, run),
        Stage("write", WRITTEN_DDL, partial(written, blocks, decompress)),
    )


def read(blocks: Blocks, batch: Any) -> Any:
    """The block of each item."""
    ids, seeds = vector(batch, "id"), vector(batch, "seed")
    data = [blocks.given(item, seed) for item, seed in zip(ids.tolist(), seeds.tolist(), strict=True)]
    return _with_data(record_batch({"id": ids, "seed": seeds}), data)


def compressed(batch: Any) -> Any:
    """Each block compressed, beside the hash and the length of what it was."""
    blocks = batch.column("data").to_pylist()
    return _with_original(batch, blocks, [bz2.compress(block, LEVEL) for block in blocks])


def decompressed(batch: Any) -> Any:
    """Each block decompressed, beside its hash and length: those of the block that was compressed once."""
    items = zip(vector(batch, "id").tolist(), batch.column("data").to_pylist(), strict=True)
    blocks = [_decompressed(item, block) for item, block in items]
    return _with_original(batch, blocks, blocks)


def written(blocks: Blocks, decompress: bool, batch: Any) -> Any:
    """The result of each item: `matched` where the lengths before and after can be right.

    The hash is over the original bytes in both directions, so that no version of libbz2 changes it.
    """
    ids, long = vector(batch, "id"), vector(batch, "original_bytes")
    data = batch.column("data")
    matched = [
        _fits(blocks.original_bytes(item), int(before), len(after.as_buffer()), decompress)
        for item, before, after in zip(ids.tolist(), long, data, strict=True)
    ]
    done = result(ids, np.stack([vector(batch, "original_hash"), long], axis=1), matched)
    return done.append_column("seed", batch.column("seed")).append_column("data", data)


def result(ids: NDArray[np.int64], originals: NDArray[np.int64], matched: list[int]) -> Any:
    """The results of items by the hash and the length of their original bytes."""
    ones = [1] * len(ids)
    return results(ids, list(originals), ones, ones, matched)


def bytes_hash(block: bytes) -> int:
    """A hash of bytes, eight at a time as whole numbers, the last ones filled with zeros.

    >>> bytes_hash(b"12345678") != bytes_hash(b"12345687")
    True
    """
    return hash_of(_whole_numbers(block))


def _decompressed(item: int, block: bytes) -> bytes:
    try:
        return bz2.decompress(block)
    except (OSError, ValueError) as error:
        raise BadInputError("item", item, "does not decompress", "compress the original again") from error


def _whole_numbers(block: bytes) -> NDArray[np.int64]:
    return np.frombuffer(block + bytes(-len(block) % 8), "<i8").astype(np.int64, copy=False)


def _fits(expected: int | None, original: int, after: int, decompress: bool) -> int:
    most = original if decompress else most_compressed_bytes(original)
    return int(expected in (None, original) and after <= most)


def _with_original(batch: Any, blocks: list[bytes], data: list[bytes]) -> Any:
    columns = {
        "id": vector(batch, "id"),
        "seed": vector(batch, "seed"),
        "original_hash": np.array([bytes_hash(block) for block in blocks], np.int64),
        "original_bytes": np.array([len(block) for block in blocks], np.int64),
    }
    return _with_data(record_batch(columns), data)


def _with_data(batch: Any, data: list[bytes]) -> Any:
    import pyarrow as pa

    return batch.append_column("data", pa.array(data, pa.binary()))
