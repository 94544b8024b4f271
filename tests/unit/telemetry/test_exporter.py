"""The numbers that are served are those of the journal."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.clock import ManualClock
from penstock.journal import Journal, Recording, read
from penstock.sample import BatchSample, Code, Decision, Status
from penstock.score import summarise
from penstock.slo import Slo
from penstock.telemetry import prometheus
from penstock.telemetry.prometheus import KEPT_S, Exporter
from penstock.telemetry.query import BUCKETS_S, Query, QueryNumbers

SLO = Slo.parse("1 s ± 10%")
QUERY = Query("id-1", "orders", "KafkaV2[Subscribe[orders]]", "rows", SLO)
SECONDS = (0.65, 0.95, 1.05, 1.4, 0.2, 700.0)


def batch(batch_id: int, processing_s: float = 1.0, **fields: object) -> BatchSample:
    phases = {"planning": 0.1, "processing": processing_s - 0.1}
    told = {"batch_id": batch_id, "size": 100, "items": 90, "processing_s": processing_s, "durations_s": phases}
    return BatchSample(**{**told, "wait_s": 2.0, "backlog": 40.0, **fields})


def value(exporter: Exporter, name: str, **labels: str) -> float | None:
    """The one sample of that name with these labels; None where there is none."""
    found = [
        sample.value
        for family in exporter.collect()
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    ]
    assert len(found) <= 1
    return found[0] if found else None


def record(path: Path, numbers: QueryNumbers) -> Recording:
    """A run of odd batches, to the journal and to the numbers."""
    with Journal.open(path, {"query_id": "id-1"}) as journal:
        for sink in (journal, numbers):
            sink.decision(-1, Decision(100, "first size", code=Code.FIRST), applied=True)
            for batch_id, processing_s in enumerate(SECONDS):
                estimate = batch(batch_id, processing_s / 2, confirmed=False, backlog=7.0)
                sink.sample(estimate, control_s=0.001)
                sink.sample(batch(batch_id, processing_s, backlog=0.0 if batch_id % 2 else 40.0))
                code = Code.GROW if processing_s < 1 else Code.SHRINK
                sink.decision(batch_id, Decision(100.0 + batch_id, "because", code=code), applied=True)
            for batch_id, status in enumerate(Status, len(SECONDS)):
                sink.sample(batch(batch_id, 5.0, status=status))
            sink.event("gate-fault", error="a bug", size=100)
            sink.event("gate-fault", error="a bug", times=4)
    return read(path)


def test_all_numbers_are_those_of_the_journal(tmp_path: Path):
    exporter = Exporter()
    recording = record(tmp_path / "run.jsonl", exporter.open(QUERY))
    samples, timed = recording.samples, [s for s in recording.samples if s.status is not Status.CLOCK_STEP]
    met = summarise(samples, SLO)["met"]
    assert value(exporter, "penstock_slo_met_total", query="orders") == met["batches"]
    assert value(exporter, "penstock_slo_missed_total", query="orders") == met["counted"] - met["batches"]
    assert value(exporter, "penstock_admitted_items_total", query="orders") == sum(s.items for s in samples)
    assert value(exporter, "penstock_batch_duration_seconds_count") == len(timed)
    assert value(exporter, "penstock_batch_duration_seconds_sum") == pytest.approx(sum(s.processing_s for s in timed))
    for bound in BUCKETS_S:
        below = sum(s.processing_s <= bound for s in timed)
        assert value(exporter, "penstock_batch_duration_seconds_bucket", le=f"{bound:g}") == below
    for phase in ("planning", "processing"):
        spent_s = sum(s.durations_s[phase] for s in timed)
        assert value(exporter, "penstock_batch_phase_seconds_sum", phase=phase) == pytest.approx(spent_s)
        assert value(exporter, "penstock_batch_phase_seconds_count", phase=phase) == len(timed)
    counted = Counter(each.decision.code for each in recording.decisions)
    for code in Code:
        assert value(exporter, "penstock_decisions_total", code=code.value) == counted[code]
    assert value(exporter, "penstock_limit", unit="rows", source=QUERY.source) == recording.decisions[-1].decision.size
    assert value(exporter, "penstock_backlog", unit="rows", source=QUERY.source) == samples[-1].backlog
    assert value(exporter, "penstock_record_age_seconds") == samples[-1].end_to_end_s
    assert value(exporter, "penstock_faults_total", part="gate") == 4
    assert value(exporter, "penstock_slo_target_seconds") == 1.0


def test_an_early_batch_with_nothing_left_is_met_as_in_met_percent():
    exporter = Exporter()
    numbers = exporter.open(QUERY)
    numbers.sample(batch(0, 0.3, backlog=0.0))
    numbers.sample(batch(1, 0.3, backlog=5.0))
    assert value(exporter, "penstock_slo_met_total") == value(exporter, "penstock_slo_missed_total") == 1


@pytest.mark.parametrize(
    ("slo", "seconds", "rate"),
    [
        ("<= 2 s end-to-end", 2.0, None),
        (">= 50k/s", None, 50_000.0),
        ("1 s ± 10% & >= 20k/s", 1.0, 20_000.0),
        (">= 20k/s & <= 3 s", 3.0, 20_000.0),
    ],
)
def test_targets_are_in_the_unit_of_their_objective(slo: str, seconds: float | None, rate: float | None):
    exporter = Exporter()
    exporter.open(replace(QUERY, slo=Slo.parse(slo)))
    assert value(exporter, "penstock_slo_target_seconds") == seconds
    assert value(exporter, "penstock_slo_target_items_per_second") == rate


def test_a_throughput_is_met_and_missed_by_its_own_measure():
    exporter = Exporter()
    numbers = exporter.open(replace(QUERY, slo=Slo.parse(">= 60/s")))
    for batch_id, processing_s in enumerate((1.0, 1.0, 2.0)):
        numbers.sample(batch(batch_id, processing_s))
    assert value(exporter, "penstock_slo_met_total") == 2
    assert value(exporter, "penstock_slo_missed_total") == 1


def test_a_batch_that_is_confirmed_twice_counts_once():
    exporter = Exporter()
    numbers = exporter.open(QUERY)
    numbers.sample(batch(7))
    numbers.sample(batch(7))
    assert value(exporter, "penstock_batch_duration_seconds_count") == 1


@pytest.mark.parametrize("event", ["gave-up", "detached"])
def test_no_limit_is_shown_while_the_users_own_is_in_force(event: str):
    exporter = Exporter()
    numbers = exporter.open(QUERY)
    numbers.decision(0, Decision(100, "because"), applied=False)
    assert value(exporter, "penstock_limit") is None
    numbers.decision(1, Decision(100, "because"), applied=True)
    assert value(exporter, "penstock_limit") == 100
    numbers.event(event, why="because")
    assert value(exporter, "penstock_limit") is None


def test_records_that_the_journal_lost_are_faults_of_the_journal():
    exporter = Exporter()
    exporter.open(QUERY).event("journal-lost", records=3)
    assert value(exporter, "penstock_faults_total", part="journal") == 3


def test_an_event_of_an_unknown_part_makes_no_series():
    exporter = Exporter()
    exporter.open(QUERY).event("moon-fault", error="a bug")
    assert value(exporter, "penstock_faults_total", part="moon") is None


def test_a_query_that_stops_keeps_its_totals_for_a_while_and_then_goes():
    clock = ManualClock()
    exporter = Exporter(clock)
    numbers = exporter.open(QUERY)
    numbers.sample(batch(0))
    numbers.close()
    assert value(exporter, "penstock_backlog") is value(exporter, "penstock_slo_target_seconds") is None
    clock.advance(KEPT_S)
    assert value(exporter, "penstock_batch_duration_seconds_count", query="orders") == 1
    clock.advance(1.0)
    assert value(exporter, "penstock_batch_duration_seconds_count", query="orders") is None


def test_a_later_run_goes_on_with_the_totals_and_outlives_the_end_of_the_run_before():
    clock = ManualClock()
    exporter = Exporter(clock)
    first = exporter.open(QUERY)
    first.sample(batch(0))
    second = exporter.open(QUERY)
    first.close()
    second.sample(batch(1))
    clock.advance(2 * KEPT_S)
    assert value(exporter, "penstock_batch_duration_seconds_count") == 2
    assert value(exporter, "penstock_backlog") == 40


def test_two_queries_of_one_name_are_told_apart_by_id():
    exporter = Exporter()
    exporter.open(QUERY).sample(batch(0))
    exporter.open(replace(QUERY, id="id-2")).sample(batch(0, items=5))
    assert value(exporter, "penstock_admitted_items_total", query="orders") == 90
    assert value(exporter, "penstock_admitted_items_total", query="id-2") == 5


def test_a_query_without_a_name_is_called_by_its_id():
    exporter = Exporter()
    exporter.open(replace(QUERY, name=None))
    assert value(exporter, "penstock_slo_target_seconds", query="id-1") == 1


def test_no_more_queries_are_served_than_the_bound(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    monkeypatch.setattr(prometheus, "MOST_QUERIES", 3)
    exporter = Exporter()
    ended, *_ = [exporter.open(replace(QUERY, id=f"id-{n}", name=None)) for n in range(3)]
    with caplog.at_level(logging.WARNING, "penstock"):
        for n in (3, 4):
            exporter.open(replace(QUERY, id=f"id-{n}", name=None)).sample(batch(0))
        ended.close()
        exporter.open(replace(QUERY, id="id-5", name=None))
    labels = [s.labels["query"] for f in exporter.collect() for s in f.samples if s.name == "penstock_slo_met_total"]
    assert sorted(labels) == ["id-1", "id-2", "id-5"]
    assert len(caplog.records) == 1
