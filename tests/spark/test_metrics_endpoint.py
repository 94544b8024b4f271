"""Metrics of real queries, scraped over HTTP: they are the journal's numbers, and no scraper holds up a query."""

from __future__ import annotations

import socket
import urllib.request
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock.errors import BadInputError
from penstock.sample import Code, Status
from penstock.spark.attach import attach
from penstock.spark.attach_all import attach_all
from penstock.spark.handle import Handle
from penstock.spark.reader import gated
from penstock.telemetry.endpoint import VARIABLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Scraped:
    """One scrape of a port on loopback."""

    def __init__(self, port: int) -> None:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
            text = answer.read().decode()
        self.samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]

    def value(self, name: str, **labels: str) -> float | None:
        found = [s.value for s in self.samples if s.name == name and labels.items() <= s.labels.items()]
        assert len(found) <= 1
        return found[0] if found else None


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def admitted(handle: Handle) -> int:
    return sum(sample.items for sample in handle.recording().samples if sample.confirmed)


def codes(handle: Handle) -> Counter[Code | None]:
    return Counter(record.decision.code for record in handle.recording().decisions)


def decisions(scraped: Scraped, label: str) -> Counter[Code]:
    counted = {code: scraped.value("penstock_decisions_total", query=label, code=code.value) for code in Code}
    return Counter({code: int(count or 0) for code, count in counted.items()})


def test_what_is_scraped_is_what_the_journal_has(
    spark: SparkSession, incoming, start, until, port: int, tmp_path: Path
) -> None:
    query = start(incoming.load(gated(spark.readStream)))
    handle = attach(query, "<= 1 min", "faf", step=2, journal=tmp_path / "j.jsonl", metrics=port, warm_up_batches=1)
    label = str(query.id)
    incoming.put(30)
    until(lambda: admitted(handle) == 30)
    until(lambda: Scraped(port).value("penstock_admitted_items_total", query=label) == 30)
    scraped = Scraped(port)
    samples = [sample for sample in handle.recording().samples if sample.confirmed]
    counted = [sample for sample in samples if sample.status is Status.OK]
    assert scraped.value("penstock_batch_duration_seconds_count", query=label) == len(samples)
    took_s = scraped.value("penstock_batch_duration_seconds_sum", query=label)
    assert took_s == pytest.approx(sum(sample.processing_s for sample in samples))
    for phase in samples[0].durations_s:
        spent_s = scraped.value("penstock_batch_phase_seconds_sum", query=label, phase=phase)
        assert spent_s == pytest.approx(sum(sample.durations_s[phase] for sample in samples))
    assert scraped.value("penstock_slo_met_total", query=label) == len(counted) == handle.summary()["met"]["batches"]
    assert scraped.value("penstock_slo_missed_total", query=label) == 0
    assert scraped.value("penstock_slo_target_seconds", query=label) == 60
    # The decision on the last batch comes after its sample, and by way of a queue.
    until(lambda: Scraped(port).value("penstock_limit", query=label, unit="files") == handle.decision.size)
    until(lambda: decisions(Scraped(port), label) == codes(handle))
    assert codes(handle)[Code.FIRST] == 1
    assert {s.value for s in scraped.samples if s.name == "penstock_faults_total"} == {0}
    handle.detach()
    until(lambda: Scraped(port).value("penstock_limit", query=label) is None)
    assert Scraped(port).value("penstock_admitted_items_total", query=label) == 30


def test_a_scraper_that_connects_and_reads_nothing_does_not_hold_up_the_query(
    spark: SparkSession, incoming, start, until, port: int, tmp_path: Path
) -> None:
    query = start(incoming.load(gated(spark.readStream)))
    handle = attach(query, "<= 1 min", "faf", step=2, journal=tmp_path / "j.jsonl", metrics=port)
    dead = [socket.create_connection(("127.0.0.1", port)) for _ in range(10)]
    for each in dead[:5]:
        each.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
    incoming.put(20)
    # All connections are still open, and nothing was read from them.
    until(lambda: admitted(handle) == 20)
    until(lambda: Scraped(port).value("penstock_admitted_items_total", query=str(query.id)) == 20)
    assert handle.active
    for each in dead:
        each.close()
    handle.detach()


def test_a_second_query_shares_the_server_and_a_later_run_goes_on_with_its_totals(
    spark: SparkSession, incoming, incoming_too, start, until, port: int, tmp_path: Path
) -> None:
    def begin():
        return start(incoming.load(gated(spark.readStream)), "one")

    query = begin()
    one = attach(query, "<= 1 min", journal=tmp_path / "one.jsonl", metrics=port)
    other = start(incoming_too.load(gated(spark.readStream)), "two")
    two = attach(other, "<= 2 min", journal=tmp_path / "two.jsonl", metrics=port)
    incoming.put(3)
    incoming_too.put(5)
    until(lambda: Scraped(port).value("penstock_admitted_items_total", query=one.query.id) == 3)
    until(lambda: Scraped(port).value("penstock_admitted_items_total", query=two.query.id) == 5)
    query.stop()
    until(lambda: not one.active)
    until(lambda: Scraped(port).value("penstock_slo_target_seconds", query=query.id) is None)
    begin()
    incoming.put(4)
    until(lambda: Scraped(port).value("penstock_admitted_items_total", query=query.id) == 7)
    assert Scraped(port).value("penstock_slo_target_seconds", query=query.id) == 60
    one.detach()
    two.detach()


def test_attach_all_serves_every_query_it_takes(
    spark: SparkSession, incoming, start, until, port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with attach_all(spark, "<= 1 min", metrics=port):
        assert Scraped(port).value("penstock_build_info") == 1
        query = start(incoming.load(spark.readStream))
        incoming.put(3)
        until(lambda: Scraped(port).value("penstock_admitted_items_total", query=str(query.id)) == 3)


def test_a_port_that_is_taken_refuses_attach_but_is_a_warning_behind_the_variable(
    spark: SparkSession,
    incoming,
    start,
    until,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    query = start(incoming.load(gated(spark.readStream)))
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = int(other.getsockname()[1])
        for refuse in (
            lambda: attach(query, "<= 1 min", journal=tmp_path / "j.jsonl", metrics=taken),
            lambda: attach_all(spark, "<= 1 min", metrics=taken),
        ):
            with pytest.raises(BadInputError, match=f"metrics = {taken}: .*in use"):
                refuse()
        assert not (tmp_path / "j.jsonl").exists()
        monkeypatch.setenv(VARIABLE, str(taken))
        handle = attach(query, "<= 1 min", journal=tmp_path / "j.jsonl")
        incoming.put(2)
        until(lambda: admitted(handle) == 2)
        handle.detach()
    assert caplog.text.count("no metrics are served") == 1
