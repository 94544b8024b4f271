from __future__ import annotations

import threading
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.control import registry
from penstock.journal import Recording
from penstock.patterns import parse, parse_arrivals
from penstock.sample import BatchSample, Decision, Status
from penstock.slo import Slo
from penstock.spark.attach import attach
from penstock.spark.reader import gated
from penstock.spark.source.workload import read_workload
from penstock.workloads.workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Cycle:
    """Sizes that tell after which batch they were decided."""

    def __init__(self, slo: Slo, size: float, rows: float = 1) -> None:
        self.size = size
        self.rows = rows

    def decide(self, sample: BatchSample) -> Decision:
        self.size = cycle(sample.batch_id, self.rows)
        return Decision(self.size, f"after batch {sample.batch_id}")


def cycle(batch_id: int, rows: float = 1) -> float:
    return rows * (2 + batch_id % 5)


@pytest.fixture
def _cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "load", lambda name: Cycle)


def obeyed(recording: Recording, rows: float = 1) -> list[bool]:
    """For each batch whether its size is the one decided after the batch before it; the last may lack data."""
    batches = [sample for sample in recording.samples if sample.confirmed and sample.size]
    return [after.size == cycle(before.batch_id, rows) for before, after in pairwise(batches[:-1])]


def saturated(items: int) -> Workload:
    return Workload(parse_arrivals("saturated"), parse("constant:value=1"), items=items)


@pytest.mark.usefixtures("_cycle")
def test_a_decision_is_obeyed_by_the_very_next_batch_of_files(
    spark: SparkSession, incoming, start, until, sizes, tmp_path: Path
) -> None:
    query = start(incoming.load(gated(spark.readStream)))
    handle = attach(query, "1 s", "cycle", journal=tmp_path / "j.jsonl", warm_up_batches=0)
    incoming.put(100)
    until(lambda: sum(sample.size for sample in handle.recording().samples if sample.confirmed) == 100)
    handle.detach()
    # A source's log is compacted every 10 batches: the count of files must survive that too.
    taken = [sample.size for sample in handle.recording().samples]
    assert taken == sizes(query)
    assert len(taken) > 20
    hits = obeyed(handle.recording())
    assert sum(hits) >= 0.7 * len(hits)


@pytest.mark.usefixtures("_cycle")
def test_a_decision_is_obeyed_by_the_very_next_batch_of_our_source(
    spark: SparkSession, start, sizes, covers, tmp_path: Path
) -> None:
    query = start(gated(read_workload(spark, saturated(5000)), first=200).load(), availableNow=True)
    with attach(query, "1 s", "cycle", rows=100, journal=tmp_path / "j.jsonl", warm_up_batches=0) as handle:
        assert query.awaitTermination(120)
    recording = handle.recording()
    assert sum(sizes(query)) == 5000
    assert covers([sample.size for sample in recording.samples], sizes(query))
    assert all(sample.wait_s is not None and sample.load == 1 for sample in recording.samples if sample.usable)
    hits = obeyed(recording, rows=100)
    assert sum(hits) >= 0.7 * len(hits)


def test_a_query_that_runs_already_is_taken_over_from_the_limit_in_force(
    spark: SparkSession, incoming, start, until, sizes, tmp_path: Path
) -> None:
    incoming.put(3)
    query = start(incoming.load(spark.readStream.option("maxFilesPerTrigger", 1)))
    until(lambda: len(sizes(query)) == 3)
    handle = attach(query, "1 min", "faf", step=2, warm_up=False, journal=tmp_path / "j.jsonl")
    assert handle.decision.size == 1
    incoming.put(40)
    until(lambda: sum(sizes(query)) == 43)
    # The compiler and the caches are warm by then: nothing is ignored, and the sizes grow.
    until(lambda: len(handle.recording().samples) == len(sizes(query)) - 3)
    samples = handle.recording().samples
    assert {sample.status for sample in samples} == {Status.OK}
    assert max(sizes(query)) >= 5
    assert "first-batch-ungated" not in [event.name for event in handle.recording().events]


def test_a_query_without_any_limit_is_told_how_to_gate_its_first_batch(
    spark: SparkSession, incoming, start, until, sizes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    incoming.put(5)
    query = start(incoming.load(spark.readStream))
    until(lambda: sizes(query) == [5])
    with attach(query, "1 min", journal=tmp_path / "j.jsonl") as handle:
        assert "first-batch-ungated" in [event.name for event in handle.recording().events]
    assert "penstock.gated" in caplog.text


def test_the_first_batches_of_a_fresh_query_are_warm_up_and_decide_nothing(
    spark: SparkSession, incoming, start, until, sizes, tmp_path: Path
) -> None:
    query = start(incoming.load(gated(spark.readStream)))
    handle = attach(query, "1 min", "faf", step=1, warm_up=False, journal=tmp_path / "j.jsonl", warm_up_batches=3)
    incoming.put(12)
    until(lambda: sum(sample.size for sample in handle.recording().samples if sample.confirmed) == 12)
    statuses = [sample.status for sample in handle.recording().samples]
    assert statuses[:3] == [Status.WARM_UP] * 3
    assert set(statuses[3:]) == {Status.OK}
    assert sizes(query)[:4] == [1, 1, 1, 1]
    assert max(sizes(query)) > 1
    assert not [event for event in handle.recording().events if event.name == "first-batch-ungated"]


def test_a_batch_whose_jobs_nobody_saw_still_has_its_size(
    spark: SparkSession, incoming, start, until, tmp_path: Path
) -> None:
    counted, attached = threading.Event(), threading.Event()

    def each(df: DataFrame, batch_id: int) -> None:
        df.count()
        counted.set()
        attached.wait(60)

    incoming.put(5)
    query = start(incoming.load(gated(spark.readStream, first=3)), each=each)
    assert counted.wait(60)
    handle = attach(query, "1 s", "fixed", size=3, journal=tmp_path / "j.jsonl", warm_up_batches=0)
    attached.set()
    until(lambda: [sample.size for sample in handle.recording().samples if sample.confirmed] == [3, 2])


def test_observing_records_decisions_and_applies_none(
    spark: SparkSession, incoming, start, until, sizes, tmp_path: Path
) -> None:
    query = start(incoming.load(spark.readStream.option("maxFilesPerTrigger", 4)))
    with attach(query, "1 min", observe=True, journal=tmp_path / "j.jsonl", warm_up_batches=0) as handle:
        incoming.put(20)
        until(lambda: sum(sizes(query)) == 20)
    assert sizes(query) == [4] * 5
    decisions = handle.recording().decisions
    assert any(record.decision.size > 4 for record in decisions)
    assert not any(record.applied for record in decisions)
    incoming.put(8)
    until(lambda: sum(sizes(query)) == 28)
    assert sizes(query)[5:] == [4, 4]


def test_an_interval_that_idles_while_files_pile_up_is_told_once(
    spark: SparkSession, incoming, start, until, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def told() -> list[str]:
        return [event.details["why"] for event in handle.recording().events if event.name == "idle-interval"]

    def more() -> list[str]:
        incoming.put(2)
        return told()

    incoming.put(60)
    query = start(incoming.load(gated(spark.readStream)), processingTime="2 seconds")
    handle = attach(query, "1 s", "fixed", size=1, journal=tmp_path / "j.jsonl")
    until(lambda: len([sample for sample in handle.recording().samples if sample.confirmed and sample.backlog]) >= 6)
    assert told() == []
    until(more)
    seen = len(handle.recording().samples)
    until(lambda: len(handle.recording().samples) > seen + 2)
    handle.detach()
    (why,) = told()
    assert why.startswith("the trigger waits 2 s but a batch takes ")
    assert [record.levelname for record in caplog.records if why in record.getMessage()] == ["WARNING"]


def test_two_queries_are_gated_apart(
    spark: SparkSession, incoming, incoming_too, start, until, sizes, tmp_path: Path
) -> None:
    queries, handles = [], []
    for folder, size, name in ((incoming, 3, "one"), (incoming_too, 7, "other")):
        queries.append(start(folder.load(gated(spark.readStream)), name))
        handles.append(attach(queries[-1], "1 s", "fixed", size=size, journal=tmp_path / f"{name}.jsonl"))
        folder.put(30)
    until(lambda: all(sum(sizes(query)) == 30 for query in queries))
    for query, handle, size in zip(queries, handles, (3, 7), strict=True):
        assert max(sizes(query)) == size
        until(lambda handle=handle, query=query: [s.size for s in handle.recording().samples] == sizes(query))
        assert handle.recording().header["query_id"] == str(query.id)


def test_available_now_on_files_grows_and_every_batch_is_in_the_journal(
    spark: SparkSession, incoming, start, sizes, covers, tmp_path: Path
) -> None:
    incoming.put(60)
    query = start(incoming.load(gated(spark.readStream)), availableNow=True)
    with attach(query, "1 min", journal=tmp_path / "j.jsonl", warm_up_batches=0) as handle:
        assert query.awaitTermination(120)
    assert handle.ended == "the query has stopped"
    samples = handle.recording().samples
    assert covers([sample.size for sample in samples], sizes(query))
    assert all(sample.confirmed for sample in samples)
    # The source keeps no list of what is left in this mode, which must not pass for an empty backlog.
    assert max(sizes(query)) >= 8
    assert samples[-1].batch_id == query.recentProgress[-1]["batchId"]


def test_a_batch_planned_by_a_former_run_is_replayed_and_the_old_handle_does_not_end_the_new(
    spark: SparkSession, incoming, start, until, sizes, tmp_path: Path
) -> None:
    incoming.put(6)
    first = start(incoming.load(gated(spark.readStream)))
    old = attach(first, "1 s", "fixed", size=3, journal=tmp_path / "old.jsonl")
    until(lambda: sum(sizes(first)) == 6)
    first.stop()
    commits = [path for path in (tmp_path / "checkpoint" / "commits").iterdir() if path.name.isdecimal()]
    last = max(commits, key=lambda path: int(path.name))
    last.unlink()
    incoming.put(20)
    attached = threading.Event()

    def each(df: DataFrame, batch_id: int) -> None:
        attached.wait(60)
        df.count()

    second = start(incoming.load(gated(spark.readStream)), each=each)
    new = attach(second, "1 min", "faf", step=1, warm_up=False, journal=tmp_path / "new.jsonl", warm_up_batches=0)
    attached.set()
    until(lambda: sum(sizes(second)) >= 20)
    until(lambda: not old.active)
    # The old handle had followed the query into its new run, unless the new one was faster.
    assert old.ended in ("attached anew", "the query has stopped")
    assert new.active
    new.detach()
    replayed, *others = new.recording().samples
    assert (replayed.batch_id, replayed.status) == (int(last.name), Status.REPLAYED)
    assert {sample.status for sample in others} == {Status.OK}
    assert [record.batch_id for record in new.recording().decisions][:2] == [-1, int(last.name) + 1]


def test_attached_anew_after_a_restart_detach_gives_the_users_own_limit_back(
    spark: SparkSession, incoming, start, until, tmp_path: Path
) -> None:
    # Without `gated` nothing but the debt to the run knows the user's limit.
    df = incoming.load(spark.readStream.option("maxFilesPerTrigger", 9))
    first = start(df)
    old = attach(first, "1 s", "fixed", size=2, journal=tmp_path / "old.jsonl")
    first.stop()
    second = start(df)
    until(lambda: old.active and old.query.runId == second.runId)
    new = attach(second, "1 s", "fixed", size=3, journal=tmp_path / "new.jsonl")
    assert old.ended == "attached anew"
    limit = lambda: str(new._runs.live._engine.limit(new._runs.live._execution, 0))  # noqa: E731
    assert "MaxFiles: 3" in limit()
    new.detach()
    assert "MaxFiles: 9" in limit()


def test_after_a_restart_attach_begins_with_the_size_that_the_journal_ended_with(
    spark: SparkSession, incoming, start, until, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    begun = []
    for slo, given in (("1 s", 7), ("1 s", None), ("2 s", None)):
        query = start(incoming.load(gated(spark.readStream)))
        with attach(query, slo, "fixed", size=given) as handle:
            begun.append(handle.decision.size)
            assert handle.journal_path == tmp_path / "state" / "penstock" / f"{query.id}.jsonl"
        query.stop()
    # Another objective may need another size: it begins at the limit in force.
    assert begun == [7, 7, 1]
