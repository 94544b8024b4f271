"""The numbers of all queries of an application, as Prometheus reads them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator
from itertools import accumulate

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

from penstock.clock import Clock, SystemClock
from penstock.distribution import penstock_version
from penstock.sample import Code
from penstock.telemetry.query import BUCKETS_S, PARTS, Query, QueryNumbers, Totals

log = logging.getLogger("penstock")

KEPT_S = 900.0
"""How long the totals of a query that has ended are served (s): its last batches are scraped too."""
MOST_QUERIES = 100
"""Queries that are served at once; each has about 55 series."""

_BOUNDS = (*(f"{bound:g}" for bound in BUCKETS_S), "+Inf")
_QUERY = ("query",)
_ADMISSION = ("query", "source", "unit")


class Exporter(Collector):
    """One for all queries that are served at one address.

    A query is called by its name, or by its id where it has none or where another that runs has the same. A later run
    goes on with the totals of the one before. A query that has ended for good is gone after `KEPT_S`.

    >>> from penstock.slo import Slo
    >>> exporter = Exporter()
    >>> numbers = exporter.open(Query("q1", "orders", "KafkaV2[Subscribe[orders]]", "rows", Slo.parse("<= 1 s")))
    >>> [s.value for family in exporter.collect() for s in family.samples if s.name == "penstock_slo_target_seconds"]
    [1.0]
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._queries: dict[str, QueryNumbers] = {}
        self._full = False

    def open(self, query: Query) -> QueryNumbers:
        """A sink for a run that begins."""
        with self._lock:
            label = query.name or query.id
            before = self._queries.get(label)
            if before is not None and before.ended_s is None and before.query.id != query.id:
                label = query.id
                before = self._queries.get(label)
            numbers = QueryNumbers(query, label, before.totals if before else Totals(), self._clock, self._lock)
            if before is not None or self._room():
                self._queries[label] = numbers
            return numbers

    def collect(self) -> Iterable[Metric]:
        """All there is to tell now; called with every scrape."""
        with self._lock:
            now_s = self._clock.monotonic_s()
            for label, each in list(self._queries.items()):
                if each.ended_s is not None and now_s - each.ended_s > KEPT_S:
                    del self._queries[label]
            # A list, since numbers may change once the lock is free.
            return list(_families(list(self._queries.values())))

    def _room(self) -> bool:
        """Whether there is room for one more query; the one that ended first makes room."""
        if len(self._queries) >= MOST_QUERIES:
            ended = [(each.ended_s, label) for label, each in self._queries.items() if each.ended_s is not None]
            if ended:
                del self._queries[min(ended)[1]]
            elif not self._full:
                self._full = True
                log.warning("penstock: metrics of %d queries are served, further ones are not", MOST_QUERIES)
        return len(self._queries) < MOST_QUERIES


def _families(queries: list[QueryNumbers]) -> Iterator[Metric]:
    durations = HistogramMetricFamily(
        "penstock_batch_duration_seconds", "Time of a batch, as Spark reports its trigger.", labels=_QUERY
    )
    phases = SummaryMetricFamily("penstock_batch_phase_seconds", "Time of a batch by phase.", labels=("query", "phase"))
    ages = GaugeMetricFamily(
        "penstock_record_age_seconds", "Age of the oldest record of the last batch when the batch ended.", labels=_QUERY
    )
    limits = GaugeMetricFamily("penstock_limit", "What a batch may admit now.", labels=_ADMISSION)
    items = CounterMetricFamily("penstock_admitted_items", "Rows admitted.", labels=("query", "source"))
    backlogs = GaugeMetricFamily("penstock_backlog", "What waited after the last batch.", labels=_ADMISSION)
    targets = GaugeMetricFamily("penstock_slo_target_seconds", "Latency that is asked for.", labels=_QUERY)
    rates = GaugeMetricFamily("penstock_slo_target_items_per_second", "Throughput that is asked for.", labels=_QUERY)
    met = CounterMetricFamily("penstock_slo_met", "Batches that met the objective.", labels=_QUERY)
    missed = CounterMetricFamily("penstock_slo_missed", "Batches that missed the objective.", labels=_QUERY)
    decisions = CounterMetricFamily("penstock_decisions", "Decisions by their code.", labels=("query", "code"))
    faults = CounterMetricFamily("penstock_faults", "Faults of Penstock by part.", labels=("query", "part"))
    for each in queries:
        label, totals = each.label, each.totals
        counts = list(accumulate(totals.buckets))
        durations.add_metric([label], list(zip(_BOUNDS, counts, strict=True)), totals.seconds)
        for phase, (seconds, batches) in totals.seconds_by_phase.items():
            phases.add_metric([label, phase], batches, seconds)
        items.add_metric([label, each.query.source], totals.items)
        met.add_metric([label], totals.met)
        missed.add_metric([label], totals.missed)
        # From the beginning, also those that are zero: a rate needs a value before the first one.
        for code in Code:
            decisions.add_metric([label, code.value], totals.decisions[code])
        for part in PARTS:
            faults.add_metric([label, part], totals.faults[part])
        if each.ended_s is None:
            admission = [label, each.query.source, each.query.unit]
            _gauge(ages, [label], each.record_age_s)
            _gauge(limits, admission, each.limit)
            _gauge(backlogs, admission, each.backlog)
            _gauge(targets, [label], each.target_s)
            _gauge(rates, [label], each.target_per_s)
    yield from (durations, phases, ages, limits, items, backlogs, targets, rates, met, missed, decisions, faults)
    yield InfoMetricFamily("penstock_build", "The version that runs.", value={"version": penstock_version()})


def _gauge(family: GaugeMetricFamily, labels: list[str], value: float | None) -> None:
    if value is not None:
        family.add_metric(labels, value)
