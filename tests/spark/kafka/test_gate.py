"""The Kafka gate on a live query: its limits, what it measures, and that nothing is lost or doubled."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JJavaError

from penstock.control import registry
from penstock.errors import UnsupportedError
from penstock.patterns import parse_arrivals
from penstock.sample import BatchSample, Decision
from penstock.slo import Slo
from penstock.spark.attach import attach
from penstock.spark.reader import gated
from penstock.testing.kafka.produce import Producer, fill

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.testing.kafka.broker import Broker


class Steps:
    """Another size after every batch, and so one that tells when it was obeyed."""

    def __init__(self, slo: Slo, size: float) -> None:
        self.size = size

    def decide(self, sample: BatchSample) -> Decision:
        self.size = 200.0 + 100 * (sample.batch_id % 4)
        return Decision(self.size, f"after batch {sample.batch_id}")


def test_every_batch_of_a_live_query_takes_what_was_decided_after_the_one_before(
    broker: Broker, topic, subscribed, start, sizes, until, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "load", lambda name: Steps)
    name = topic(partitions=1)
    fill(broker.bootstrap, name, 6000)
    query = start(gated(subscribed(name), first=50).load())
    with attach(query, "1 s", "steps", size=200, journal=tmp_path / "j.jsonl", warm_up_batches=0) as handle:
        until(lambda: sum(sizes(query)) == 6000)
    assert sizes(query)[0] == 50
    batches = [s for s in handle.recording().samples if s.size][:-1]
    followed = [
        after.size == 200 + 100 * (before.batch_id % 4) for before, after in pairwise(batches) if before.batch_id > 0
    ]
    # On a busy machine a decision may come after the next batch was planned.
    assert sum(followed) >= 0.7 * len(followed)
    assert [s.backlog for s in batches] == sorted((s.backlog for s in batches), reverse=True)


@pytest.mark.parametrize(("own", "restored"), [({"maxOffsetsPerTrigger": 40}, [40, 40, 20]), ({}, [100])])
def test_detach_gives_the_users_own_limit_back(
    broker: Broker, topic, subscribed, start, sizes, until, tmp_path: Path, own, restored
) -> None:
    name = topic()
    fill(broker.bootstrap, name, 60)
    query = start(gated(subscribed(name, **own), first=10).load())
    handle = attach(query, "1 s", "fixed", size=25, journal=tmp_path / "j.jsonl")
    until(lambda: sum(sizes(query)) == 60)
    assert sizes(query)[0] == 10
    assert max(sizes(query)) == 25
    handle.detach()
    before = len(sizes(query))
    fill(broker.bootstrap, name, 100)
    until(lambda: sum(sizes(query)) == 160)
    # A batch may be planned while the records still arrive.
    assert max(sizes(query)[before:]) <= restored[0]
    assert sum(sizes(query)[before:]) == 100


def test_available_now_is_gated_and_takes_just_what_was_there(
    broker: Broker, topic, subscribed, start, sizes, tmp_path: Path
) -> None:
    name = topic(partitions=2)
    fill(broker.bootstrap, name, 1000)
    query = start(gated(subscribed(name), first=100).load(), availableNow=True)
    with attach(query, "<= 5 s end-to-end", "fixed", size=300, journal=tmp_path / "j.jsonl"):
        assert query.awaitTermination(90)
    assert sizes(query)[0] == 100
    assert max(sizes(query)) == 300
    assert sum(sizes(query)) == 1000


def test_the_age_of_the_oldest_record_is_known_without_a_change_to_the_query(
    broker: Broker, topic, subscribed, start, until, tmp_path: Path
) -> None:
    name = topic(partitions=2)
    query = start(gated(subscribed(name), first=500).load())
    with attach(query, "2 s ± 50% end-to-end", "fixed", size=100_000, journal=tmp_path / "j.jsonl") as handle:
        with Producer(broker.bootstrap, name, parse_arrivals("constant:rate=500/s"), count=3000):
            until(lambda: sum(s.items for s in handle.recording().samples) >= 3000)
        query.stop()
    batches = [s for s in handle.recording().samples if s.confirmed and s.items and s.batch_id > 0]
    known = [s for s in batches if s.wait_s is not None]
    assert len(known) >= len(batches) - 1
    # A query that keeps up: what a batch finds has come since the one before it was planned.
    for before, after in pairwise(known):
        assert before.started_s is not None
        assert after.started_s is not None
        assert after.wait_s is not None
        assert 0 <= after.wait_s <= after.started_s - before.started_s + 0.2


def test_a_minimum_waits_for_rows_and_its_delay_ends_the_waiting(
    broker: Broker, topic, subscribed, start, sizes, until, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Waits:
        def __init__(self, slo: Slo, size: float) -> None:
            self.size = size

        def decide(self, sample: BatchSample) -> Decision:
            return Decision(1000, "wait for more", min_size=400, max_wait_s=4.0)

    monkeypatch.setattr(registry, "load", lambda name: Waits)
    name = topic()
    fill(broker.bootstrap, name, 10)
    query = start(gated(subscribed(name), first=10).load())
    with attach(query, "5 s end-to-end", "waits", size=10, wait=False, journal=tmp_path / "j.jsonl", warm_up_batches=0):
        until(lambda: sum(sizes(query)) == 10)
        with Producer(broker.bootstrap, name, parse_arrivals("constant:rate=500/s"), count=1250):
            until(lambda: sum(sizes(query)) == 1260)
    taken = sizes(query)
    first = next(at for at, size in enumerate(taken) if size >= 400)
    # Once the minimum is in force all but the last wait for it; the last comes when the delay is over.
    assert len(taken) > first + 1
    assert min(taken[first:-1]) >= 400


def test_records_of_very_different_sizes_are_all_read_once(
    broker: Broker, topic, subscribed, start, sizes, until, tmp_path: Path
) -> None:
    name = topic(partitions=3)
    fill(broker.bootstrap, name, 3000, lambda indices: [b"x" * (100_000 if i % 300 == 0 else 10) for i in indices])
    seen: list[tuple[int, int]] = []

    def each(df, batch_id: int) -> None:
        seen.extend((row["partition"], row["offset"]) for row in df.select("partition", "offset").collect())

    query = start(gated(subscribed(name), first=100).load(), each=each)
    with attach(query, "500 ms ± 20%", journal=tmp_path / "j.jsonl"):
        until(lambda: sum(sizes(query)) == 3000)
        query.stop()
    assert len(seen) == len(set(seen)) == 3000


@pytest.mark.parametrize("arrivals", ["wave:min=100,max=1500,period=4s", "spike:min=100,max=4k,period=4s"])
def test_waves_and_spikes_are_all_read_once_and_every_wait_is_known(
    broker: Broker, topic, subscribed, start, until, tmp_path: Path, arrivals: str
) -> None:
    name = topic(partitions=2)
    query = start(gated(subscribed(name), first=200).load())
    with attach(query, "<= 2 s end-to-end", journal=tmp_path / "j.jsonl") as handle:
        with Producer(broker.bootstrap, name, parse_arrivals(arrivals), count=6000) as producer:
            until(lambda: producer.produced == 6000)
        # Spark itself remembers only its last 100 batches.
        until(lambda: sum(s.items for s in handle.recording().samples if s.confirmed) == 6000)
        query.stop()
    batches = [s for s in handle.recording().samples if s.items and s.batch_id > 0]
    assert [s for s in batches if s.wait_s is None or s.backlog is None] == []
    assert not [e for e in handle.recording().events if e.name.endswith("fault")]


def test_no_thread_looks_at_the_ends_of_a_topic_when_nobody_watches(
    spark, topic, subscribed, start, until, tmp_path: Path
) -> None:
    def lookers() -> int:
        threads = spark.sparkContext._jvm.java.lang.Thread.getAllStackTraces().keySet()
        return sum(thread.getName() == "penstock-offsets" for thread in threads)

    query = start(gated(subscribed(topic())).load())
    for run in ("first", "second"):
        with attach(query, "1 s", "fixed", size=10, journal=tmp_path / f"{run}.jsonl"):
            assert lookers() == 1
        until(lambda: lookers() == 0)


def test_near_the_retention_of_the_topic_more_is_admitted_and_said(
    broker: Broker, topic, subscribed, start, sizes, until, tmp_path: Path
) -> None:
    name = topic(retention_ms=3_600_000)
    fill(broker.bootstrap, name, 5000)
    query = start(gated(subscribed(name), first=10).load())
    with attach(query, "1 s", "fixed", size=10, max_lag="1 s", journal=tmp_path / "j.jsonl") as handle:
        until(lambda: sum(sizes(query)) == 5000)
        until(lambda: any(e.name == "retention" for e in handle.recording().events))
    events = handle.recording().events
    assert [event.details["seconds"] for event in events if event.name == "retention"] == [3600.0]
    assert any("batches grow until that falls" in event.details.get("why", "") for event in events)
    assert max(sizes(query)) > 10


def test_the_retention_alone_guards_and_an_old_backlog_is_known_to_be_old(
    broker: Broker, topic, subscribed, start, sizes, until, tmp_path: Path
) -> None:
    name = topic(retention_ms=10_000)
    fill(broker.bootstrap, name, 4000)
    time.sleep(6)
    query = start(gated(subscribed(name), first=10).load())
    with attach(query, "1 s", "fixed", size=10, max_size=500, journal=tmp_path / "j.jsonl") as handle:
        until(lambda: sum(sizes(query)) == 4000)
    recording = handle.recording()
    assert any("batches grow until that falls" in event.details.get("why", "") for event in recording.events)
    # Before the first look nobody was there: the broker's own timestamps tell the age.
    assert max(sample.wait_s or 0.0 for sample in recording.samples[:40]) > 5
    assert 10 < max(sizes(query)) <= 500


def test_an_empty_topic_is_no_fault_and_its_first_records_are_taken(
    broker: Broker, topic, subscribed, start, sizes, until, tmp_path: Path
) -> None:
    name = topic(partitions=2)
    query = start(gated(subscribed(name), first=10).load())
    with attach(query, "1 s", journal=tmp_path / "j.jsonl") as handle:
        assert handle.active
        fill(broker.bootstrap, name, 30)
        until(lambda: sum(sizes(query)) == 30)
    assert not [e for e in handle.recording().events if e.name.endswith("fault")]


def test_a_missing_topic_is_named(broker: Broker, subscribed, start, until, tmp_path: Path) -> None:
    query = start(subscribed("no-such-topic").load())
    try:
        handle = attach(query, "1 s", journal=tmp_path / "j.jsonl")
    except UnsupportedError as error:
        # The query had failed before attach saw it.
        assert "does not host this topic" in str(error)  # noqa: PT017
        return
    until(lambda: not handle.active)
    (failure,) = [event.details for event in handle.recording().events if event.name == "query-failed"]
    assert "topic no-such-topic is not there" in failure["hint"]


def test_a_broker_that_does_not_answer_is_named(spark: SparkSession, start, until, tmp_path: Path) -> None:
    reader = spark.readStream.format("kafka").options(**{"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "t"})
    patience = {"kafka.default.api.timeout.ms": 2000, "kafka.request.timeout.ms": 1000, "fetchOffset.numRetries": 1}
    query = start(reader.options(**patience).load())
    handle = attach(query, "1 s", journal=tmp_path / "j.jsonl")
    until(lambda: not handle.active)
    (failure,) = [event.details for event in handle.recording().events if event.name == "query-failed"]
    assert "no broker answers at 127.0.0.1:1" in failure["hint"]


def test_a_query_that_has_stopped_is_not_given_a_new_client_to_ask_the_broker_with(
    broker: Broker, topic, subscribed, start, sizes, until, tmp_path: Path
) -> None:
    name = topic()
    fill(broker.bootstrap, name, 100)
    query = start(gated(subscribed(name), first=50).load())
    handle = attach(query, "1 s", "fixed", size=50, journal=tmp_path / "j.jsonl")
    until(lambda: "retention" in [event.name for event in handle.recording().events] or sum(sizes(query)) == 100)
    live = handle._runs.live
    reader = live._engine.field(live._execution.sources().head(), "kafkaOffsetReader")
    query.stop()
    # As Spark leaves it where the broker was down at the end; it closes a client, and makes the next one when asked.
    live._engine.call(reader, "resetAdmin")
    for ask in (lambda: live.retention_s(0, [name]), lambda: live.ends_at(0, [time.time()])):
        with pytest.raises(Py4JJavaError, match="no client to ask the broker with"):
            ask()
    assert live._engine.field(reader, "_admin") is None
    handle.detach()
    assert "broker-silent" not in [event.name for event in handle.recording().events]
