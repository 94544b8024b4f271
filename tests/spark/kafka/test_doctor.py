from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.bench.doctor import kafka_visit as visit_module
from penstock.bench.doctor.kafka_trial import trial
from penstock.bench.doctor.kafka_visit import visit
from penstock.bench.doctor.machine import Check, healthy
from penstock.testing.kafka.broker import Broker, free_ports
from penstock.testing.kafka.produce import fill

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def visited(bootstrap: str, topic: str | None) -> dict[str, Check]:
    return {check.name: check for check in visit(bootstrap, topic, lambda line: None)}


def test_a_broker_a_topic_and_a_gated_query_are_tried_and_stopped(spark: SparkSession) -> None:
    said: list[str] = []
    checks = list(trial(said.append))
    assert healthy(checks), checks
    assert [check.name for check in checks] == [
        "Kafka connector",
        "Kafka jars",
        "Kafka broker",
        "Kafka topic",
        "gated query",
    ]
    assert "all 10,000 records" in (checks[-1].version or "")
    assert not spark.streams.active
    gone = visited(checks[2].version or "", None)
    assert not gone["Kafka broker"].ok
    assert said[-1] == "stopping what was started"


def test_a_users_topic_is_described(broker: Broker, topic: Any) -> None:
    name = topic(partitions=3, retention_ms=7_200_000)
    assert "empty" in visited(broker.bootstrap, name)["Kafka topic"].advice
    fill(broker.bootstrap, name, 1_000)
    found = visited(broker.bootstrap, name)
    assert healthy(list(found.values()))
    assert found["Kafka topic"].version == "3 partitions, 1,000 records"
    assert (found["retention"].version, found["retention"].advice) == (
        "2 hours",
        "the lag guard admits more from a lag of 3600 s on",
    )


def test_a_missing_topic_is_told_with_those_that_are_there(broker: Broker, topic: Any) -> None:
    topic()
    found = visited(broker.bootstrap, "penstock-none")["Kafka topic"]
    assert (found.ok, found.needed) == (False, True)
    assert "no topic 'penstock-none'" in found.advice
    assert "there are: t-" in found.advice


def test_a_broker_that_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visit_module, "_ASK_S", 1.0)
    (port,) = free_ports(1)
    found = visited(f"127.0.0.1:{port}", "clicks")
    assert list(found) == ["Kafka connector", "Kafka broker"]
    assert f"no answer from 127.0.0.1:{port}" in found["Kafka broker"].advice
