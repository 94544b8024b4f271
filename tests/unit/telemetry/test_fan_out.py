"""No fault of a sink reaches the loop or another sink."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.control.faf import Faf
from penstock.control.loop import Loop
from penstock.journal import Journal, read
from penstock.plan import BatchEcho
from penstock.sample import BatchSample, Code, Decision
from penstock.slo import Slo
from penstock.telemetry.fan_out import FanOut
from penstock.testing.fakes import FakeGate

SLO = Slo.parse("1 s ± 10%")
PATIENCE_S = 30.0


class Recorder:
    """Keeps what it was told, in order."""

    def __init__(self) -> None:
        self.told: list[object] = []
        self.closed = threading.Event()

    def sample(self, sample: BatchSample, *, control_s: float | None = None, obeyed: int | None = None) -> None:
        self.told.append(sample)

    def decision(self, batch_id: int, decision: Decision, *, applied: bool) -> None:
        self.told.append((batch_id, decision, applied))

    def echo(self, echo: BatchEcho) -> None:
        self.told.append(echo)

    def event(self, name: str, **details: Any) -> None:
        self.told.append((name, details))

    def close(self) -> None:
        self.closed.set()


class Raising(Recorder):
    def sample(self, sample: BatchSample, **told: object) -> None:
        raise ZeroDivisionError("a bug")

    def close(self) -> None:
        super().close()
        raise ZeroDivisionError("a bug at the end")


class Stuck(Recorder):
    """Blocks on its first sample until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.entered, self.let_go = threading.Event(), threading.Event()

    def sample(self, sample: BatchSample, **told: object) -> None:
        self.entered.set()
        self.let_go.wait(PATIENCE_S)
        super().sample(sample)


def batch(batch_id: int) -> BatchSample:
    return BatchSample(batch_id, 100, 100, processing_s=0.8)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def event_names(path: Path) -> list[str]:
    return [event.name for event in read(path).events]


def run(sinks: FanOut, batches: int = 5) -> None:
    """A run of the real loop into these sinks."""
    loop = Loop(SLO, Faf(SLO, 100), FakeGate(), sinks)
    loop.start()
    for batch_id in range(batches):
        loop.observe(batch(batch_id))
    loop.stop("enough")
    sinks.close()


def test_every_sink_gets_what_the_journal_gets_in_its_order(path: Path):
    first, second = Recorder(), Recorder()
    run(FanOut(Journal.open(path, {}), first, second))
    assert first.closed.wait(PATIENCE_S)
    assert second.closed.wait(PATIENCE_S)
    recording = read(path)
    assert [each for each in first.told if isinstance(each, BatchSample)] == recording.samples
    decisions = [(record.batch_id, record.decision, record.applied) for record in recording.decisions]
    assert [each for each in first.told if isinstance(each, tuple) and len(each) == 3] == decisions
    assert first.told == second.told
    assert first.told[-1] == ("detached", {"why": "enough"})


def test_a_sink_that_raises_is_told_once_and_harms_nobody(path: Path, caplog: pytest.LogCaptureFixture):
    bad, good = Raising(), Recorder()
    with caplog.at_level(logging.WARNING, "penstock"):
        run(FanOut(Journal.open(path, {}), bad, good))
        assert bad.closed.wait(PATIENCE_S)
        assert good.closed.wait(PATIENCE_S)
    assert len(read(path).samples) == len([each for each in good.told if isinstance(each, BatchSample)]) == 5
    assert [record.message for record in caplog.records if "Raising" in record.message] == [
        "penstock: Raising failed on what it was told, the run goes on: ZeroDivisionError('a bug')"
    ]
    # What it did not fail on, it got.
    assert ("detached", {"why": "enough"}) in bad.told


def test_the_fault_of_a_sink_stands_in_the_journal(path: Path, until: Callable[[Callable[[], object]], None]):
    sinks = FanOut(Journal.open(path, {}), Raising())
    sinks.sample(batch(0))
    until(lambda: event_names(path))
    sinks.sample(batch(1))
    sinks.close()
    assert event_names(path) == ["sink-fault"]
    assert read(path).events[0].details == {"sink": "Raising", "error": "ZeroDivisionError('a bug')"}


def test_a_sink_that_blocks_holds_up_neither_the_loop_nor_another_sink(path: Path):
    stuck, good = Stuck(), Recorder()
    run(FanOut(Journal.open(path, {}), stuck, good))
    # The run is over, and the other sink has all of it, while the first sample has not returned.
    assert good.closed.wait(PATIENCE_S)
    assert len(read(path).samples) == 5
    assert not any(isinstance(each, BatchSample) for each in stuck.told)
    stuck.let_go.set()
    assert stuck.closed.wait(PATIENCE_S)
    assert stuck.told == good.told


def test_what_a_blocked_sink_cannot_hold_is_dropped_and_told_once(path: Path):
    stuck = Stuck()
    sinks = FanOut(Journal.open(path, {}), stuck, queued_calls=3)
    sinks.sample(batch(0))
    assert stuck.entered.wait(PATIENCE_S)
    for batch_id in range(1, 50):
        sinks.sample(batch(batch_id))
    sinks.close()
    assert len(read(path).samples) == 50
    assert event_names(path) == ["sink-fault"]
    stuck.let_go.set()
    assert stuck.closed.wait(PATIENCE_S)
    assert [each.batch_id for each in stuck.told if isinstance(each, BatchSample)] == [0, 1, 2, 3]


def test_a_journal_that_raises_does_not_stop_the_loop(path: Path):
    class Broken(Journal):
        def sample(self, sample: BatchSample, **told: object) -> None:
            raise ZeroDivisionError("a bug")

    good = Recorder()
    run(FanOut(Broken.open(path, {}), good))
    assert good.closed.wait(PATIENCE_S)
    assert len([each for each in good.told if isinstance(each, BatchSample)]) == 5
    assert event_names(path) == ["sink-fault", "detached"]


def test_what_the_disk_refuses_is_told_to_the_other_sinks(path: Path):
    good = Recorder()
    journal = Journal.open(path, {})
    sinks = FanOut(journal, good)
    journal.close()  # later records count as lost
    sinks.sample(batch(0))
    sinks.decision(0, Decision(100, "because", code=Code.KEEP), applied=True)
    sinks.close()
    assert good.closed.wait(PATIENCE_S)
    assert [each for each in good.told if isinstance(each, tuple) and each[0] == "journal-lost"] == [
        ("journal-lost", {"records": 1}),
        ("journal-lost", {"records": 1}),
    ]
