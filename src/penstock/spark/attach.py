"""`attach`: close the loop around a running query."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from pathlib import Path
from types import TracebackType
from typing import Any

from pyspark import SparkContext
from pyspark.sql.streaming.query import StreamingQuery

from penstock.control import registry
from penstock.errors import BadInputError, UnsupportedError
from penstock.journal import Journal, Recording, read
from penstock.loop import PATIENCE_BATCHES, Loop
from penstock.metrics import summarise
from penstock.sample import BatchSample, Decision
from penstock.slo import Slo
from penstock.spark.gates import SourceGate, WorkloadGate, gate_for
from penstock.spark.jvm import LiveQuery
from penstock.spark.monitor import Monitor
from penstock.spark.progress import parse_job_end, parse_progress
from penstock.spark.sampler import Sampler

log = logging.getLogger("penstock")

WARM_UP_BATCHES = 2
_IDLE_BATCHES = 5
_LAST_EVENTS_S = 5.0


def attach(
    query: StreamingQuery,
    slo: Slo | str,
    controller: str = "pmbaf",
    *,
    size: float | None = None,
    observe: bool = False,
    journal: str | Path | None = None,
    warm_up_batches: int | None = None,
    patience: int = PATIENCE_BATCHES,
    labels: dict[str, Any] | None = None,
    **settings: Any,
) -> Handle:
    """Keep a running query within its SLO; returns a handle that is also a context manager.

    ::

        with penstock.attach(query, "1 s ± 10%") as handle:
            query.awaitTermination()

    `controller` and `settings` are as in `penstock list controllers` (`step="5%"`, `sample=5`, `min_size=100`, ...);
    `size` is the size to begin with, by default the limit now in force. `observe=True` records what would be decided
    and applies nothing. `journal` is the file of samples and decisions, by default one for each query under
    `~/.local/state/penstock`. `detach()`, or the end of the `with` block, gives the user's own limits back.
    """
    objective = Slo.parse(slo) if isinstance(slo, str) else slo
    context = SparkContext._active_spark_context
    if not hasattr(query, "_jsq") or context is None:
        raise UnsupportedError(
            "this is not a query of a classic Spark session in this process (Spark Connect has no access to the "
            "engine); attach in the driver's process, from SparkSession.builder.master(...)"
        )
    monitor = Monitor.of(context)
    live = monitor.live(query)
    _refuse_trigger(live)
    gate = gate_for(live)
    recent = query.recentProgress
    if size is None:
        size = _size_in_force(live, gate)
    chosen = registry.create(controller, objective, size, live=True, **settings)
    path = Path(journal) if journal is not None else _default_journal(live)
    header = {
        "slo": str(objective),
        "controller": controller,
        "settings": {key: str(value) for key, value in settings.items()},
        "unit": gate.unit,
        "query_id": live.id,
        "name": live.name,
        "observe": observe,
        "sources": [source.text for source in live.sources],
        **(labels or {}),
    }
    if warm_up_batches is None:
        warm_up_batches = max(WARM_UP_BATCHES - len(recent), 0)
    loop = Loop(objective, chosen, gate, Journal.open(path, header), observe_only=observe, patience=patience)
    handle = Handle(query, live, monitor, loop, Sampler(gate, warm_up_batches), path)
    handle._begin()
    return handle


class Handle:
    """A closed loop around one query. `detach()` opens it again."""

    def __init__(
        self, query: StreamingQuery, live: LiveQuery, monitor: Monitor, loop: Loop, sampler: Sampler, path: Path
    ) -> None:
        self.query = query
        self.journal_path = path
        self._live = live
        self._monitor = monitor
        self._loop = loop
        self._sampler = sampler
        self._lock = threading.RLock()
        self._ended: str | None = None
        self._untold_s = 0.0
        self._over = threading.Event()
        self._idle: deque[float] = deque(maxlen=_IDLE_BATCHES)
        self._warned_of_idle = False

    @property
    def slo(self) -> Slo:
        """The objective."""
        return self._loop.slo

    @property
    def decision(self) -> Decision:
        """The decision now in force, with its reason."""
        return self._loop.decision

    @property
    def active(self) -> bool:
        """Whether the loop is closed."""
        return self._ended is None

    @property
    def ended(self) -> str | None:
        """Why the loop is open, or None while it is closed."""
        return self._ended

    def recording(self) -> Recording:
        """Everything journaled so far."""
        return read(self.journal_path)

    def summary(self) -> dict[str, Any]:
        """The SLO metrics so far, of everything in the journal's file."""
        return summarise(self.recording().samples, self.slo)

    def set_partitions(self, partitions: int) -> None:
        """Cut the next batches into so many partitions; only our own source can change them while it runs."""
        if not isinstance(self._loop.gate, WorkloadGate):
            raise UnsupportedError("only a source of penstock.read_workload changes its partitions while it runs")
        self._loop.gate.set_partitions(partitions)
        self._loop.journal.event("partitions", partitions=partitions)

    def detach(self) -> None:
        """Give the user's own limits back and stop watching; the query goes on."""
        if self.active and self._live.stopped():
            # Its last batches and its end are still on the way, and belong in the journal.
            self._over.wait(_LAST_EVENTS_S)
        self._end("detached by the user")

    def __enter__(self) -> Handle:
        """The handle itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Detach."""
        self.detach()

    def on_event(self, event: dict[str, Any]) -> None:
        """One event of the probe; called by the monitor's thread."""
        began_s = time.perf_counter()
        with self._lock:
            if self._ended is not None:
                return
            kind = event["kind"]
            if kind == "job":
                self._observe(self._sampler.job_ended(parse_job_end(event)), began_s)
            elif kind == "progress":
                sample = self._sampler.progressed(parse_progress(event["progress"], event.get("files") or ()))
                self._observe(sample, began_s)
                if sample is not None:
                    self._warn_of_idle_interval(sample)
            elif kind == "terminated":
                if event.get("error"):
                    self._loop.journal.event("query-failed", error=str(event["error"])[:2000])
                self._end("the query has stopped")
            elif kind == "fault":
                self._loop.journal.event("monitor-fault", error=event.get("error"))

    def on_lost(self, why: str) -> None:
        """The session is gone."""
        self._end(why)

    def _begin(self) -> None:
        if any(source.limit == "All Available" for source in self._live.sources) and not self._loop.observe_only:
            self._say(
                "first-batch-ungated",
                "Spark plans the first batch of a start before attach can limit it, so that one takes the whole "
                "backlog; write penstock.gated(spark.readStream...) where the query is built",
            )
        if not self._live.checkpoint.startswith("file:") and self._live.fast:
            self._say(
                "remote-checkpoint",
                f"the checkpoint {self._live.checkpoint} is not on a local disk, and profile 'fast' was made and "
                "tested for local ones; write penstock.configure(builder, profile='safe')",
            )
        with self._lock:
            self._monitor.watch(self._live, self)
            self._loop.start()

    def _observe(self, sample: BatchSample | None, began_s: float) -> None:
        if sample is None:
            return
        told_s = self._untold_s + time.perf_counter() - began_s
        self._loop.observe(sample, control_s=told_s)
        # A record is written before its own work ends; the rest is told with the next one, so that the sum is right.
        self._untold_s += time.perf_counter() - began_s - told_s

    def _warn_of_idle_interval(self, sample: BatchSample) -> None:
        interval_s = self._live.interval_s
        if interval_s <= 0 or sample.backlog is None or sample.processing_s > interval_s / 2:
            self._idle.clear()
            return
        self._idle.append(sample.backlog)
        if len(self._idle) == _IDLE_BATCHES and self._idle[-1] > self._idle[0] and not self._warned_of_idle:
            self._warned_of_idle = True
            why = (
                f"the trigger waits {interval_s:g} s but a batch takes {sample.processing_s:.2g} s, and the backlog "
                "grows: the machine is idle while data waits; write .trigger(processingTime='0 seconds') instead"
            )
            self._say("idle-interval", why)

    def _say(self, name: str, why: str) -> None:
        log.warning("penstock: %s", why)
        self._loop.journal.event(name, why=why)

    def _end(self, why: str) -> None:
        with self._lock:
            if self._ended is not None:
                return
            self._ended = why
            self._loop.stop(why)
            self._loop.journal.close()
        self._monitor.unwatch(self._live)
        self._over.set()


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
    limits = [source.limit for source in live.sources]
    numbers = [float(text.rsplit(" ", 1)[-1]) for text in limits if text.startswith(("MaxFiles", "MaxRows"))]
    rows = [float(source.options.get("maxrowspertrigger", 0)) for source in live.sources]
    found = sum(numbers) if gate.unit == "files" else sum(rows)
    return found if found >= 1 else gate.first_size


def _default_journal(live: LiveQuery) -> Path:
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    folder = Path(state) / "penstock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInputError("journal", folder, f"cannot be made ({error})", "give journal=PATH") from error
    return folder / f"{live.id}.jsonl"
