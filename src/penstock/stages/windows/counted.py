"""Windows over the rows of a key, counted as they come: all keys of a bucket in one step.

Rows are ordered by the order column within a batch, and from batch to batch. A row whose order is not above the last
one of its key comes late or twice: it is dropped and counted.

    kept for each key: its name, the position of its first kept row, the order of its last row
    kept rows:         those that windows yet to be computed need, key after key
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.stages.windows.blocks import Rows, Shape, kept, reopened
from penstock.stages.windows.results import Found, Run, check_same, definition, results
from penstock.stages.windows.spec import WindowSpec

_NO_ORDER = np.iinfo(np.int64).min


@dataclass(frozen=True)
class _Keys:
    """The keys of a bucket, each with its number of kept rows, the position of the first one, and its last order."""

    names: Any
    lengths: NDArray[np.int64]
    base: NDArray[np.int64]
    last: NDArray[np.int64]

    def grown(self, names: Any) -> _Keys:
        """With keys that were not there before at the end."""
        more = len(names) - len(self.names)
        return _Keys(
            names,
            np.append(self.lengths, np.zeros(more, np.int64)),
            np.append(self.base, np.zeros(more, np.int64)),
            np.append(self.last, np.full(more, _NO_ORDER)),
        )


@dataclass(frozen=True)
class Counted:
    """What a bucket of keys does with its rows; `fixed`: what else a checkpoint was made with."""

    shape: Shape
    spec: WindowSpec
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def step(self, value: bytes | None, blocks: list[bytes], run: Run) -> Found:
        """Take blocks of rows, compute the windows that are complete, and keep the rows that others need."""
        spec = self.spec
        keys, tail = self._open(value)
        coming = self.shape.opened(blocks)
        names, codes = coded(keys.names, coming.keys)
        keys = keys.grown(names)
        codes, coming, late = _in_order(codes, coming, keys.last)
        fresh = np.bincount(codes, minlength=len(keys.names))
        columns, starts = merged(keys.lengths, tail, fresh, coming)
        there = keys.lengths + fresh
        before = -(-keys.base // spec.every)
        ended = np.maximum((keys.base + there - spec.length) // spec.every + 1, before)
        which = np.repeat(np.arange(len(there)), ended - before)
        windows = counting(ended - before) + before[which]
        lo = starts[which] + windows * spec.every - keys.base[which]
        outputs, failed = run(columns, lo, lo + spec.length)
        # What the next window of each key begins with; a slide above the length may lie ahead of what is there.
        base = np.minimum(ended * spec.every, keys.base + there)
        rest = keys.base + there - base
        chosen = np.repeat(starts + there - rest, rest) + counting(rest)
        last = keys.last.copy()
        last[codes] = coming.at
        left = _Keys(keys.names, rest, base, last)
        value = self._kept(left, tuple(column[chosen] for column in columns))
        named = results(spec, windows, outputs, failed, keys.names.take(pa.array(which)))
        return Found(named, value, {"late_rows": late, "keys": len(keys.names)})

    def _open(self, value: bytes | None) -> tuple[_Keys, Rows]:
        plain = Shape(self.shape.dtypes, positions=False)
        if value is None:
            none = np.empty(0, np.int64)
            return _Keys(pa.array([], self.shape.key), none, none, none), plain.empty()
        header, rows, keys = reopened(value)
        check_same(definition(self.spec, self.shape, self.fixed), header)
        opened = _key_shape(self.shape).opened([keys])
        return _Keys(opened.keys, opened.at, *opened.columns), plain.opened([rows])

    def _kept(self, keys: _Keys, columns: tuple[NDArray[Any], ...]) -> bytes:
        rows = Shape(self.shape.dtypes, positions=False).packed(Rows(columns[0], columns))
        table = _key_shape(self.shape).packed(Rows(keys.lengths, (keys.base, keys.last), keys.names))
        return kept(definition(self.spec, self.shape, self.fixed), rows, table)


def _key_shape(shape: Shape) -> Shape:
    return Shape(("int64", "int64"), shape.key)


def coded(known: Any, coming: Any) -> tuple[Any, NDArray[np.int64]]:
    """The keys known so far and after them those that are new, and the number of each coming row's key.

    >>> names, codes = coded(pa.array(["b", "a"]), pa.array(["a", "c", "b", "c"]))
    >>> names.to_pylist(), codes.tolist()
    (['b', 'a', 'c'], [1, 2, 0, 2])
    """
    encoded = pa.concat_arrays([known, coming]).dictionary_encode()
    return encoded.dictionary, encoded.indices.to_numpy()[len(known) :].astype(np.int64)


def counting(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, 2, ... up to each length, one after another.

    >>> counting(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    whole = np.arange(int(ends[-1]) if len(ends) else 0)
    return whole - np.repeat(ends - lengths, lengths)


def merged(
    lengths: NDArray[np.int64], tail: Rows, fresh: NDArray[np.int64], coming: Rows
) -> tuple[tuple[NDArray[Any], ...], NDArray[np.int64]]:
    """The columns of each key's kept rows followed by its new ones, key after key, and where each key begins."""
    there = lengths + fresh
    starts = np.cumsum(there) - there
    old = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths) + np.arange(len(tail))
    new = np.repeat(starts + lengths - (np.cumsum(fresh) - fresh), fresh) + np.arange(len(coming))
    columns = []
    for kept_values, new_values in zip(tail.columns, coming.columns, strict=True):
        whole = np.empty(len(old) + len(new), new_values.dtype)
        whole[old] = kept_values
        whole[new] = new_values
        columns.append(whole)
    return tuple(columns), starts


def _in_order(codes: NDArray[np.int64], rows: Rows, last: NDArray[np.int64]) -> tuple[NDArray[np.int64], Rows, int]:
    """Rows by key and, within a key, by order; those that are not above the one before are left out."""
    # Of rows with one order the same one stays, in whatever order they come.
    by_key = np.lexsort((*reversed(rows.columns), rows.at, codes))
    codes, rows = codes[by_key], Rows(rows.at, rows.columns).take(by_key)
    wanted = rows.at > last[codes]
    wanted[1:] &= (codes[1:] != codes[:-1]) | (rows.at[1:] != rows.at[:-1])
    dropped = len(rows) - int(np.count_nonzero(wanted))
    return (codes[wanted], rows.take(wanted), dropped) if dropped else (codes, rows, 0)
