"""The terms of waiting survive every hop from the decision to the source, the journal and virtual time."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, cast

import pytest

from penstock.journal.records import to_decision, to_record
from penstock.sample import Decision, longest_wait_s
from penstock.sim.run import SimSpec, _held_until_s, simulate
from penstock.spark.source.mailbox import Admission, Mailbox

pytest.importorskip("pyspark.sql.streaming.datasource", reason="the source needs Spark 4.2")

from penstock.spark.gates import SplitGate, WorkloadGate
from penstock.testing.fakes import FakeGate

DECISION = Decision(1000.0, "waits", min_size=800.0, max_wait_s=2.0, item_s=0.001)


class SourceFake(FakeGate):
    first_size = 10.0
    waits = True


def test_a_gate_tells_the_source_all_terms(tmp_path: Path) -> None:
    mailbox = Mailbox(tmp_path)
    mailbox.admit(Admission(partitions=3))
    WorkloadGate(cast(Any, None), mailbox, 0, None).apply(DECISION)
    assert mailbox.admission() == Admission(1000.0, 800.0, 2.0, partitions=3, item_s=0.001)


def test_each_of_two_sources_counts_its_own_queue_for_its_share_of_the_whole() -> None:
    gates = [SourceFake(), SourceFake()]
    SplitGate(cast(Any, gates)).apply(DECISION)
    for gate in gates:
        (half,) = gate.applied
        assert (half.size, half.min_size, half.max_wait_s, half.item_s) == (500, 400, 2.0, pytest.approx(0.002))


def test_a_journal_has_the_time_of_an_item_where_there_is_one() -> None:
    assert to_decision(to_record(DECISION)) == DECISION
    assert "item_s" not in to_record(Decision(10.0, "at once"))


def test_a_journal_from_before_there_was_a_time_of_an_item_is_read() -> None:
    old = {"kind": "decision", "size": 12.0, "reason": "below the band", "min_size": 2.0, "max_wait_s": 0.5}
    assert to_decision(old) == Decision(12.0, "below the band", min_size=2.0, max_wait_s=0.5)


def test_virtual_time_holds_a_batch_back_for_as_long_as_the_rule_says() -> None:
    source = random.Random(5)
    for _ in range(300):
        gaps = [source.choice((0.0, 0.0, source.expovariate(20))) for _ in range(60)]
        arrival = [sum(gaps[: index + 1]) for index in range(60)]
        at, least = source.randrange(59), source.uniform(1, 50)
        decision = Decision(1000.0, "waits", least, source.uniform(0, 3), source.choice((0.0, 0.02, 0.2)))
        until_s = _held_until_s(decision, arrival, at)
        rule = (decision.min_size, decision.max_wait_s, decision.item_s)
        for now_s, starts in ((until_s - 1e-6, False), (until_s + 1e-6, True)):
            queued = sum(each <= now_s for each in arrival) - at
            if queued > 0:
                due = queued == 60 - at or now_s - arrival[at] >= longest_wait_s(queued, *rule)
                assert due == starts


def test_a_simulated_live_query_waits_under_an_end_to_end_bound_if_asked_to() -> None:
    spec = SimSpec("spark", "pmbaf", slo="<= 5 s end-to-end", items=200_000, arrivals="constant:rate=5k/s")
    plain = simulate(spec)
    waiting = simulate(SimSpec(**{**spec.__dict__, "settings": {"wait": "true"}}))
    assert waiting.items.size < plain.items.size / 2
    assert waiting.metrics().i_slh >= 0.9
