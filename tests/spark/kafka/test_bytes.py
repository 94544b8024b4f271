"""Kafka gated in bytes on a live query: records of other sizes are other rows from the batch on where they begin."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.patterns import parse_arrivals
from penstock.spark.attach import attach
from penstock.spark.gates import KafkaBytesGate, KafkaGate
from penstock.spark.reader import gated
from penstock.testing.kafka.broker import Broker, client
from penstock.testing.kafka.produce import Producer, fill

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.spark.handle import Handle

LIGHT, HEAVY = 100, 10_000
# What a record takes on disk beside its value, at most.
OVERHEAD = 30


def gate_of(handle: Handle) -> KafkaBytesGate:
    gate = handle._runs.loop.gate
    assert isinstance(gate, KafkaBytesGate)
    return gate


def in_turn(indices) -> list[bytes]:
    """A thousand light ones, then a thousand heavy ones, and again."""
    return [b"x" * (HEAVY if i // 1000 % 2 else LIGHT) for i in indices]


@pytest.mark.parametrize("partitions", [1, 3])
def test_in_the_batch_where_large_records_begin_a_hundred_times_fewer_are_taken(
    broker: Broker, topic, subscribed, start, sizes, until, tmp_path: Path, partitions: int
) -> None:
    name = topic(partitions=partitions)
    fill(broker.bootstrap, name, 10, lambda indices: [b"x" * LIGHT for _ in indices])
    held, seen = [True], []

    def each(df, batch_id: int) -> None:
        rows = df.selectExpr("partition", "offset", "length(value) AS bytes").collect()
        seen.append([(row["partition"], row["offset"], row["bytes"]) for row in rows])
        # The one batch that runs until all is written; looks go on meanwhile.
        until(lambda: not (held[0] and batch_id))
        # The rows of the next one are to be set before this one ends, whatever else this machine does.
        ends = {(name, partition): offset + 1 for partition, offset, _ in sorted(seen[-1])}
        until(lambda: not batch_id or all(at(part) >= end for part, end in ends.items()))
        time.sleep(0.3)

    def at(part: tuple[str, int]) -> int:
        return (gate_of(handle)._at or {}).get(part, 0)

    query = start(gated(subscribed(name), first=10).load(), each=each)
    budget = 500 * LIGHT
    with attach(
        query, "1 s", "fixed", size=budget, unit="bytes", journal=tmp_path / "j.jsonl", warm_up_batches=0
    ) as handle:
        ends = gate_of(handle).sizes
        fill(broker.bootstrap, name, 3000, lambda indices: [b"x" * LIGHT for _ in indices], first=10)
        until(lambda: sum(ends.ends.values()) == 3010)
        fill(broker.bootstrap, name, 60, lambda indices: [b"x" * HEAVY for _ in indices], first=3010)
        until(lambda: sum(ends.ends.values()) == 3070)
        held[0] = False
        until(lambda: sum(sizes(query)) == 3070)
        query.stop()
    records = [record for batch in seen for record in batch]
    assert len(records) == len({record[:2] for record in records}) == 3070
    recording = handle.recording()
    assert recording.header["unit"] == "bytes"
    assert not [event for event in recording.events if "fault" in event.name or event.name == "bytes-unknown"]
    # What was planned while nothing was known, or all was still being written, is not of the rule.
    first = next(n for n, batch in enumerate(seen) if n > 1 and len(batch) < 3000)
    for batch in seen[first:]:
        assert sum(record[2] for record in batch) <= budget + partitions * HEAVY
    light = [len(batch) for batch in seen[first:] if {record[2] for record in batch} == {LIGHT}]
    heavy = [len(batch) for batch in seen[first:] if {record[2] for record in batch} == {HEAVY}]
    assert max(light) >= budget / (LIGHT + OVERHEAD) - partitions
    assert max(heavy) <= max(budget / HEAVY, partitions)
    # The sizes in the journal are those on disk.
    taken = sum(sample.size for sample in recording.samples if sample.confirmed and sample.batch_id > 0)
    values = sum(record[2] for batch in seen[1:] for record in batch)
    assert values <= taken <= values + 3070 * OVERHEAD


def test_of_a_backlog_from_before_only_the_mean_is_known(
    broker: Broker, topic, subscribed, start, sizes, until, tmp_path: Path
) -> None:
    name = topic()
    fill(broker.bootstrap, name, 1000, lambda indices: [b"x" * (HEAVY if i >= 900 else LIGHT) for i in indices])
    query = start(gated(subscribed(name), first=10).load())
    with attach(query, "1 s", "fixed", size=100_000, unit="bytes", journal=tmp_path / "j.jsonl") as handle:
        until(lambda: sum(sizes(query)) == 1000)
    mean = (900 * LIGHT + 100 * HEAVY) / 1000
    rows = 100_000 / mean
    usual = [size for size in sizes(query)[2:-1] if 0.8 * rows < size < 1.1 * rows]
    assert len(usual) > 5
    assert not [event for event in handle.recording().events if event.name == "bytes-unknown"]


@pytest.fixture
def refusing() -> Iterator[Broker]:
    """A broker that lets everybody do everything but describe the cluster."""
    from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

    made = Broker()
    settings = made._properties.read_text("utf-8")
    rules = "org.apache.kafka.metadata.authorizer.StandardAuthorizer\nallow.everyone.if.no.acl.found=true\n"
    made._properties.write_text(f"{settings}authorizer.class.name={rules}", "utf-8")
    cluster = (ResourceType.BROKER, "kafka-cluster", ResourcePatternType.LITERAL, "User:ANONYMOUS", "*")
    with made:
        made.create_topic("t")
        admin = client(made.bootstrap)
        # The broker itself is a client too, and must still be let in.
        allowed = AclBinding(*cluster, AclOperation.CLUSTER_ACTION, AclPermissionType.ALLOW)
        denied = AclBinding(*cluster, AclOperation.DESCRIBE, AclPermissionType.DENY)
        for done in admin.create_acls([allowed, denied]).values():
            done.result(30)
        yield made


def test_where_the_broker_refuses_sizes_admission_is_by_rows_and_that_is_said(
    refusing: Broker, subscribed, start, sizes, until, tmp_path: Path
) -> None:
    fill(refusing.bootstrap, "t", 500)
    reader = subscribed("t", **{"kafka.bootstrap.servers": refusing.bootstrap})
    query = start(gated(reader, first=10).load())
    with attach(query, "1 s", "fixed", size=20_000, unit="bytes", journal=tmp_path / "j.jsonl") as handle:
        until(lambda: sum(sizes(query)) == 500)
        until(lambda: any(event.name == "bytes-unknown" for event in handle.recording().events))
        assert query.isActive
    (event,) = [event for event in handle.recording().events if event.name == "bytes-unknown"]
    assert "admission is by rows" in event.details["why"]
    assert "ClusterAuthorizationException" in event.details["why"]
    assert max(sizes(query)[1:]) == 20
    assert {sample.size for sample in handle.recording().samples if sample.items == 20} == {20_000}


def test_a_later_run_knows_what_came_while_the_query_was_down(
    broker: Broker, topic, subscribed, start, sizes, until, tmp_path: Path
) -> None:
    name = topic()
    fill(broker.bootstrap, name, 5000, lambda indices: [b"x" * LIGHT for _ in indices])
    df = gated(subscribed(name), first=10).load()

    def after_a_look(batch: DataFrame, batch_id: int) -> None:
        batch.count()
        until(lambda: handle.active and sum(gate_of(handle).sizes.ends.values()) == 5600)

    query = start(df)
    with attach(query, "1 s", "fixed", size=50_000, unit="bytes", journal=tmp_path / "j.jsonl") as handle:
        until(lambda: sum(sizes(query)) == 5000)
        until(lambda: sum(gate_of(handle).sizes.ends.values()) == 5000)
        query.stop()
        until(lambda: not handle.active)
        fill(broker.bootstrap, name, 600, lambda indices: [b"x" * HEAVY for _ in indices], first=5000)
        later = start(df, each=after_a_look)
        until(lambda: sum(sizes(later)) == 600)
        until(lambda: handle.active)
    # The first batch has the rows of before. By the mean of the log the rest would have 1200 bytes each.
    assert sizes(later)[0] <= 50_000 / LIGHT
    assert max(sizes(later)[1:]) <= 50_000 / HEAVY


def test_kafka_and_files_share_one_budget_in_bytes(
    spark, broker: Broker, topic, subscribed, incoming, start, sizes, until, tmp_path: Path
) -> None:
    name = topic(partitions=2)
    fill(broker.bootstrap, name, 2000)
    incoming.put(30)
    records = gated(subscribed(name), first=10).load().selectExpr("CAST(value AS STRING) AS text")
    files = incoming.load(gated(spark.readStream)).selectExpr("CAST(id AS STRING) AS text")
    seen: list[str] = []

    def each(df, batch_id: int) -> None:
        seen.extend(row["text"] for row in df.collect())

    query = start(records.union(files), each=each)
    with attach(query, "1 s", "fixed", size=10_000, unit="bytes", journal=tmp_path / "j.jsonl") as handle:
        until(lambda: sum(sizes(query)) == 2030)
        query.stop()
    assert sorted(seen) == sorted([*map(str, range(2000)), *map(str, range(1_000_000, 1_000_030))])
    recording = handle.recording()
    assert recording.header["unit"] == "bytes"
    assert not [event for event in recording.events if "fault" in event.name]
    assert all(sample.size <= 11_000 for sample in recording.samples if sample.batch_id > 2)


def test_an_end_to_end_bound_waits_in_bytes_and_reads_every_record_once(
    broker: Broker, topic, subscribed, start, sizes, until, tmp_path: Path
) -> None:
    name = topic(partitions=2)
    query = start(gated(subscribed(name), first=100).load())
    with attach(query, "<= 2 s end-to-end", unit="bytes", wait=True, journal=tmp_path / "j.jsonl") as handle:
        arrivals = parse_arrivals("constant:rate=500/s")
        with Producer(broker.bootstrap, name, arrivals, count=5000, values_of=in_turn) as producer:
            until(lambda: producer.produced == 5000)
        until(lambda: sum(sizes(query)) == 5000)
        query.stop()
    recording = handle.recording()
    assert not [event for event in recording.events if "fault" in event.name]
    assert any(decision.decision.min_size for decision in recording.decisions)


def test_a_fault_of_ours_is_told_once_and_every_record_is_read(
    broker: Broker, topic, subscribed, start, sizes, until, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: KafkaBytesGate) -> None:
        raise RuntimeError("broken")

    name = topic()
    fill(broker.bootstrap, name, 50)
    query = start(gated(subscribed(name), first=10).load())
    monkeypatch.setattr(KafkaBytesGate, "_follow", broken)
    with attach(query, "1 s", "fixed", size=20_000, unit="bytes", journal=tmp_path / "j.jsonl") as handle:
        until(lambda: sum(sizes(query)) == 50)
        assert query.isActive
    told = [event for event in handle.recording().events if "last ones stay" in event.details.get("why", "")]
    assert len(told) == 1


def test_a_unit_that_kafka_does_not_have_is_refused_and_rows_may_be_written_out(
    broker: Broker, topic, subscribed, start, tmp_path: Path
) -> None:
    query = start(gated(subscribed(topic())).load())
    with pytest.raises(ValueError, match="rows or bytes"):
        attach(query, "1 s", unit="files", journal=tmp_path / "j.jsonl")
    with attach(query, "1 s", unit="rows", journal=tmp_path / "j.jsonl") as handle:
        assert type(handle._runs.loop.gate) is KafkaGate
