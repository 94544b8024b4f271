"""Windows over numbered rows: each once and right, however rows come and whatever B and n are meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadInputError, PenstockError
from penstock.stages.windows.blocks import Rows, Shape
from penstock.stages.windows.numbered import Numbered
from penstock.stages.windows.schedule import Epoch, Schedule
from penstock.stages.windows.spec import WindowSpec
from penstock.stages.windows.switch import HARD, SOFT, switch

small = st.integers(1, 5)


def run(columns: Sequence[Any], lo: Any, hi: Any) -> Any:
    """The rows of each window themselves, so that one row too many or in another place shows."""
    return [np.array([hash(tuple(columns[0][a:b])) for a, b in zip(lo, hi, strict=True)], np.int64)], None


def values(rows: Iterable[int]) -> Any:
    """What row i holds."""
    return np.array([7 * row % 1_001 for row in rows], np.int64)


class Stream:
    """Rows on their way to replicas, as Spark would send them."""

    def __init__(self, schedule: Schedule, **how: Any) -> None:
        self.schedule = schedule
        self.numbered = Numbered(Shape(("int64",)), **how)
        self.kept: dict[int, bytes | None] = {}
        self.found: dict[int, int] = {}
        self.late = self.skipped = 0.0

    def put(self, rows: Sequence[int]) -> list[int]:
        """One batch of rows; returns the windows that it completed."""
        at, numbers, more = np.array(rows, np.int64), self.numbered, []
        for replica, chosen in self.schedule.destinations(at).items():
            # In two blocks, as of two partitions.
            blocks = [numbers.shape.packed(Rows(some, (values(some),))) for some in np.array_split(at[chosen], 2)]
            found = numbers.step(self.kept.get(replica), blocks, self.schedule, replica, run)
            self.kept[replica] = found.value
            self.late += found.counts["late_rows"]
            self.skipped += found.counts["skipped_windows"]
            for window, start, end, output in zip(
                found.results.window, found.results.start, found.results.end, found.results.outputs[0], strict=True
            ):
                assert int(window) not in self.found, f"window {window} came twice"
                assert (start, end) == (window * numbers_every(self), start + self.schedule.spec.length)
                self.found[int(window)] = int(output)
                more.append(int(window))
        return more


def numbers_every(stream: Stream) -> int:
    return stream.schedule.spec.every


def expected(spec: WindowSpec, rows: int, without: Iterable[int] = ()) -> dict[int, int]:
    """Every window whose rows are among the first so many, and not among those left out."""
    missing, found = set(without), {}
    for window in range(max((rows - spec.length) // spec.every + 1, 0)):
        held = range(window * spec.every, window * spec.every + spec.length)
        if not missing.intersection(held):
            found[window] = hash(tuple(values(held)))
    return found


@st.composite
def schedules(draw: st.DrawFn, gaps: bool = False) -> Schedule:
    length = draw(st.integers(1, 20))
    spec = WindowSpec(length, draw(st.integers(1, 2 * length if gaps else length)), gaps=True)
    return Schedule(spec, (Epoch(0, draw(small), draw(small)),))


@given(st.data())
def test_every_window_comes_once_and_right_whatever_batches_order_and_changes_there_are(data: st.DataObject) -> None:
    stream = Stream(data.draw(schedules(gaps=True)))
    spec, at = stream.schedule.spec, 0
    for rows in data.draw(st.lists(st.integers(1, 60), min_size=1, max_size=8)):
        if data.draw(st.booleans()):
            asked = at + data.draw(st.integers(0, 30))
            change = switch(
                stream.schedule, asked, data.draw(small), data.draw(small), data.draw(st.sampled_from([SOFT, HARD]))
            )
            stream.schedule = stream.schedule.followed_by(change.epoch)
        stream.put(data.draw(st.permutations(range(at, at + rows))))
        at += rows
        # As soon as its last row is there, and not when its sliding batch is.
        assert stream.found == expected(spec, at)
    assert (stream.late, stream.skipped) == (0, 0)


@given(schedules(), st.permutations(range(100)), st.lists(st.integers(1, 40), min_size=1))
def test_rows_that_come_in_any_order_over_all_batches_give_the_same_windows(
    schedule: Schedule, order: list[int], cuts: list[int]
) -> None:
    stream, at = Stream(schedule), 0
    for rows in [*cuts, len(order)]:
        stream.put(order[at : at + rows])
        at += rows
    assert stream.found == expected(schedule.spec, len(order))
    assert stream.late == 0


@given(schedules(), st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=30), max_size=6))
def test_rows_that_come_again_are_dropped_and_counted(schedule: Schedule, again: list[list[int]]) -> None:
    stream = Stream(schedule)
    stream.put(range(60))
    for rows in again:
        stream.put([row for row in rows if row < 60])
    assert stream.late == sum(
        len(chosen)
        for rows in again
        for chosen in schedule.destinations(np.array([row for row in rows if row < 60], np.int64)).values()
    )
    stream.put(range(60, 100))
    assert stream.found == expected(schedule.spec, 100)


def test_of_two_rows_with_one_number_the_first_counts() -> None:
    schedule = Schedule(WindowSpec(2, 2), (Epoch(0, 1, 1),))
    numbered = Numbered(Shape(("int64",)))
    first = numbered.step(None, [numbered.shape.packed(Rows(np.array([0]), (np.array([5]),)))], schedule, 0, run)
    rows = Rows(np.array([0, 1]), (np.array([6, 7]),))
    found = numbered.step(first.value, [numbered.shape.packed(rows)], schedule, 0, run)
    assert found.results.outputs[0].tolist() == [hash((5, 7))]
    assert found.counts["late_rows"] == 1


@given(schedules(), st.sets(st.integers(0, 199), min_size=1, max_size=5), st.lists(st.integers(1, 60), min_size=1))
def test_windows_without_a_missing_row_are_unaffected_where_such_windows_are_skipped(
    schedule: Schedule, missing: set[int], cuts: list[int]
) -> None:
    stream, at = Stream(schedule, missing="skip", ahead=0), 0
    for rows in [*cuts, 200]:
        stream.put([row for row in range(at, min(at + rows, 200)) if row not in missing])
        at += rows
    assert stream.found == expected(schedule.spec, 200, missing)


def test_skipped_windows_are_counted_and_a_row_that_comes_after_all_is_late() -> None:
    spec = WindowSpec(4, 2)
    stream = Stream(Schedule(spec, (Epoch(0, 1, 1),)), missing="skip", ahead=5)
    assert stream.put([*range(7), *range(8, 13)]) == [0, 1]
    assert stream.put([13]) == [4, 5]
    assert (stream.skipped, stream.late) == (2, 0)
    stream.put([7])
    assert (stream.skipped, stream.late) == (2, 1)
    assert stream.put([14, 15]) == [6]


def test_a_missing_row_fails_once_more_than_ahead_rows_have_come_behind_it() -> None:
    stream = Stream(Schedule(WindowSpec(4, 2), (Epoch(0, 1, 1),)), ahead=5)
    stream.put([*range(7), *range(8, 13)])
    with pytest.raises(PenstockError, match="row 7 is missing, and 6 rows after it have come"):
        stream.put([13])


def test_a_missing_row_that_comes_in_time_does_no_harm() -> None:
    stream = Stream(Schedule(WindowSpec(4, 2), (Epoch(0, 1, 1),)), ahead=5)
    stream.put([*range(7), *range(8, 13)])
    assert stream.put([7, 13]) == [2, 3, 4, 5]


def test_a_row_with_a_number_far_off_the_others_costs_no_memory_and_is_held() -> None:
    stream = Stream(Schedule(WindowSpec(4, 1), (Epoch(0, 2, 3),)))
    far = 2**38
    stream.put([*range(10), far])
    stream.put(range(10, 20))
    assert stream.found == expected(stream.schedule.spec, 20)
    skipping = Stream(Schedule(WindowSpec(4, 1), (Epoch(0, 2, 1),)), missing="skip", ahead=0)
    assert skipping.put([*range(4), *range(far, far + 4)]) == [0, far]
    assert skipping.skipped == far - 1


def test_windows_may_be_as_long_as_no_stream_ever_is() -> None:
    stream = Stream(Schedule(WindowSpec(10**9, 10**9), (Epoch(0, 1, 2),)))
    stream.schedule = stream.schedule.followed_by(Epoch(2, 1, 1))
    assert stream.put(range(10)) == []
    assert stream.put([10**9 + 1, 2 * 10**9]) == []


@pytest.mark.parametrize("spec", [WindowSpec(5, 2), WindowSpec(4, 1), WindowSpec(4, 2, "time")])
def test_what_other_windows_kept_is_refused(spec: WindowSpec) -> None:
    stream = Stream(Schedule(WindowSpec(4, 2), (Epoch(0, 1, 1),)))
    stream.put(range(5))
    stream.schedule = Schedule(spec, stream.schedule.epochs)
    with pytest.raises(PenstockError, match=r"the checkpoint was made with .*rows\(4, every=2\)"):
        stream.put([5])


def test_a_schedule_older_than_what_was_kept_is_refused() -> None:
    before = Schedule(WindowSpec(4, 2), (Epoch(0, 1, 1),))
    stream = Stream(before.followed_by(Epoch(8, 2, 2)))
    stream.put(range(17))
    stream.schedule = before
    with pytest.raises(PenstockError, match=r"windows\(..., journal=\) with the journal of attach"):
        stream.put([17])


def test_a_change_that_has_not_begun_may_be_replaced_by_another_one() -> None:
    before = Schedule(WindowSpec(4, 2), (Epoch(0, 1, 1),))
    stream = Stream(before.followed_by(Epoch(8, 2, 2)))
    stream.put(range(5))
    stream.schedule = before.followed_by(Epoch(6, 3, 2))
    stream.put(range(5, 40))
    assert stream.found == expected(before.spec, 40)


def test_windows_that_wait_for_a_row_are_not_dropped_with_their_epoch() -> None:
    before = Schedule(WindowSpec(4, 2), (Epoch(0, 1, 1),))
    stream = Stream(before)
    stream.put([row for row in range(30) if row != 6])
    stream.schedule = Schedule(before.spec, (Epoch(15, 2, 2),))
    with pytest.raises(PenstockError, match="its windows have left the plan"):
        stream.put(range(30, 40))


def test_a_change_that_holds_from_a_row_on_that_has_come_is_refused() -> None:
    before = Schedule(WindowSpec(4, 2), (Epoch(0, 1, 1),))
    stream = Stream(before)
    stream.put(range(17))
    stream.schedule = before.followed_by(Epoch(8, 2, 2))
    with pytest.raises(PenstockError, match=r"rows up to 16 went to windows with batch=1, replicas=1, .* has batch=2"):
        stream.put([17])
    stream.schedule = before.followed_by(Epoch(9, 2, 2))
    stream.put(range(17, 30))
    assert stream.found == expected(before.spec, 30)


@pytest.mark.parametrize("epoch", [Epoch(0, 2, 2), Epoch(0, 1, 3)])
def test_other_numbers_of_windows_and_replicas_than_before_are_refused(epoch: Epoch) -> None:
    stream = Stream(Schedule(WindowSpec(4, 2), (Epoch(0, 1, 2),)))
    stream.put(range(5))
    stream.schedule = Schedule(WindowSpec(4, 2), (epoch,))
    with pytest.raises(PenstockError, match=r"went to windows with batch=1, replicas=2, .* has batch=\d, replicas=\d"):
        stream.put(range(5, 20))


def test_a_way_to_treat_missing_rows_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BadInputError, match="missing = 'ignore'"):
        Numbered(Shape(("int64",)), missing="ignore")
