"""Queries that start again, and brokers that go away: the loop follows, and no record is lost or doubled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock.errors import BadInputError, UnsupportedError
from penstock.spark.attach import attach
from penstock.testing.kafka.produce import fill

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.testing.kafka.broker import Broker

PATIENT = {"kafka.default.api.timeout.ms": 5000, "kafka.request.timeout.ms": 4000}


@pytest.fixture(autouse=True)
def _journals_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


class Seen:
    """What reached the sink: partition and offset of every record, each batch once however often it is written."""

    def __init__(self) -> None:
        self.batches: dict[int, list[tuple[int, int]]] = {}

    def __call__(self, df: Any, batch_id: int) -> None:
        self.batches[batch_id] = [(r["partition"], r["offset"]) for r in df.select("partition", "offset").collect()]

    @property
    def records(self) -> list[tuple[int, int]]:
        return [record for batch in self.batches.values() for record in batch]


def test_attach_all_limits_the_first_batch_of_a_query_that_has_no_limit(
    spark: SparkSession, broker: Broker, topic, subscribed, start, sizes, until
) -> None:
    name = topic(partitions=2)
    fill(broker.bootstrap, name, 20_000)
    with penstock.attach_all(spark, "1 s ± 10%", first_rows=500) as attached:
        for number in range(3):
            query = start(subscribed(name).load(), f"checkpoint-{number}")
            until(lambda query=query: sum(sizes(query)) == 20_000)
            assert sizes(query)[0] == 500
            query.stop()
        until(lambda: len(attached.handles) == 3)
    assert not any(handle.active for handle in attached.handles)


def test_attach_all_takes_a_query_again_after_its_restart_from_the_size_it_had(
    spark: SparkSession, broker: Broker, topic, subscribed, start, sizes, until
) -> None:
    name = topic()
    fill(broker.bootstrap, name, 10_000)
    with penstock.attach_all(spark, "1 s ± 10%", "fixed", first_rows=100, min_size=700) as attached:
        query = start(subscribed(name).load())
        until(lambda: sum(sizes(query)) == 10_000)
        assert sizes(query)[0] == 100
        assert max(sizes(query)) == 700
        query.stop()
        fill(broker.bootstrap, name, 10_000)
        query = start(subscribed(name).load())
        until(lambda: sum(sizes(query)) == 10_000)
        assert set(sizes(query)[:-1]) == {700}
        assert len(attached.handles) == 1
        assert attached.handles[0].active
    # Another application later, so to say: the journal is what is left.
    query.stop()
    fill(broker.bootstrap, name, 10_000)
    with penstock.attach_all(spark, "1 s ± 10%", "fixed", first_rows=100):
        query = start(subscribed(name).load())
        until(lambda: sum(sizes(query)) == 10_000)
        # The small first limit, unless the size of the journal was faster.
        assert sizes(query)[0] in (100, 700)
        assert set(sizes(query)[2:-1]) == {700}


def test_attach_all_leaves_other_names_and_other_sources_alone(
    spark: SparkSession, broker: Broker, topic, subscribed, start, sizes, until
) -> None:
    name = topic()
    fill(broker.bootstrap, name, 3000)
    with penstock.attach_all(spark, "1 s ± 10%", names=["orders-*"]) as attached:
        query = start(subscribed(name).load())
        until(lambda: sum(sizes(query)) == 3000)
        assert sizes(query) == [3000]
        rate = start(spark.readStream.format("rate").load(), "rate")
        until(lambda: sizes(rate))
        assert attached.handles == ()
        with pytest.raises(UnsupportedError, match="at work already"):
            penstock.attach_all(spark, "1 s")


def test_attach_all_changes_nothing_of_what_it_cannot_steer(
    spark: SparkSession, broker: Broker, topic, subscribed, start, sizes, until
) -> None:
    name = topic()
    fill(broker.bootstrap, name, 3000)
    rate = spark.readStream.format("rate").load().selectExpr("CAST(value AS STRING) AS value")
    with penstock.attach_all(spark, "1 s ± 10%", first_rows=100) as attached:
        once = start(subscribed(name).load(), "once", once=True)
        assert once.awaitTermination(90)
        assert sizes(once) == [3000]
        mixed = start(subscribed(name).load().selectExpr("CAST(value AS STRING) AS value").union(rate), "mixed")
        until(lambda: sizes(mixed))
        assert sizes(mixed)[0] >= 3000
        assert attached.handles == ()
    with penstock.attach_all(spark, "1 s ± 10%", first_rows=100, observe=True):
        watched = start(subscribed(name).load(), "watched")
        until(lambda: sum(sizes(watched)) == 3000)
        assert sizes(watched) == [3000]


def test_a_minimum_of_the_users_own_does_not_let_the_backlog_through(
    spark: SparkSession, broker: Broker, topic, subscribed, start, sizes, until
) -> None:
    name = topic()
    fill(broker.bootstrap, name, 3000)
    with penstock.attach_all(spark, "1 s ± 10%", first_rows=100):
        query = start(subscribed(name, minOffsetsPerTrigger=50, maxTriggerDelay="1s").load())
        until(lambda: sum(sizes(query)) == 3000)
        assert sizes(query)[0] == 100


def test_a_query_started_again_at_once_is_followed_and_its_own_limit_comes_back(
    broker: Broker, topic, subscribed, start, sizes, until, tmp_path: Path
) -> None:
    name = topic()
    fill(broker.bootstrap, name, 500)
    query = start(subscribed(name).load())
    handle = attach(query, "<= 5 s end-to-end", "fixed", size=300, journal=tmp_path / "j.jsonl")
    until(lambda: sum(sizes(query)) == 500)
    for _ in range(3):
        # No wait for the end of the old run to be told.
        query.stop()
        fill(broker.bootstrap, name, 2000)
        query = start(subscribed(name).load())
        until(lambda query=query: sum(sizes(query)) == 2000)
        assert max(sizes(query)) == 300
    until(lambda: handle.active)
    handle.detach()
    fill(broker.bootstrap, name, 2000)
    until(lambda: sum(sizes(query)) == 4000)
    assert max(sizes(query)) > 300


def test_a_broker_that_is_back_before_spark_gives_up_costs_nothing(
    broker: Broker, topic, subscribed, start, until, tmp_path: Path
) -> None:
    name = topic(partitions=2)
    fill(broker.bootstrap, name, 3000)
    seen = Seen()
    query = start(penstock.gated(subscribed(name), first=100).load(), each=seen)
    with attach(query, "500 ms ± 20%", max_size=200, journal=tmp_path / "j.jsonl") as handle:
        until(lambda: len(seen.records) > 500)
        broker.kill()
        broker.start()
        fill(broker.bootstrap, name, 1000)
        until(lambda: len(seen.records) == 4000)
        assert query.isActive
        assert handle.active
    assert len(set(seen.records)) == 4000


def test_attach_all_tells_a_mistake_at_once(spark: SparkSession) -> None:
    with pytest.raises(BadInputError, match="no such controller"):
        penstock.attach_all(spark, "1 s", "pmbag")
    with pytest.raises(BadInputError, match="belongs to one query"):
        penstock.attach_all(spark, "1 s", journal="j.jsonl")
    for wrong in ({"max_lag": "soon"}, {"unit": "records"}, {"names": []}, {"first_rows": 0}):
        with pytest.raises(BadInputError):
            penstock.attach_all(spark, "1 s", **wrong)


def test_a_broker_that_is_killed_and_comes_back_costs_no_record(
    broker: Broker, topic, subscribed, start, until, tmp_path: Path
) -> None:
    name = topic(partitions=2)
    fill(broker.bootstrap, name, 4000)
    seen = Seen()
    query = start(penstock.gated(subscribed(name, **PATIENT), first=200).load(), each=seen)
    handle = attach(query, "500 ms ± 20%", max_size=400, journal=tmp_path / "j.jsonl")
    until(lambda: len(seen.records) > 1000)
    broker.kill()
    try:
        # Spark asks a few times, gives the query up, and the user starts it again once the broker is back.
        until(lambda: not query.isActive)
        until(lambda: not handle.active)
    finally:
        broker.start()
    fill(broker.bootstrap, name, 2000)
    query = start(penstock.gated(subscribed(name, **PATIENT), first=200).load(), each=seen)
    until(lambda: handle.active)
    until(lambda: len(seen.records) == 6000)
    assert len(set(seen.records)) == 6000
    handle.detach()
    names = [event.name for event in handle.recording().events]
    assert "query-failed" in names
    assert "resumed" in names
    assert max(len(batch) for batch in seen.batches.values()) <= 400
