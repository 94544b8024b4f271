from __future__ import annotations

from pathlib import Path

import pytest

from penstock.control.fixed import Fixed
from penstock.control.lag_guard import LagGuard
from penstock.control.loop import Loop
from penstock.errors import BadInputError
from penstock.journal import Journal, last_size, read
from penstock.sample import BatchSample, Decision
from penstock.slo import Slo
from penstock.testing.fakes import FakeGate


def sample(batch_id: int, wait_s: float | None, size: float = 100, backlog: float = 1000) -> BatchSample:
    return BatchSample(batch_id=batch_id, size=size, items=int(size), processing_s=1.0, wait_s=wait_s, backlog=backlog)


def sizes(guard: LagGuard, *samples: BatchSample) -> list[float]:
    return [guard.correct(each, Decision(100, "as decided")).size for each in samples]


def test_far_from_danger_nothing_changes():
    assert sizes(LagGuard(60), sample(0, 10), sample(1, 28.9)) == [100, 100]
    assert sizes(LagGuard(), sample(0, 1e9)) == [100]
    assert sizes(LagGuard(60), sample(0, None)) == [100]


def test_near_danger_the_batch_doubles_until_the_lag_falls():
    guard = LagGuard(60)
    growing = sizes(guard, sample(0, 30), sample(1, 35, size=200), sample(2, 36, size=400), sample(3, 34, size=800))
    assert growing == [200, 400, 800, 800]


def test_a_batch_seen_twice_counts_once():
    guard = LagGuard(60)
    assert sizes(guard, sample(0, 30), sample(1, 40, size=200), sample(1, 40, size=200)) == [200, 400, 400]


def test_where_nothing_waits_there_is_nothing_to_lose():
    assert sizes(LagGuard(60), sample(0, 50, backlog=0)) == [100]


def test_waiting_for_more_ends_in_danger():
    decision = LagGuard(60).correct(sample(0, 50, size=40), Decision(100, "waits", min_size=100, max_wait_s=5.0))
    assert (decision.size, decision.min_size, decision.max_wait_s) == (100, None, None)


def test_the_lower_limit_counts():
    guard = LagGuard(3600)
    guard.limit(60)
    guard.limit(7200)
    assert guard.max_lag_s == 60


def test_the_beginning_and_the_end_of_a_danger_are_told_once():
    guard = LagGuard(60)
    told = []
    for each in (sample(0, 1), sample(1, 40), sample(2, 45), sample(3, 2), sample(4, 1)):
        guard.correct(each, Decision(100, "as decided"))
        told.append(guard.news())
    assert [text and text.rsplit(": ")[1] for text in told] == [
        None,
        "batches grow until that falls",
        None,
        "out of danger",
        None,
    ]


@pytest.mark.parametrize("age", [0, -5.0, float("nan")])
def test_what_is_no_age_is_refused(age: float):
    with pytest.raises(BadInputError, match=r"max_lag.*not an age"):
        LagGuard(age)


def test_the_loop_applies_and_journals_what_the_guard_says(tmp_path: Path):
    slo, gate = Slo.parse("1 s ± 10%"), FakeGate()
    loop = Loop(slo, Fixed(slo, 100), gate, Journal.open(tmp_path / "j.jsonl", {}), guard=LagGuard(60))
    loop.observe(sample(0, 40))
    assert loop.size == gate.applied[-1].size == 200
    assert [event.name for event in read(tmp_path / "j.jsonl").events] == ["lag-guard"]


def test_the_last_size_is_that_of_the_last_opening(tmp_path: Path):
    path = tmp_path / "j.jsonl"
    for slo, size in (("1 s", 500.0), ("2 s", 900.0)):
        journal = Journal.open(path, {"slo": slo})
        for batch_id in range(2000):
            journal.decision(batch_id, Decision(size, "filler " * 20), applied=True)
        journal.decision(2000, Decision(7, "not applied"), applied=False)
        journal.close()
    assert last_size(path, {"slo": "2 s"}) == 900.0
    assert last_size(path, {"slo": "1 s"}) is None
    assert last_size(tmp_path / "none.jsonl", {}) is None


def test_the_header_of_a_long_journal_is_found_at_its_beginning(tmp_path: Path):
    path = tmp_path / "j.jsonl"
    journal = Journal.open(path, {"slo": "1 s"})
    for batch_id in range(5000):
        journal.decision(batch_id, Decision(500.0, "filler " * 20), applied=True)
    assert last_size(path, {"slo": "1 s"}) == 500.0


def test_no_limit_and_a_torn_end_are_no_size(tmp_path: Path):
    path = tmp_path / "j.jsonl"
    journal = Journal.open(path, {})
    journal.decision(0, Decision(2.0**53, "all there is"), applied=True)
    journal.close()
    assert last_size(path, {}) is None
    path.write_bytes(path.read_bytes()[:-30])
    assert last_size(path, {}) is None
