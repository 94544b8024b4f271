from __future__ import annotations

import math
import threading
from pathlib import Path

import pytest

from penstock.clock import ManualClock
from penstock.control.base import BaseController
from penstock.control.deadline import Deadline
from penstock.control.faf import Faf
from penstock.control.fixed import Fixed
from penstock.control.lag_guard import LagGuard
from penstock.control.loop import Loop
from penstock.control.registry import create
from penstock.control.wrappers import Bounded
from penstock.errors import UnsupportedError
from penstock.journal import Journal, read
from penstock.sample import BatchSample, Decision, Status
from penstock.slo import Slo
from penstock.testing.fakes import FakeGate

SLO = Slo.parse("1 s ± 10%")
SLOW, GOOD, QUICK = 2.0, 1.0, 0.2


def sample(batch_id: int, processing_s: float = QUICK, **fields: object) -> BatchSample:
    return BatchSample(**{"batch_id": batch_id, "size": 100, "items": 100, "processing_s": processing_s, **fields})


class Failing(BaseController):
    """Fails on every second batch, after it has spoilt its own memory."""

    def plan(self, ratio: float) -> float:
        return self.size + 1

    def decide(self, sample: BatchSample) -> Decision:
        if sample.batch_id % 2:
            self.size = 1e9
            raise ZeroDivisionError("a bug")
        return super().decide(sample)


class Babbling(BaseController):
    def plan(self, ratio: float) -> float:
        return self.size

    def decide(self, sample: BatchSample) -> Decision:
        answers = [None, 250, Decision, "more", lambda: Decision(math.nan, "nan")]
        answer = answers[sample.batch_id % len(answers)]
        return answer() if callable(answer) and answer is not Decision else answer  # type: ignore[return-value]


class BrokenGate(FakeGate):
    def __init__(self, failures: int) -> None:
        super().__init__()
        self.failures = failures

    def apply(self, decision: Decision) -> None:
        if self.failures:
            self.failures -= 1
            raise UnsupportedError("not now")
        super().apply(decision)

    def restore(self) -> None:
        raise OSError("the session is gone")


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal.open(tmp_path / "run.jsonl", {})


def events(journal: Journal) -> list[str]:
    return [event.name for event in read(journal._path).events]


def test_a_refined_sample_replaces_its_estimate_in_the_controllers_memory(journal: Journal):
    gate = FakeGate()
    loop = Loop(SLO, Faf(SLO, 100, step=10), gate, journal)
    loop.start()
    loop.observe(sample(0, QUICK, confirmed=False))
    loop.observe(sample(0, QUICK, confirmed=False))
    loop.observe(sample(0, SLOW))
    assert [decision.size for decision in gate.applied] == [100, 110, 90]
    loop.observe(sample(1, QUICK))
    assert loop.size == 100


def test_a_sample_of_an_older_batch_decides_nothing(journal: Journal):
    gate = FakeGate()
    loop = Loop(SLO, Faf(SLO, 100), gate, journal)
    loop.observe(sample(5))
    assert loop.observe(sample(4, SLOW)) is None
    assert gate.size == 110


def test_a_controller_that_raises_leaves_the_last_good_size_and_its_memory_of_before(journal: Journal):
    gate = FakeGate()
    loop = Loop(SLO, Failing(SLO, 100), gate, journal)
    loop.start()
    for batch_id in range(4):
        loop.observe(sample(batch_id))
    assert [decision.size for decision in gate.applied] == [100, 101, 102]
    assert events(journal) == ["controller-fault"] * 2


def test_a_controller_that_returns_nonsense_leaves_the_last_good_size(journal: Journal):
    gate = FakeGate()
    loop = Loop(SLO, Babbling(SLO, 100), gate, journal)
    loop.start()
    for batch_id in range(5):
        assert loop.observe(sample(batch_id)) is None
    assert (gate.size, loop.size) == (100, 100)
    assert events(journal) == ["controller-fault"] * 2


def test_a_decision_on_an_estimate_that_was_no_sample_is_taken_back(journal: Journal):
    gate = FakeGate()
    loop = Loop(SLO, Faf(SLO, 100, step=10), gate, journal)
    loop.start()
    loop.observe(sample(0, confirmed=False))
    assert gate.size == 110
    loop.observe(sample(0, status=Status.CLOCK_STEP))
    assert (gate.size, loop.size) == (100, 100)


def test_a_gate_that_failed_is_tried_again_also_when_the_decision_is_the_same(journal: Journal):
    gate = BrokenGate(failures=2)
    loop = Loop(SLO, Fixed(SLO, 50), gate, journal)
    loop.start()
    loop.observe(sample(0))
    assert gate.size is None
    loop.observe(sample(1))
    assert gate.size == 50
    loop.observe(sample(1, confirmed=True))
    assert len(gate.applied) == 1
    assert [record.applied for record in read(journal._path).decisions] == [False, False, True]


def test_a_gate_that_cannot_restore_does_not_stop_the_end(journal: Journal):
    Loop(SLO, Fixed(SLO, 50), BrokenGate(failures=0), journal).stop("enough")
    assert events(journal) == ["gate-fault", "detached"]


@pytest.mark.parametrize("status", [s for s in Status if s is not Status.OK])
def test_an_ignored_batch_trains_nobody_but_is_journaled(journal: Journal, status: Status):
    gate = FakeGate()
    loop = Loop(SLO, Faf(SLO, 100), gate, journal)
    assert loop.observe(sample(0, SLOW, status=status)) is None
    assert gate.applied == []
    assert read(journal._path).samples[0].status is status


def test_blindness_gives_the_users_limit_back_once_and_the_first_usable_batch_takes_it_again(journal: Journal):
    gate = FakeGate()
    loop = Loop(SLO, Fixed(SLO, 50), gate, journal, patience=3)
    loop.start()
    for batch_id in range(2):
        loop.observe(sample(batch_id, status=Status.CLOCK_STEP))
    assert not gate.restored
    for batch_id in range(2, 9):
        loop.observe(sample(batch_id, status=Status.CLOCK_STEP))
    assert gate.restored
    assert events(journal) == ["gave-up"]
    loop.observe(sample(9, GOOD))
    assert [decision.size for decision in gate.applied] == [50, 50]


def test_a_measure_that_nobody_can_take_is_blindness(journal: Journal):
    gate = FakeGate()
    loop = Loop(Slo.parse("<= 2 s end-to-end"), Fixed(SLO, 50), gate, journal, patience=3)
    for batch_id in range(3):
        loop.observe(sample(batch_id, wait_s=None))
    assert gate.restored


@pytest.mark.parametrize("status", [Status.EMPTY, Status.WARM_UP])
def test_idle_and_warm_up_batches_are_not_blindness(journal: Journal, status: Status):
    gate = FakeGate()
    loop = Loop(SLO, Fixed(SLO, 50), gate, journal, patience=3)
    for batch_id in range(30):
        loop.observe(sample(batch_id, status=status))
    assert not gate.restored


def test_estimates_alone_never_give_up(journal: Journal):
    gate = FakeGate()
    loop = Loop(SLO, Fixed(SLO, 50), gate, journal, patience=3)
    for batch_id in range(30):
        loop.observe(sample(batch_id, status=Status.FAILED, confirmed=False))
    assert not gate.restored


def test_observing_applies_nothing_and_decides_from_the_size_that_really_ran(journal: Journal):
    gate = FakeGate()
    loop = Loop(SLO, Faf(SLO, 100, step=10), gate, journal, observe_only=True, patience=2)
    loop.start()
    loop.observe(sample(0, QUICK, size=700))
    for batch_id in range(1, 5):
        loop.observe(sample(batch_id, status=Status.CLOCK_STEP))
    loop.stop("enough")
    # Restored: a reader made with `gated` would stay at its small first limit otherwise.
    assert (gate.applied, gate.restored) == ([], True)
    decisions = read(journal._path).decisions
    assert [(record.decision.size, record.applied) for record in decisions] == [(100, False), (710, False)]


def test_a_full_disk_does_not_stop_the_loop(journal: Journal, monkeypatch: pytest.MonkeyPatch):
    def full(line: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journal, "_append", full)
    gate = FakeGate()
    loop = Loop(SLO, Faf(SLO, 100, step=10), gate, journal)
    loop.start()
    loop.observe(sample(0))
    loop.stop("enough")
    assert gate.size == 110
    assert gate.restored
    assert journal.lost == 4


class Reporter(Faf):
    """Has news of every batch slower than 1 s."""

    told: str | None = None

    def decide(self, sample: BatchSample) -> Decision:
        self.told = f"batch {sample.batch_id} took {sample.processing_s:g} s" if sample.processing_s > 1 else None
        return super().decide(sample)

    def news(self) -> str | None:
        told, self.told = self.told, None
        return told


def told(journal: Journal) -> list[str]:
    return [event.details["why"] for event in read(journal._path).events if event.name == "objective"]


def test_news_of_a_batch_is_told_once_however_often_it_is_observed(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    loop = Loop(SLO, Bounded(Reporter(SLO, 100), max_size=1000), FakeGate(), journal)
    for processing_s, confirmed in ((2.0, False), (2.5, False), (3.0, True), (3.0, True)):
        loop.observe(sample(0, processing_s, confirmed=confirmed))
    assert told(journal) == ["batch 0 took 3 s"]
    assert [record.getMessage() for record in caplog.records] == ["penstock: batch 0 took 3 s"]


def test_news_of_a_batch_that_is_never_confirmed_is_told_with_the_next_one_or_at_the_end(journal: Journal) -> None:
    loop = Loop(SLO, Reporter(SLO, 100), FakeGate(), journal)
    loop.observe(sample(0, 2.0, confirmed=False))
    assert told(journal) == []
    loop.observe(sample(1, 2.0, confirmed=False))
    loop.observe(sample(0, 9.0))
    assert told(journal) == ["batch 0 took 2 s"]
    loop.stop("enough")
    assert told(journal) == ["batch 0 took 2 s", "batch 1 took 2 s"]


@pytest.mark.parametrize("better", [{"processing_s": 0.9}, {"processing_s": 2.0, "status": Status.CLOCK_STEP}])
def test_news_of_an_estimate_that_was_wrong_is_never_told(journal: Journal, better: dict[str, object]) -> None:
    loop = Loop(SLO, Reporter(SLO, 100), FakeGate(), journal)
    loop.observe(sample(0, 2.0, confirmed=False))
    loop.observe(sample(0, **better))
    loop.observe(sample(1, 0.9))
    loop.stop("enough")
    assert told(journal) == []


def test_two_objectives_that_cannot_hold_are_told_once_through_the_loop(journal: Journal) -> None:
    slo = Slo.parse("1 s ± 10% & >= 500/s")
    loop = Loop(slo, create("faf", slo, 100), FakeGate(), journal)
    for batch_id in range(30):
        for confirmed in (False, False, True):
            loop.observe(sample(batch_id, 1.0, confirmed=confirmed))
    (news,) = told(journal)
    assert news.startswith(">= 500/s cannot hold together with 1 s ± 10%: throughput 100/s at latency 1 s")
    assert "the first has priority, so the throughput gives way" in news


class Raising(BaseController):
    """Decides well up to a batch, and raises ever after, each time with other words."""

    def __init__(self, slo: Slo, size: float, well: int = 0) -> None:
        super().__init__(slo, size)
        self.well = well

    def plan(self, ratio: float) -> float:
        return self.size + 1

    def decide(self, sample: BatchSample) -> Decision:
        if sample.batch_id >= self.well:
            raise ZeroDivisionError(f"a bug in batch {sample.batch_id}")
        return super().decide(sample)


@pytest.mark.parametrize("well", [0, 4])
def test_a_controller_that_raises_for_ever_gives_the_users_limit_back_and_is_told_once(journal: Journal, well: int):
    gate = FakeGate()
    loop = Loop(SLO, Raising(SLO, 100, well), gate, journal, patience=3)
    loop.start()
    for batch_id in range(well + 2):
        loop.observe(sample(batch_id, confirmed=False))
        loop.observe(sample(batch_id))
    assert not gate.restored
    for batch_id in range(well + 2, 30):
        loop.observe(sample(batch_id))
    assert gate.restored
    assert gate.size == 100 + well
    assert events(journal) == ["controller-fault", "gave-up"]
    loop.stop("enough")
    counted = [event.details["times"] for event in read(journal._path).events if "times" in event.details]
    assert counted == [(30 - well) + 2]


def test_a_controller_that_recovers_takes_the_limit_again(journal: Journal):
    class Recovering(Raising):
        def decide(self, sample: BatchSample) -> Decision:
            return super().decide(sample) if 2 <= sample.batch_id < 8 else Decision(77.0, "well")

    gate = FakeGate()
    loop = Loop(SLO, Recovering(SLO, 100), gate, journal, patience=3)
    for batch_id in range(8):
        loop.observe(sample(batch_id))
    assert gate.restored
    applied = len(gate.applied)
    assert loop.observe(sample(8)) is not None
    assert gate.size == 77
    assert len(gate.applied) == applied + 1
    assert events(journal) == ["controller-fault", "gave-up", "controller-fault"]


def test_the_lag_guard_saves_data_also_where_the_controller_fails_or_the_batch_teaches_nothing(journal: Journal):
    gate = FakeGate()
    loop = Loop(SLO, Raising(SLO, 100), gate, journal, guard=LagGuard(20.0))
    loop.start()
    loop.observe(sample(0, wait_s=1.0, backlog=500))
    assert gate.size == 100
    loop.observe(sample(1, wait_s=15.0, backlog=500))
    assert gate.size == 200
    loop.observe(sample(2, size=200, wait_s=18.0, backlog=500, status=Status.WARM_UP))
    assert gate.size == 400
    assert events(journal) == ["controller-fault", "lag-guard"]


def test_a_report_that_cannot_be_read_is_a_blind_batch(journal: Journal):
    gate = FakeGate()
    loop = Loop(SLO, Fixed(SLO, 50), gate, journal, patience=3)
    loop.start()
    loop.fault("sampler", KeyError("sources"), blind=False)
    for _ in range(3):
        assert not gate.restored
        loop.fault("sampler", KeyError("sources"))
    assert gate.restored
    assert events(journal) == ["sampler-fault", "gave-up"]


def test_a_controller_that_hangs_is_a_fault_and_holds_nobody_up_twice(journal: Journal):
    class Hanging(BaseController):
        def plan(self, ratio: float) -> float:
            return self.size

        def decide(self, sample: BatchSample) -> Decision:
            released.wait()
            return super().decide(sample)

    released, gate = threading.Event(), FakeGate()
    before = threading.active_count()
    loop = Loop(SLO, Hanging(SLO, 100), gate, journal, patience=3, deadline=Deadline(0.05))
    loop.start()
    try:
        for batch_id in range(10):
            assert loop.observe(sample(batch_id)) is None
        assert threading.active_count() == before + 1
        assert gate.restored
        assert events(journal) == ["controller-fault", "gave-up"]
    finally:
        released.set()


def test_the_journal_says_which_decision_a_batch_obeyed(journal: Journal):
    clock = ManualClock()
    loop = Loop(SLO, Faf(SLO, 100, step=10), FakeGate(), journal, clock=clock)
    clock.advance(10.0)
    loop.start()
    clock.advance(1.0)
    loop.observe(sample(0, started_s=10.5))  # decides at 11 s
    clock.advance(1.0)
    loop.observe(sample(1, started_s=10.9))  # planned before that
    loop.observe(sample(2, started_s=11.5))
    assert read(journal._path).obeyed == {0: -1, 1: -1, 2: 0}


def test_an_objective_that_no_size_meets_is_told_once_for_every_controller(journal: Journal):
    loop = Loop(SLO, Fixed(SLO, 1), FakeGate("files"), journal)
    for batch_id in range(40):
        loop.observe(sample(batch_id, 1.2, size=1, confirmed=False))
        loop.observe(sample(batch_id, 1.2, size=1))
    (told,) = read(journal._path).events
    assert told.name == "objective"
    assert "ask for 1.3 s or more" in told.details["why"]


@pytest.mark.parametrize("sizes", [[1000, 400, 100] * 10, [100] * 30])
def test_batches_that_a_smaller_size_makes_shorter_are_no_such_news(journal: Journal, sizes: list[int]):
    loop = Loop(SLO, Fixed(SLO, 1), FakeGate(), journal)
    for batch_id, size in enumerate(sizes):
        loop.observe(sample(batch_id, 1.0 + size / 100, size=size))
    assert events(journal) == []


def test_a_fixed_time_is_news_also_where_batches_have_many_rows(journal: Journal):
    loop = Loop(SLO, Fixed(SLO, 1), FakeGate(), journal)
    for batch_id in range(30):
        loop.observe(sample(batch_id, 6.0 + batch_id % 2 / 10, size=1000 * (1 + batch_id % 3)))
    assert events(journal) == ["objective"]
