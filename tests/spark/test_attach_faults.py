from __future__ import annotations

import errno
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.control import deadline, registry
from penstock.control.fixed import Fixed
from penstock.journal import Journal
from penstock.sample import BatchSample, Code, Decision
from penstock.slo import Slo
from penstock.spark.attach import attach
from penstock.spark.reader import gated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Breaking:
    """Decides well once, then breaks as it is told to."""

    def __init__(self, slo: Slo, size: float, how: str = "raise") -> None:
        self.size = size
        self.how = how
        self.well = True

    def decide(self, sample: BatchSample) -> Decision:
        if self.well:
            self.well = False
            self.size = 4.0
            return Decision(4.0, "still well")
        self.size = 1e9
        if self.how == "raise":
            raise RuntimeError("a bug in a plug-in")
        return 1e9  # type: ignore[return-value]


@pytest.mark.parametrize("how", ["raise", "nonsense"])
def test_a_controller_that_stays_broken_gives_the_users_limit_back(
    spark: SparkSession, incoming, start, until, sizes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(registry, "load", lambda name: Breaking)
    incoming.put(120)
    query = start(incoming.load(gated(spark.readStream.option("maxFilesPerTrigger", 50))))
    handle = attach(
        query, "1 s", "breaking", how=how, size=2, journal=tmp_path / "j.jsonl", warm_up_batches=0, patience=5
    )
    until(lambda: sum(sizes(query)) == 120)
    assert 50 in sizes(query)
    handle.detach()
    names = [event.name for event in handle.recording().events]
    assert (names.count("controller-fault"), names.count("gave-up")) == (2, 1)


class Hanging:
    """Never decides."""

    released = threading.Event()

    def __init__(self, slo: Slo, size: float) -> None:
        self.size = size

    def decide(self, sample: BatchSample) -> Decision:
        self.released.wait()
        return Decision(self.size, "at last")


def test_a_controller_that_hangs_is_a_fault_of_its_query_alone(
    spark: SparkSession, incoming, incoming_too, start, until, sizes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadline, "DECISION_S", 0.2)
    monkeypatch.setattr(registry, "load", lambda name: Hanging if name == "hanging" else Fixed)
    hung = start(incoming.load(gated(spark.readStream.option("maxFilesPerTrigger", 50))))
    well = start(incoming_too.load(gated(spark.readStream)), checkpoint="too")
    try:
        stuck = attach(hung, "1 s", "hanging", size=2, journal=tmp_path / "j.jsonl", warm_up_batches=0, patience=3)
        other = attach(well, "1 s", "fixed", size=5, journal=tmp_path / "other.jsonl")
        incoming.put(80)
        incoming_too.put(20)
        until(lambda: sum(sizes(hung)) == 80 and sum(sizes(well)) == 20)
        assert max(sizes(hung)) > 20
        assert sizes(well)[-1] == 5
        stuck.detach()
        other.detach()
    finally:
        Hanging.released.set()
    events = [event.name for event in stuck.recording().events]
    assert "controller-fault" in events
    assert "gave-up" in events
    assert [event.name for event in other.recording().events] == ["detached"]


@pytest.mark.parametrize("how", ["raise", "nonsense"])
def test_a_broken_controller_leaves_the_last_good_size_and_the_query_running(
    spark: SparkSession, incoming, start, until, sizes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(registry, "load", lambda name: Breaking)
    query = start(incoming.load(gated(spark.readStream)))
    handle = attach(query, "1 s", "breaking", how=how, size=2, journal=tmp_path / "j.jsonl", warm_up_batches=0)
    incoming.put(21)
    until(lambda: sum(sizes(query)) == 21)
    assert max(sizes(query)) == 4
    assert sizes(query).count(4) >= 3
    assert handle.decision == Decision(4.0, "still well", code=Code.GROW)
    handle.detach()
    assert "controller-fault" in [event.name for event in handle.recording().events]
    assert query.isActive


def test_a_full_disk_under_the_journal_stops_neither_the_query_nor_the_gate(
    spark: SparkSession, incoming, start, until, sizes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(journal: Journal, line: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Journal, "_append", full)
    query = start(incoming.load(gated(spark.readStream)))
    handle = attach(query, "1 s", "fixed", size=5, journal=tmp_path / "j.jsonl")
    incoming.put(20)
    until(lambda: sum(sizes(query)) == 20)
    assert 5 in sizes(query)
    handle.detach()
    assert handle.ended == "detached by the user"
    assert query.isActive


def test_a_users_listener_that_throws_does_not_stop_ours(
    spark: SparkSession, incoming, start, until, sizes, tmp_path: Path
) -> None:
    from pyspark.sql.streaming.listener import StreamingQueryListener

    class Throwing(StreamingQueryListener):
        def onQueryStarted(self, event: Any) -> None:  # noqa: N802
            raise RuntimeError("started")

        def onQueryProgress(self, event: Any) -> None:  # noqa: N802
            raise RuntimeError("progress")

        def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
            raise RuntimeError("terminated")

    listener = Throwing()
    spark.streams.addListener(listener)
    try:
        query = start(incoming.load(gated(spark.readStream)))
        handle = attach(query, "1 s", "fixed", size=5, journal=tmp_path / "j.jsonl")
        incoming.put(20)
        until(lambda: sum(sizes(query)) == 20)
        query.stop()
        handle.detach()
    finally:
        spark.streams.removeListener(listener)
    assert handle.ended == "the query has stopped"
    assert [sample.size for sample in handle.recording().samples] == sizes(query)


def test_many_batches_that_teach_nothing_bring_the_users_limit_back(
    spark: SparkSession, incoming, start, until, sizes, tmp_path: Path
) -> None:
    query = start(incoming.load(gated(spark.readStream.option("maxFilesPerTrigger", 9))))
    # Files do not tell when they arrived: an end-to-end latency cannot be measured on them.
    handle = attach(query, "<= 2 s end-to-end", size=2, patience=3, journal=tmp_path / "j.jsonl", warm_up_batches=0)
    incoming.put(40)
    until(lambda: sum(sizes(query)) == 40)
    assert sizes(query)[:3] == [2, 2, 2]
    assert 9 in sizes(query)
    assert [event.name for event in handle.recording().events].count("gave-up") == 1
    assert handle.active


def test_a_query_that_fails_ends_the_loop_and_the_journal_says_why(
    spark: SparkSession, incoming, start, until, tmp_path: Path
) -> None:
    def fail(df: Any, batch_id: int) -> None:
        df.count()
        if batch_id == 1:
            raise ValueError("the sink is broken")

    incoming.put(5)
    query = start(incoming.load(gated(spark.readStream)), each=fail)
    handle = attach(query, "1 s", journal=tmp_path / "j.jsonl")
    until(lambda: not handle.active)
    events = {event.name: event.details for event in handle.recording().events}
    assert "the sink is broken" in events["query-failed"]["error"]
    assert events["query-failed"]["cause"] == "ValueError: the sink is broken"
    assert handle.ended == "the query has stopped"
