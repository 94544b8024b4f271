"""Sliding batches: a row goes to every replica that computes a window with it, and to no other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadInputError
from penstock.stages.windows.schedule import NEVER, Epoch, Schedule, schedule_of
from penstock.stages.windows.spec import WindowSpec, rows_spec, time_spec

MANY = 1_000


@st.composite
def specs(draw: st.DrawFn, gaps: bool = True) -> WindowSpec:
    length = draw(st.integers(1, 20))
    return WindowSpec(length, draw(st.integers(1, 2 * length if gaps else length)), gaps=True)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    firsts = sorted(draw(st.sets(st.integers(1, 60), max_size=3)) | {0})
    small = st.integers(1, 5)
    return Schedule(draw(specs()), tuple(Epoch(first, draw(small), draw(small)) for first in firsts))


def turn(schedule: Schedule, window: int) -> int:
    """By counting: whose turn a window is."""
    epoch = max((each for each in schedule.epochs if each.first <= window), key=lambda each: each.first)
    return (window - epoch.first) // epoch.batch % epoch.replicas


@given(specs(gaps=False), st.integers(1, 8), st.integers(0, 500))
def test_with_a_replica_a_batch_routing_is_algorithm_1_of_the_paper(spec: WindowSpec, batch: int, row: int) -> None:
    epoch = Epoch(0, batch, MANY)
    rows, slide = epoch.batch_rows(spec), epoch.batch_slide(spec)
    first = 0 if row < rows else -(-(row + 1 - rows) // slide)
    last = -(-(row + 1) // slide) - 1
    routed = Schedule(spec, (epoch,)).destinations(np.array([row]))
    assert sorted(routed) == list(range(first, last + 1))


@given(schedules(), st.permutations(range(150)))
def test_a_row_goes_to_exactly_the_replicas_that_compute_a_window_with_it(schedule: Schedule, at: list[int]) -> None:
    routed = {(int(at[i]), replica) for replica, found in schedule.destinations(np.array(at)).items() for i in found}
    spec = schedule.spec
    holds = {
        (row, turn(schedule, window))
        for window in range(max(at) // spec.every + 1)
        for row in range(window * spec.every, window * spec.every + spec.length)
        if row <= max(at)
    }
    assert routed == holds


@given(schedules(), st.integers(0, 120), st.integers(0, 100), st.integers(0, 5))
def test_turns_are_those_found_by_counting(schedule: Schedule, first: int, more: int, replica: int) -> None:
    mine = [window for window in range(first, first + more) if turn(schedule, window) == replica]
    assert schedule.in_turn(first, first + more, replica).tolist() == mine
    assert schedule.turns(first, first + more, replica) == len(mine)
    upcoming = (window for window in range(first, first + 500) if turn(schedule, window) == replica)
    assert schedule.next_turn(first, replica) == next(upcoming, NEVER)


@given(specs(), st.integers(1, 6), st.integers(1, 6))
def test_copies_are_the_mean_number_of_replicas_a_row_goes_to(spec: WindowSpec, batch: int, replicas: int) -> None:
    epoch = Epoch(0, batch, replicas)
    # From a row on that all batches could hold, over a whole round of them.
    begin = epoch.batch_rows(spec) * replicas * spec.every
    rows = np.arange(begin, begin + epoch.batch_slide(spec) * replicas)
    routed = Schedule(spec, (epoch,)).destinations(rows)
    assert epoch.copies(spec) == pytest.approx(sum(map(len, routed.values())) / len(rows))


@given(schedules())
def test_a_schedule_comes_back_from_a_plan(schedule: Schedule) -> None:
    assert schedule_of(schedule.spec, schedule.to_part()["epochs"]) == schedule


NO_SCHEDULES: list[tuple[list[tuple[int, int, int]], str]] = [
    ([(0, 0, 1)], "batch"),
    ([(0, 1, 0)], "replicas"),
    ([(0, 1, 8_401)], "replicas"),
    ([], "epochs"),
    ([(0, 1, 1), (0, 2, 2)], "epochs"),
    ([(5, 1, 1), (3, 1, 1)], "epochs"),
]


@pytest.mark.parametrize(("epochs", "field"), NO_SCHEDULES)
def test_what_is_no_schedule_is_refused(epochs: list[tuple[int, int, int]], field: str) -> None:
    with pytest.raises(BadInputError, match=f"^{field} = "):
        schedule_of(WindowSpec(5, 1), epochs)


@pytest.mark.parametrize("length", [0, -3, 2.0, True, "5"])
def test_what_is_no_length_in_rows_is_refused(length: object) -> None:
    with pytest.raises(BadInputError, match=r"^length = "):
        rows_spec(length, 1)


@pytest.mark.parametrize("every", [0, 6, 1.5])
def test_what_is_no_slide_of_five_rows_is_refused(every: object) -> None:
    with pytest.raises(BadInputError, match=r"^every = "):
        rows_spec(5, every)


TIMES = [("0 s", None), ("1 s", "0 s"), ("1 s", "2 s"), ("soon", None), (-1, None), (float("nan"), None), (True, None)]


@pytest.mark.parametrize(("length", "every"), TIMES)
def test_what_is_no_window_of_time_is_refused(length: Any, every: Any) -> None:
    with pytest.raises(BadInputError):
        time_spec(length, every)


def test_gaps_and_tumbling_windows_are_allowed_where_they_are_meant() -> None:
    assert rows_spec(5, 6, gaps=True).every == 6
    assert rows_spec(np.int64(5), None) == WindowSpec(5, 5)
    assert time_spec("1 s", None) == time_spec(1, 1.0) == WindowSpec(1_000_000, 1_000_000, "time")
