"""Windows in time: each once, when the watermark has passed its end, whatever batches, order and keys there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.errors import PenstockError
from penstock.stages.windows.blocks import Rows, Shape
from penstock.stages.windows.spec import TIME, WindowSpec
from penstock.stages.windows.timed import END_OF_TIME_US, Timed

KEYS = ["a", "b", "cc"]
# Some 8,000 years from 1970, in microseconds: what Spark's timestamps can say.
FAR = 25 * 10**16
Row = tuple[str, int, int]


def run(columns: Sequence[Any], lo: Any, hi: Any) -> Any:
    """The rows of each window themselves, so that one row too many or in another place shows."""
    assert (lo < hi).all(), "a window without a row was computed"
    return [np.array([hash(tuple(columns[0][a:b])) for a, b in zip(lo, hi, strict=True)], np.int64)], None


class Bucket:
    def __init__(self, spec: WindowSpec, **fixed: Any) -> None:
        self.timed = Timed(Shape(("int64",), pa.string()), spec, fixed)
        self.kept: bytes | None = None
        self.found: dict[tuple[str, int], int] = {}
        self.late = 0.0

    def put(self, rows: Sequence[Row], watermark: int) -> int | None:
        """One batch of (key, time, value), in two blocks; returns when to look again."""
        shape, blocks = self.timed.shape, []
        for some in (rows[: len(rows) // 2], rows[len(rows) // 2 :]) if rows else ():
            keys = pa.array([key for key, *_ in some], pa.string())
            at, values = (np.array([row[place] for row in some], np.int64) for place in (1, 2))
            blocks.append(shape.packed(Rows(at, (values,), keys)))
        found = self.timed.step(self.kept, blocks, watermark, run)
        self.kept = found.value
        self.late += found.counts["late_rows"]
        results = found.results
        for key, window, output in zip(results.keys.to_pylist(), results.window, results.outputs[0], strict=True):
            assert (key, int(window)) not in self.found, f"window {window} of {key} came twice"
            self.found[key, int(window)] = int(output)
        return found.wake_us


def expected(spec: WindowSpec, rows: Sequence[Row], watermark: int = END_OF_TIME_US) -> dict[tuple[str, int], int]:
    """By looking at every row: the windows that have ended and hold one."""
    held: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for key, at, value in rows:
        window = at // spec.every
        while window * spec.every + spec.length > at:
            if window * spec.every + spec.length <= watermark:
                held.setdefault((key, window), []).append((at, value))
            window -= 1
    return {each: hash(tuple(np.int64(value) for _, value in sorted(some))) for each, some in held.items()}


@st.composite
def specs(draw: st.DrawFn) -> WindowSpec:
    length = draw(st.integers(1, 20))
    return WindowSpec(length, draw(st.integers(1, 2 * length)), TIME, gaps=True)


def rows_of(times: st.SearchStrategy[int]) -> st.SearchStrategy[list[Row]]:
    return st.lists(st.tuples(st.sampled_from(KEYS), times, st.integers(0, 5)), max_size=40)


@given(specs(), st.lists(st.tuples(rows_of(st.integers(0, 100)), st.integers(0, 60)), min_size=1, max_size=6))
def test_every_window_with_a_row_comes_once_when_the_watermark_has_passed_its_end(
    spec: WindowSpec, batches: list[tuple[list[Row], int]]
) -> None:
    bucket, rows, watermark = Bucket(spec), list[Row](), -100
    for batch, ahead in batches:
        # As from a source that keeps its promise: no row is older than the watermark of the batch before.
        batch = [(key, at + max(watermark, -50), value) for key, at, value in batch]
        rows += batch
        watermark = max(watermark, min([at for _, at, _ in batch], default=watermark) + ahead - 60)
        wake = bucket.put(batch, watermark)
        assert bucket.found == expected(spec, rows, watermark)
        if later := [end(spec, each) for each in expected(spec, rows) if each not in bucket.found]:
            assert wake is not None
            assert watermark < wake <= min(later)
    bucket.put([], END_OF_TIME_US)
    assert bucket.found == expected(spec, rows)
    assert bucket.late == 0


@given(specs(), rows_of(st.integers(0, 100)), rows_of(st.integers(0, 100)), st.integers(0, 120))
def test_a_row_whose_windows_were_all_computed_is_dropped_and_counted(
    spec: WindowSpec, before: list[Row], after: list[Row], watermark: int
) -> None:
    spec = WindowSpec(spec.length, min(spec.length, spec.every), TIME)
    bucket = Bucket(spec)
    bucket.put(before, watermark)
    bucket.put(after, watermark)
    assert bucket.late == sum(end(spec, (key, at // spec.every)) <= watermark for key, at, _ in after)
    bucket.put([], END_OF_TIME_US)
    # A late row is in those of its windows that were yet to come, and in no other.
    to_come = {each: held for each, held in expected(spec, before + after).items() if end(spec, each) > watermark}
    assert bucket.found == expected(spec, before, watermark) | to_come


def end(spec: WindowSpec, window: tuple[str, int]) -> int:
    return window[1] * spec.every + spec.length


@given(specs(), rows_of(st.one_of(st.integers(-FAR, FAR), st.integers(0, 50))))
@example(WindowSpec(5, 2, TIME), [("a", -FAR, 1), ("b", 3, 2), ("cc", FAR, 3), ("a", 4, 4)])
def test_times_thousands_of_years_apart_do_not_mix_keys_or_windows(spec: WindowSpec, rows: list[Row]) -> None:
    bucket = Bucket(spec)
    bucket.put(rows, END_OF_TIME_US)
    assert bucket.found == expected(spec, rows)


@given(specs(), st.lists(st.integers(0, 40), min_size=1, max_size=20), st.data())
def test_rows_of_one_time_give_the_same_result_in_any_order_and_any_batches(
    spec: WindowSpec, values: list[int], data: st.DataObject
) -> None:
    rows = [("a", value % 3, value) for value in values]
    mixed = data.draw(st.permutations(rows))
    cut = data.draw(st.integers(0, len(rows)))
    whole, parts = Bucket(spec), Bucket(spec)
    whole.put(rows, END_OF_TIME_US)
    parts.put(mixed[:cut], -100)
    parts.put(mixed[cut:], -100)
    parts.put([], END_OF_TIME_US)
    assert parts.found == whole.found


def test_nothing_is_kept_of_windows_that_have_ended() -> None:
    bucket = Bucket(WindowSpec(10, 5, TIME))
    assert bucket.put([("a", at, at) for at in range(100)], 100) == 105
    assert len(bucket.timed._open(bucket.kept)[1]) == 5
    assert bucket.put([], 110) is None
    assert len(bucket.timed._open(bucket.kept)[1]) == 0


def test_a_watermark_never_goes_back() -> None:
    bucket = Bucket(WindowSpec(10, 10, TIME))
    bucket.put([("a", 5, 1)], 20)
    bucket.put([("a", 6, 1)], 0)
    assert list(bucket.found) == [("a", 0)]
    assert bucket.late == 1


def test_what_another_definition_kept_is_refused() -> None:
    bucket = Bucket(WindowSpec(10_000_000, 10_000_000, TIME), buckets=2)
    bucket.put([("a", 5, 1)], 0)
    shape = bucket.timed.shape
    with pytest.raises(PenstockError, match=r"span\('10 s', every='10 s'\), .* span\('20 s', every='10 s'\)"):
        Timed(shape, WindowSpec(20_000_000, 10_000_000, TIME), {"buckets": 2}).step(bucket.kept, [], 0, run)
    with pytest.raises(PenstockError, match="buckets=2, the query has buckets=1"):
        Timed(shape, bucket.timed.spec, {"buckets": 1}).step(bucket.kept, [], 0, run)
