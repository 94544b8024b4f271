from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.spark.observe import lane as lanes
from penstock.spark.observe.lane import MOST_WAITING, Lane


class Held:
    """A handler that holds the first event until it is let go."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self.in_hand = threading.Event()
        self.go_on = threading.Event()

    def __call__(self, event: dict[str, Any]) -> None:
        self.in_hand.set()
        self.go_on.wait()
        self.seen.append(event)


def lane_of(handler: Held) -> Lane:
    lane = Lane("penstock-test", handler)
    lane.put({"kind": "offsets", "number": -1})
    handler.in_hand.wait()
    return lane


def let_go(lane: Lane, handler: Held) -> None:
    handler.go_on.set()
    lane.close()
    lane.join()


def test_a_lane_that_is_stuck_holds_a_bounded_number_of_events_and_tells_what_it_dropped():
    handler = Held()
    lane = lane_of(handler)
    for number in range(3 * MOST_WAITING):
        lane.put({"kind": "progress" if number % 10 == 0 else "offsets", "number": number})
    assert len(lane._inbox) <= MOST_WAITING + 1
    lane.put({"kind": "terminated"})
    let_go(lane, handler)
    kept = [event["number"] for event in handler.seen if "number" in event]
    assert kept == list(range(-1, MOST_WAITING - 1))
    dropped, terminated = handler.seen[-2:]
    assert dropped == {"kind": "dropped", "events": 2 * MOST_WAITING + 1, "batches": 200}
    assert terminated == {"kind": "terminated"}


def test_an_event_that_was_put_first_comes_after_the_one_in_hand_and_before_those_that_wait():
    handler = Held()
    lane = lane_of(handler)
    lane.put({"kind": "progress"})
    lane.put({"kind": "resumed"}, first=True)
    let_go(lane, handler)
    assert [event["kind"] for event in handler.seen] == ["offsets", "resumed", "progress"]


def test_a_job_is_superseded_where_a_later_report_of_its_batch_waits():
    handler = Held()
    lane = lane_of(handler)
    for kind, batch in (("job", 1), ("job", 1), ("job", 2), ("progress", 1), ("job", 3), ("progress", 2)):
        lane.put({"kind": kind, "batch": batch})
    let_go(lane, handler)
    jobs = [(event["batch"], event["superseded"]) for event in handler.seen if event["kind"] == "job"]
    assert jobs == [(1, True), (1, True), (2, True), (3, False)]


def test_a_lane_is_stuck_by_the_age_of_the_event_in_hand_also_where_each_is_done_with_soon(
    monkeypatch: pytest.MonkeyPatch,
):
    now_s = [100.0]
    monkeypatch.setattr(lanes, "time", SimpleNamespace(monotonic=lambda: now_s[0]))
    turn, done = threading.Semaphore(0), threading.Semaphore(0)

    def handle(event: dict[str, Any]) -> None:
        turn.acquire()
        done.release()

    lane = Lane("penstock-test", handle)
    for _ in range(3):
        lane.put({"kind": "progress"})
    stuck = []
    for _ in range(3):
        now_s[0] += 4.0
        stuck.append(lane.stuck_on(10.0) is not None)
        turn.release()
        done.acquire()
    lane.close()
    lane.join()
    assert stuck == [False, False, True]
    assert lane.stuck_on(0.0) is None
