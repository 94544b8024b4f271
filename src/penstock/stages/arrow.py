"""NumPy in and out of Arrow, without a copy or a Python loop over rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from penstock.errors import BadInputError, MissingExtraError

if TYPE_CHECKING:
    import pyarrow as pa


def _arrow() -> Any:
    """Arrow at use: applications are listed without it."""
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtraError("pyarrow", "spark") from error
    return pyarrow


def packed(rows: Any) -> pa.Array:
    r"""A 2-D array as a binary column, one row of bytes an item; it keeps the array's memory.

    >>> packed(np.array([[1, 2], [3, 4]], dtype=np.uint8)).to_pylist()
    [b'\x01\x02', b'\x03\x04']
    """
    rows = np.ascontiguousarray(rows)
    ends = np.arange(len(rows) + 1, dtype=np.int32) * np.int32(rows.shape[1] * rows.itemsize)
    arrow = _arrow()
    return arrow.Array.from_buffers(arrow.binary(), len(rows), [None, arrow.py_buffer(ends), arrow.py_buffer(rows)])


def listed(rows: Any) -> pa.Array:
    """A 2-D array as a column of lists.

    >>> listed(np.array([[1, 2], [3, 4]])).to_pylist()
    [[1, 2], [3, 4]]
    """
    ends = np.arange(len(rows) + 1, dtype=np.int32) * np.int32(rows.shape[1])
    arrow = _arrow()
    return arrow.ListArray.from_arrays(ends, arrow.array(np.ascontiguousarray(rows).ravel()))


def record_batch(columns: Mapping[str, NDArray[Any] | list[Any]]) -> Any:
    """A record batch of these columns, 2-D arrays as binary.

    >>> batch = record_batch({"id": np.arange(2), "units": np.array([[1, 2], [3, 4]], dtype=np.uint8)})
    >>> matrix(batch, "units", np.uint8, 2).tolist(), vector(batch, "id").tolist()
    ([[1, 2], [3, 4]], [0, 1])
    """
    arrow = _arrow()
    arrays = [packed(column) if np.ndim(column) == 2 else arrow.array(column) for column in columns.values()]
    return arrow.RecordBatch.from_arrays(arrays, names=list(columns))


def matrix(batch: Any, name: str, dtype: DTypeLike, width: int) -> NDArray[Any]:
    """A binary column of a batch as a read-only array of `width` values a row."""
    column = batch.column(name)
    row_bytes = np.dtype(dtype).itemsize * width
    if len(column):
        _, ends_buffer, data = column.buffers()
        ends = np.frombuffer(ends_buffer, dtype=np.int32)[column.offset : column.offset + len(column) + 1]
        if column.null_count or (np.diff(ends) != row_bytes).any():
            reason = f"not {row_bytes} bytes a row"
            raise BadInputError(f"column {name}", str(column.type), reason, "give the columns of items")
        rows = np.frombuffer(data, dtype=dtype, count=len(column) * width, offset=int(ends[0])).reshape(-1, width)
    else:
        rows = np.empty((0, width), dtype=dtype)
    rows.setflags(write=False)  # a kernel is compiled once for read-only input, not twice
    return rows


def vector(batch: Any, name: str) -> NDArray[Any]:
    """A column of numbers as a read-only array."""
    values: NDArray[Any] = batch.column(name).to_numpy()
    values.setflags(write=False)
    return values
