"""Windows over the rows of a key: each key's own, whatever batches, order and other keys there are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PenstockError
from penstock.stages.windows.blocks import Rows, Shape
from penstock.stages.windows.counted import Counted
from penstock.stages.windows.spec import WindowSpec

KEYS = ["a", "b", "cc", ""]


def run(columns: Sequence[Any], lo: Any, hi: Any) -> Any:
    """The rows of each window themselves, so that one row too many or in another place shows."""
    return [np.array([hash(tuple(columns[0][a:b])) for a, b in zip(lo, hi, strict=True)], np.int64)], None


class Bucket:
    def __init__(self, spec: WindowSpec, kind: Any = None, **fixed: Any) -> None:
        self.counted = Counted(Shape(("int64",), kind or pa.string()), spec, fixed)
        self.kept: bytes | None = None
        self.found: dict[tuple[Any, int], int] = {}
        self.late = 0.0

    def put(self, rows: Sequence[tuple[Any, int, int]]) -> list[tuple[Any, int]]:
        """One batch of (key, order, value), in two blocks; returns the windows that it completed."""
        shape, blocks = self.counted.shape, []
        for some in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
            keys = pa.array([key for key, *_ in some], shape.key)
            at, values = (np.array([row[place] for row in some], np.int64) for place in (1, 2))
            blocks.append(shape.packed(Rows(at, (values,), keys)))
        found = self.counted.step(self.kept, blocks, run)
        self.kept = found.value
        self.late += found.counts["late_rows"]
        windows = list(zip(found.results.keys.to_pylist(), found.results.window.tolist(), strict=True))
        for each, output in zip(windows, found.results.outputs[0].tolist(), strict=True):
            assert each not in self.found, f"window {each} came twice"
            self.found[each] = output
        return windows


def expected(spec: WindowSpec, rows: Sequence[tuple[Any, int, int]]) -> dict[tuple[Any, int], int]:
    """By counting: the windows of each key, whose rows are in the order of their numbers."""
    found = {}
    for key in {key for key, *_ in rows}:
        values = [value for each, _, value in sorted(rows) if each == key]
        for window in range(max((len(values) - spec.length) // spec.every + 1, 0)):
            held = values[window * spec.every : window * spec.every + spec.length]
            found[key, window] = hash(tuple(map(np.int64, held)))
    return found


@st.composite
def specs(draw: st.DrawFn) -> WindowSpec:
    length = draw(st.integers(1, 12))
    return WindowSpec(length, draw(st.integers(1, 2 * length)), gaps=True)


@given(specs(), st.lists(st.lists(st.sampled_from(KEYS), max_size=60), min_size=1, max_size=6), st.data())
def test_every_window_of_every_key_comes_once_right_and_in_order(
    spec: WindowSpec, batches: list[list[str]], data: st.DataObject
) -> None:
    bucket, rows, order = Bucket(spec), list[tuple[str, int, int]](), 0
    for keys in batches:
        # Orders of a key need not be dense, and may be negative.
        batch = [(key, 3 * (order + place) - 50, 7 * (order + place) % 101) for place, key in enumerate(keys)]
        order += len(keys)
        rows += batch
        windows = bucket.put(data.draw(st.permutations(batch)))
        for key in KEYS:
            mine = [window for each, window in windows if each == key]
            assert mine == sorted(mine)
        assert bucket.found == expected(spec, rows)
    assert bucket.late == 0


@given(specs(), st.lists(st.lists(st.integers(0, 60), max_size=30), max_size=5))
def test_rows_that_are_late_or_come_twice_are_dropped_and_counted(spec: WindowSpec, orders: list[list[int]]) -> None:
    bucket, wanted, late, last = Bucket(spec), list[tuple[str, int, int]](), 0, -1
    for batch in orders:
        seen = sorted({order for order in batch if order > last})
        late += len(batch) - len(seen)
        wanted += [("a", order, order) for order in seen]
        last = max([last, *seen])
        bucket.put([("a", order, order) for order in batch])
    assert bucket.found == expected(spec, wanted)
    assert bucket.late == late


def test_a_key_that_never_fills_a_window_gives_nothing_and_keeps_fewer_rows_than_a_window() -> None:
    bucket = Bucket(WindowSpec(3, 1))
    for order in range(20):
        windows = bucket.put([("often", order, 0)] if order else [("often", 0, 0), ("once", 0, 0)])
        assert all(key == "often" for key, _ in windows)
    assert len(bucket.found) == 18
    assert bucket.kept is not None
    keys, tail = bucket.counted._open(bucket.kept)
    assert dict(zip(keys.names.to_pylist(), keys.lengths.tolist(), strict=True)) == {"often": 2, "once": 1}
    assert len(tail) == 3


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        (pa.bool_(), [True, False]),
        (pa.int8(), [-1, 5]),
        (pa.int16(), [300, 5]),
        (pa.int32(), [2**31 - 1, 5]),
        (pa.int64(), [-(2**63), 5]),
        (pa.date32(), [date(1, 1, 1), date(2026, 2, 28)]),
        (pa.string(), ["", "å\x00"]),
    ],
    ids=str,
)
def test_keys_of_every_type_have_windows_of_their_own(kind: Any, keys: list[Any]) -> None:
    bucket = Bucket(WindowSpec(2, 1), kind)
    for order in range(4):
        bucket.put([(key, order, order + place) for place, key in enumerate(keys)])
    assert set(bucket.found) == {(key, window) for key in keys for window in range(3)}


def test_what_another_definition_kept_is_refused() -> None:
    bucket = Bucket(WindowSpec(4, 2), buckets=2)
    bucket.put([("a", 1, 1)])
    others = [
        (Counted(bucket.counted.shape, WindowSpec(5, 2), {"buckets": 2}), r"rows\(4, every=2\), .* rows\(5, every=2\)"),
        (Counted(bucket.counted.shape, WindowSpec(4, 2), {"buckets": 3}), "buckets=2, the query has buckets=3"),
        (Counted(Shape(("float64",), pa.string()), WindowSpec(4, 2), {"buckets": 2}), "columns=.*int64.* float64"),
        (Counted(Shape(("int64",), pa.int32()), WindowSpec(4, 2), {"buckets": 2}), "key=string, .* key=int32"),
    ]
    for other, message in others:
        with pytest.raises(PenstockError, match=message.replace(" float64", ".*float64")):
            other.step(bucket.kept, [], run)


def test_what_a_later_release_kept_is_refused() -> None:
    bucket = Bucket(WindowSpec(4, 2))
    bucket.put([("a", 1, 1)])
    assert bucket.kept is not None
    bucket.kept = b"\x09" + bucket.kept[1:]
    with pytest.raises(PenstockError, match="in format 9, this release reads 1"):
        bucket.put([("a", 2, 2)])


def test_of_rows_with_one_order_the_same_one_stays_in_whatever_order_they_come() -> None:
    shape = Shape(("int64",), pa.string())
    rows = [Rows(np.array([1, 2]), (np.array([5, value]),), pa.array(["a", "a"])) for value in (7, 9)]
    found = []
    for blocks in (rows, rows[::-1]):
        step = Counted(shape, WindowSpec(2, 1)).step(None, [shape.packed(each) for each in blocks], total)
        found.append(step.results.outputs[0].tolist())
    assert found == [[12.0], [12.0]]


def total(columns: Any, lo: Any, hi: Any) -> Any:
    return [np.array([columns[0][start:end].sum() for start, end in zip(lo, hi, strict=True)], float)], None
