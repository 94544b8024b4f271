"""Rows on their way to a group, and what a group keeps of them: columns of numbers, as bytes in Arrow's format.

A block is a record batch without its schema, which both sides know: `at` (the row's position), the key where there is
one, and the kernel's columns.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.errors import PenstockError

AT = "at"
KEY = "key"
# The kept value begins with its format and the lengths of the header and of the keys.
_FORMAT = 1
_HEAD = struct.Struct("<HIQ")


@dataclass(frozen=True)
class Shape:
    """The columns of a block: their NumPy types; the type of the key, where rows have one; whether they have positions.

    >>> shape = Shape(("float64",))
    >>> rows = Rows(np.array([4, 5]), (np.array([1.5, 2.5]),))
    >>> back = shape.opened([shape.packed(rows), shape.packed(rows)])
    >>> back.at.tolist(), back.columns[0].tolist()
    ([4, 5, 4, 5], [1.5, 2.5, 1.5, 2.5])
    """

    dtypes: tuple[str, ...]
    key: Any = None
    positions: bool = True

    @property
    def schema(self) -> Any:
        """The schema of a block."""
        fields = [
            (name, kind) for name, kind in ((AT, pa.int64() if self.positions else None), (KEY, self.key)) if kind
        ]
        return pa.schema([*fields, *((f"c{n}", pa.from_numpy_dtype(each)) for n, each in enumerate(self.dtypes))])

    def packed(self, rows: Rows) -> bytes:
        """Rows as a block."""
        return self._batch(rows).serialize().to_pybytes()  # type: ignore[no-any-return]

    def opened(self, blocks: Sequence[bytes]) -> Rows:
        """The rows of blocks, one after another."""
        schema = self.schema
        table = pa.Table.from_batches([pa.ipc.read_record_batch(pa.py_buffer(each), schema) for each in blocks], schema)
        keys = table.column(KEY).combine_chunks() if self.key is not None else None
        columns = tuple(_values(table.column(f"c{number}")) for number in range(len(self.dtypes)))
        at = _values(table.column(AT)) if self.positions else np.broadcast_to(np.int64(0), len(table))
        return Rows(at, columns, keys)

    def empty(self) -> Rows:
        """No rows."""
        return self.opened([])

    def _batch(self, rows: Rows) -> Any:
        arrays = [pa.array(rows.at)] if self.positions else []
        arrays += [] if self.key is None else [rows.keys]
        return pa.RecordBatch.from_arrays([*arrays, *map(pa.array, rows.columns)], schema=self.schema)


@dataclass(frozen=True)
class Rows:
    """Positions, columns and, where rows have one, keys."""

    at: NDArray[np.int64]
    columns: tuple[NDArray[Any], ...]
    keys: Any = None

    def __len__(self) -> int:
        return len(self.at)

    def take(self, chosen: NDArray[Any] | slice) -> Rows:
        """The rows at these indices, of this mask or of this slice."""
        keys = self.keys
        if keys is not None:
            keys = keys[chosen] if isinstance(chosen, slice) else keys.take(pa.array(np.arange(len(self))[chosen]))
        return Rows(self.at[chosen], tuple(column[chosen] for column in self.columns), keys)


def joined(first: Rows, second: Rows) -> Rows:
    """The rows of both, without their keys."""
    columns = tuple(np.concatenate(pair) for pair in zip(first.columns, second.columns, strict=True))
    return Rows(np.concatenate((first.at, second.at)), columns)


def kept(header: Mapping[str, Any], rows: bytes, keys: bytes = b"") -> bytes:
    """The one value that a group keeps: what it is, its keys and its rows."""
    text = json.dumps(header, separators=(",", ":")).encode()
    return b"".join((_HEAD.pack(_FORMAT, len(text), len(keys)), text, keys, rows))


def reopened(value: bytes) -> tuple[dict[str, Any], bytes, bytes]:
    """Header, rows and keys of a value that was kept."""
    found, header_bytes, key_bytes = _HEAD.unpack_from(value)
    if found != _FORMAT:
        raise PenstockError(
            f"the checkpoint keeps windows in format {found}, this release reads {_FORMAT}; "
            "run the release that wrote it, or start with a new checkpoint"
        )
    at = _HEAD.size + header_bytes
    return json.loads(value[_HEAD.size : at]), value[at + key_bytes :], value[at : at + key_bytes]


def _values(column: Any) -> NDArray[Any]:
    """A column of numbers without nulls; a copy only where it comes in several chunks."""
    values: NDArray[Any] = column.to_numpy()
    return values
