"""`attach`: close the loop around a running query."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platformdirs import user_state_path
from pyspark import SparkContext
from pyspark.sql.streaming.query import StreamingQuery

from penstock.control import registry
from penstock.control.lag_guard import LagGuard
from penstock.control.learned import Learned
from penstock.control.loop import PATIENCE_BATCHES, Loop
from penstock.control.settings import to_count
from penstock.errors import BadInputError, UnsupportedError
from penstock.journal import Journal, last_size
from penstock.size import LARGEST
from penstock.slo import Slo
from penstock.spark.arguments import check_query, slo_of, whole
from penstock.spark.gates import SourceGate, gate_for
from penstock.spark.handle import Handle
from penstock.spark.jvm.bridge import LiveQuery
from penstock.spark.observe.monitor import Monitor
from penstock.spark.observe.sampler import Sampler
from penstock.spark.plans.carrier import Carrier
from penstock.spark.runs import Runs
from penstock.telemetry.endpoint import exporter_for
from penstock.telemetry.fan_out import FanOut
from penstock.telemetry.query import Query
from penstock.units import parse_duration_s

if TYPE_CHECKING:
    from penstock.telemetry.prometheus import Exporter

WARM_UP_BATCHES = 2
_LONGEST_LABEL = 200


def attach(
    query: StreamingQuery,
    slo: Slo | str,
    controller: str = registry.DEFAULT,
    *,
    size: float | None = None,
    unit: str | None = None,
    max_lag: float | str | None = None,
    observe: bool = False,
    journal: str | Path | None = None,
    metrics: int | str | None = None,
    warm_up_batches: int | None = None,
    patience: int = PATIENCE_BATCHES,
    labels: dict[str, Any] | None = None,
    **settings: Any,
) -> Handle:
    """Keep a running query within its SLO; returns a handle that is also a context manager.

    ::

        with penstock.attach(query, "1 s ± 10%") as handle:
            query.awaitTermination()

    `controller` and `settings` are as in `penstock list controllers` (`step="5%"`, `sample=5`, `min_size=100`, ...).
    `size` is the size to begin with; by default the one that this query's journal ended with, or else the limit now in
    force. What the controller had learned of this query is taken up again, from a file beside the journal. `unit` is
    what sizes count: "rows" or "bytes" on Kafka, "files" or "bytes" on files. In bytes it is known how large the items
    are that still wait, and fewer of them are admitted in the batch where large ones begin; those of Kafka are on the
    broker's disk, and its client needs the right to describe the cluster. `max_lag` ("30 min") is the age that no item
    may reach: near it more is admitted, whatever the latency; on Kafka the topic's retention is such an age by itself.
    `observe=True` records what would be decided and applies nothing. `journal` is the file of samples and decisions, by
    default one for each query under `~/.local/state/penstock`. `metrics` is the port, on loopback, where Prometheus
    finds the numbers of all queries that are attached with it (9464; "0.0.0.0:9464" for every network); by default that
    of the variable PENSTOCK_METRICS, or none.

    The handle follows the query: where the same query (the same checkpoint) is started again in this application, its
    new run is gated from the first batch on. `detach()`, or the end of the `with` block, gives the user's own limits
    back and ends that.
    """
    context = SparkContext._active_spark_context
    check_query(query)
    if context is None:
        raise UnsupportedError("the session of this query has ended; start the query in a new one and attach to that")
    check_counts(patience, warm_up_batches)
    lag_s = lag_of(max_lag)
    terms = _Terms(
        slo=slo_of(slo),
        controller=controller,
        settings=settings,
        unit=unit,
        observe=observe,
        journal=None if journal is None else Path(journal),
        warm_up_batches=warm_up_batches,
        labels=labels or {},
        exporter=exporter_for(metrics),
    )
    # A mistake is told before anything of the query is touched.
    registry.create(controller, terms.slo, 1.0, live=True, **settings)
    monitor = Monitor.of(context)
    with monitor.taking(str(query.id), monitor.lease_s):
        live = monitor.live(query)
        gate, path = terms.gate(live), terms.path(live)
        if size is None:
            size = last_size(path, {"query_id": live.id, "slo": str(terms.slo), "unit": gate.unit})
        begun = _size_in_force(live, gate) if size is None else size
        chosen = registry.create(controller, terms.slo, begun, live=True, waits=gate.waits, **settings)
        learned = terms.learned(live, gate)
        if learned.recall(chosen) and size is not None:
            # The journal is newer than what was learned, and who gives a size wants it.
            chosen.size = size
        guard = LagGuard(lag_s, to_count("max_size", settings.get("max_size", LARGEST)))
        carrier, book = Carrier(path), terms.open(live, gate)
        loop = Loop(
            terms.slo, chosen, gate, book, observe_only=observe, patience=patience, guard=guard, keep=learned.keep
        )
        sampler = terms.sampler(gate, already=len(query.recentProgress))
        runs = Runs(query, live, monitor, loop, gate, sampler, carrier, terms.again)
        try:
            runs.begin()
        except BaseException:
            book.close()
            raise
    return Handle(runs, path)


def check_counts(patience: object, warm_up_batches: object) -> None:
    """Refuse numbers of batches that mean nothing."""
    whole("patience", patience, least=1, example=PATIENCE_BATCHES)
    if warm_up_batches is not None:
        whole("warm_up_batches", warm_up_batches, least=0, example=WARM_UP_BATCHES)


def lag_of(max_lag: float | str | None) -> float | None:
    """The age that no item may reach, in seconds."""
    return parse_duration_s(max_lag, "max_lag") if isinstance(max_lag, str) else max_lag


@dataclass(frozen=True)
class _Terms:
    """What every run of an attached query is attached with."""

    slo: Slo
    controller: str
    settings: dict[str, Any]
    unit: str | None
    observe: bool
    journal: Path | None
    warm_up_batches: int | None = None
    labels: dict[str, Any] = field(default_factory=dict)
    exporter: Exporter | None = None

    def gate(self, live: LiveQuery) -> SourceGate:
        _refuse_trigger(live)
        return gate_for(live, self.unit)

    def path(self, live: LiveQuery) -> Path:
        return self.journal if self.journal is not None else _default_journal(live)

    def open(self, live: LiveQuery, gate: SourceGate) -> FanOut:
        header = {
            "slo": str(self.slo),
            "controller": self.controller,
            "settings": {key: str(value) for key, value in self.settings.items()},
            "unit": gate.unit,
            "query_id": live.id,
            "run_id": live.run_id,
            "name": live.name,
            "observe": self.observe,
            "sources": [source.text for source in live.sources],
            **self.labels,
        }
        journal = Journal.open(self.path(live), header)
        if self.exporter is None:
            return FanOut(journal)
        source = ", ".join(each.text for each in live.sources)[:_LONGEST_LABEL]
        return FanOut(journal, self.exporter.open(Query(live.id, live.name, source, gate.unit, self.slo)))

    def learned(self, live: LiveQuery, gate: SourceGate) -> Learned:
        """What a controller of the same query, objective and settings has learned before."""
        settings = {key: str(value) for key, value in self.settings.items()}
        about = {"query_id": live.id, "slo": str(self.slo), "unit": gate.unit, "controller": self.controller}
        return Learned(self.path(live), {**about, "settings": settings})

    def sampler(self, gate: SourceGate, already: int = 0) -> Sampler:
        usual = max(WARM_UP_BATCHES - already, 0)
        return Sampler(gate, usual if self.warm_up_batches is None else self.warm_up_batches)

    def again(self, live: LiveQuery) -> tuple[SourceGate, Sampler, FanOut]:
        """The gate, the sampler and the sinks of a later run."""
        gate = self.gate(live)
        return gate, self.sampler(gate), self.open(live, gate)


def _refuse_trigger(live: LiveQuery) -> None:
    if live.trigger == "RealTimeTrigger":
        raise UnsupportedError(
            "a real-time query has no micro-batches to gate; use .trigger(processingTime='0 seconds') instead"
        )
    if live.trigger == "OneTimeTrigger":
        raise UnsupportedError(
            "Trigger.Once takes everything in one batch and ignores every limit; "
            "use .trigger(availableNow=True) instead"
        )


def _size_in_force(live: LiveQuery, gate: SourceGate) -> float:
    # Of bytes the gate itself knows what is in force: `gated` leaves a mark of 1 there.
    limit = {"files": "MaxFiles", "rows": "MaxRows"}.get(gate.unit, "none")
    numbers = [float(text[1]) for s in live.sources if (text := re.search(rf"{limit}: (\d+)", s.limit))]
    rows = [float(s.options.get("maxrowspertrigger", 0)) for s in live.sources if gate.unit in ("rows", "cost")]
    found = sum(numbers) or sum(rows)
    return found if found >= 1 else gate.first_size


def _default_journal(live: LiveQuery) -> Path:
    folder = user_state_path("penstock")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInputError("journal", folder, f"cannot be made ({error})", "give journal=PATH") from error
    return folder / f"{live.id}.jsonl"
