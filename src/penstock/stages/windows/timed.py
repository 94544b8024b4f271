"""Windows in time over the rows of a key: a window is computed when the watermark has passed its end.

A window without a row gives no result. A row whose windows were all computed comes late: it is dropped and counted.
Rows of one time are ordered by their values, so that results do not depend on how the stream was cut into batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.stages.windows.blocks import Rows, Shape, joined, kept, reopened
from penstock.stages.windows.counted import coded, counting
from penstock.stages.windows.results import Found, Results, Run, check_same, definition, results
from penstock.stages.windows.spec import WindowSpec

# Of a static DataFrame: every window ends before it.
END_OF_TIME_US = 2**62
_LONG_AGO_US = -(2**62)
_LARGEST = 2**62


@dataclass(frozen=True)
class Timed:
    """What a bucket of keys does with its rows; `fixed`: what else a checkpoint was made with."""

    shape: Shape
    spec: WindowSpec
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def step(self, value: bytes | None, blocks: list[bytes], watermark_us: int, run: Run) -> Found:
        """Take blocks of rows, compute the windows that have ended, and keep the rows that others need."""
        before, rows = self._open(value)
        late = 0
        if blocks:
            coming = self.shape.opened(blocks)
            if self.spec.every > self.spec.length:
                # Rows in no window are not late.
                coming = coming.take(coming.at % self.spec.every < self.spec.length)
            in_time = self._last_end(coming.at) > before
            late = len(coming) - int(np.count_nonzero(in_time))
            rows = self._joined(rows, coming.take(in_time) if late else coming)
        closed = max(before, watermark_us)
        found, rows = self._close(rows, before, closed, run)
        header = {**definition(self.spec, self.shape, self.fixed), "closed": closed}
        value = kept(header, self.shape.packed(rows))
        return Found(found, value, {"late_rows": late}, self._first_end(rows.at, closed))

    def _open(self, value: bytes | None) -> tuple[int, Rows]:
        if value is None:
            return _LONG_AGO_US, self.shape.empty()
        header, rows, _ = reopened(value)
        check_same(definition(self.spec, self.shape, self.fixed), header)
        return header["closed"], self.shape.opened([rows])

    def _close(self, rows: Rows, before: int, closed: int, run: Run) -> tuple[Results, Rows]:
        """The results of the windows that ended since `before`, and the rows that later windows need."""
        names, codes = coded(pa.array([], self.shape.key), rows.keys)
        by_key = self._in_order(codes, rows)
        rows, codes = rows.take(by_key), codes[by_key]
        first = np.maximum(self.spec.first_with(rows.at), self._ended(before) + 1)
        last = np.minimum(self.spec.last_with(rows.at), self._ended(closed))
        # The windows of each row, less those that the row before it has already: each window of a key once.
        after = np.full(len(rows), np.iinfo(np.int64).min)
        after[1:] = np.where(codes[1:] == codes[:-1], last[:-1] + 1, after[1:])
        begin = np.maximum(first, after)
        many = np.maximum(last - begin + 1, 0)
        which = np.repeat(np.arange(len(rows)), many)
        windows = begin[which] + counting(many)
        lo, hi = self._bounds(rows.at, codes, windows, codes[which])
        outputs, failed = run(rows.columns, lo, hi)
        found = results(self.spec, windows, outputs, failed, names.take(pa.array(codes[which])))
        needed = self._last_end(rows.at) > closed
        return found, (rows if needed.all() else rows.take(needed))

    def _in_order(self, codes: NDArray[np.int64], rows: Rows) -> NDArray[np.int64]:
        """The order of rows by key, time and, where times are equal, values. What was kept is in order already."""
        earliest = int(rows.at.min(initial=0))
        span = int(rows.at.max(initial=0)) - earliest + 1
        if span * (int(codes.max(initial=0)) + 1) <= _LARGEST:
            place = codes * span + (rows.at - earliest)
            order = np.argsort(place, kind="stable")
            if (np.diff(place[order]) > 0).all():
                return order
        return np.lexsort((*reversed(rows.columns), rows.at, codes))

    def _bounds(
        self, at: NDArray[np.int64], codes: NDArray[np.int64], windows: NDArray[np.int64], of: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the rows of each window begin and end, among rows that are in order of key and time."""
        if not len(windows):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        start = windows * self.spec.every
        points: tuple[NDArray[np.int64], ...] = (at, start, start + self.spec.length)
        earliest, latest = min(int(each.min()) for each in points), max(int(each.max()) for each in points)
        if (latest - earliest + 1) * (int(codes[-1]) + 1) > _LARGEST:
            # A time far off the others: their order alone matters.
            order: NDArray[np.int64] = np.unique(np.concatenate(points), return_inverse=True)[1]
            points = tuple(np.split(order, np.cumsum([len(at), len(start)])))
            earliest, latest = 0, len(order)
        # One number that grows with key and time.
        span = latest - earliest + 1
        rows, lo, hi = ((code * span + each - earliest) for code, each in zip((codes, of, of), points, strict=True))
        return np.searchsorted(rows, lo), np.searchsorted(rows, hi)

    def _ended(self, closed: int) -> int:
        """The last window that ends by then."""
        return (closed - self.spec.length) // self.spec.every

    def _last_end(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.spec.last_with(at) * self.spec.every + self.spec.length

    def _first_end(self, at: NDArray[np.int64], closed: int) -> int | None:
        """When the first window with a row ends that has not ended by then."""
        if not len(at):
            return None
        first = np.maximum(self.spec.first_with(at), self._ended(closed) + 1)
        return int(first.min()) * self.spec.every + self.spec.length

    def _joined(self, first: Rows, second: Rows) -> Rows:
        both = joined(first, second)
        return Rows(both.at, both.columns, pa.concat_arrays([first.keys, second.keys]))
