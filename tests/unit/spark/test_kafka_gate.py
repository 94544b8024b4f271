"""The gate of Kafka in rows: what it takes from the events of its query, and what it asks its broker."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Collection, Sequence
from typing import Any, cast

import pytest

pytest.importorskip("pyspark", reason="the gates need Spark's classes")

from penstock.sample import BatchSample
from penstock.spark.gates import KafkaGate, Retention, SplitGate
from penstock.spark.gates.kafka.broker import AGES_S
from penstock.spark.observe.report import SourceRange

CONFIRMED = BatchSample(batch_id=0, size=10, items=10, processing_s=1.0)


class LiveFake:
    """A running query whose broker answers as it is told to."""

    def __init__(self, error: Exception | None = None, *, stopped: bool = False) -> None:
        self.error = error
        self.asked: list[tuple[int, set[str]]] = []
        self._stopped = stopped

    def stopped(self) -> bool:
        return self._stopped

    def retention_s(self, source: int, topics: Collection[str]) -> dict[str, float | None]:
        self.asked.append((source, set(topics)))
        if self.error is not None:
            raise self.error
        return {"t": 3600.0, "for-ever": None}

    def ends_at(self, source: int, times_s: Sequence[float]) -> list[str]:
        return [ends(max(100 - round(age_s), 0)) for age_s in AGES_S]


def ends(offset: int) -> str:
    return json.dumps({"t": {"0": offset}})


def look(source: int, offset: int, at_s: float) -> dict[str, Any]:
    return {"kind": "offsets", "source": source, "at_ms": at_s * 1e3, "latest": ends(offset)}


def gate_of(live: LiveFake, source: int = 0) -> KafkaGate:
    return KafkaGate(cast(Any, live), source, "the user's own")


def heard(gate: KafkaGate) -> list[Any]:
    """What the gate tells once a batch is confirmed, and at the next event, when the broker has answered."""
    told = gate.on_event({"kind": "progress"}, CONFIRMED)
    for thread in threading.enumerate():
        if thread.name == "penstock-broker":
            thread.join()
    return [*told, *gate.on_event({"kind": "offsets", "source": 9})]


def test_every_source_takes_the_looks_at_its_own_topic() -> None:
    left, right = gate_of(LiveFake(), 0), gate_of(LiveFake(), 1)
    both = SplitGate([left, right])
    both.on_event(look(0, 5, 1.0))
    both.on_event(look(1, 7, 1.0))
    assert (dict(left.history.ends), dict(right.history.ends)) == ({("t", 0): 5}, {("t", 0): 7})


def test_the_broker_is_asked_once_and_not_before_a_batch_is_confirmed() -> None:
    live = LiveFake()
    gate = gate_of(live)
    gate.on_event(look(0, 100, 1e9))
    gate.on_event({"kind": "job"}, BatchSample(batch_id=0, size=10, items=10, processing_s=1.0, confirmed=False))
    assert live.asked == []
    assert heard(gate) == [Retention("t", 3600.0)]
    assert heard(gate) == []
    assert live.asked == [(0, {"t"})]


def test_records_that_were_there_at_the_first_look_are_as_old_as_the_broker_says() -> None:
    gate, now_s = gate_of(LiveFake()), 4e9
    gate.on_event(look(0, 100, now_s))
    before = gate.admitted((SourceRange(ends(99), ends(100), latest=ends(100), at_s=now_s),))
    heard(gate)
    after = gate.admitted((SourceRange(ends(99), ends(100), latest=ends(100), at_s=now_s),))
    assert before.wait_s == 0
    assert after.wait_s is not None
    assert after.wait_s > 0


def test_a_broker_that_does_not_answer_is_told() -> None:
    gate = gate_of(LiveFake(RuntimeError("not authorized")))
    (told,) = heard(gate)
    assert told.name == "broker-silent"
    assert "not authorized" in told.why


def test_a_query_that_has_stopped_needs_no_answer() -> None:
    gate = gate_of(LiveFake(RuntimeError("closed"), stopped=True))
    assert heard(gate) == []


def test_the_size_of_a_batch_without_offsets_is_not_known() -> None:
    assert math.isnan(gate_of(LiveFake()).admitted(()).size)
