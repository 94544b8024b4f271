"""The handle: a closed loop around one query, over all its runs."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from penstock.control.loop import Loop
from penstock.errors import PenstockError
from penstock.journal import Journal, Recording, read
from penstock.sample import BatchSample, Decision
from penstock.score import summarise
from penstock.slo import Slo
from penstock.spark.faults import cause, hint
from penstock.spark.gates import Retention, SourceGate
from penstock.spark.jvm.bridge import LiveQuery
from penstock.spark.observe.monitor import Monitor
from penstock.spark.observe.report import BatchProgress, parse_job_end, parse_progress
from penstock.spark.observe.sampler import Sampler
from penstock.units import format_duration

log = logging.getLogger("penstock")

_IDLE_BATCHES = 5
_LAST_EVENTS_S = 5.0
_FUTURE_S = 60.0
_FEW_ROWS = 1000
_MANY_PARTITIONS = 8


class Handle:
    """A closed loop around one query. `detach()` opens it again.

    When the query stops, the loop is open and the handle waits: a later run of the same query (the same checkpoint, in
    the same application) is gated from its first batch on, with what was learned before. `again` makes the gate, the
    sampler and the journal of such a run.
    """

    gives_way = False

    def __init__(
        self,
        query: StreamingQuery,
        live: LiveQuery,
        monitor: Monitor,
        loop: Loop,
        gate: SourceGate,
        sampler: Sampler,
        path: Path,
        again: Callable[[LiveQuery], tuple[SourceGate, Sampler, Journal]],
    ) -> None:
        self.query = query
        self.journal_path = path
        self._live = live
        self._monitor = monitor
        self._loop = loop
        self._gate = gate
        self._sampler = sampler
        self._again = again
        self._over_for_good = False
        self._said: set[str] = set()
        self._lock = threading.RLock()
        self._ended: str | None = None
        self._untold_s = 0.0
        self._over = threading.Event()
        self._idle: deque[float] = deque(maxlen=_IDLE_BATCHES)

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
        self._gate.set_partitions(partitions)
        self._loop.journal.event("partitions", partitions=partitions)

    def detach(self) -> None:
        """Give the user's own limits back and stop watching; the query goes on."""
        if self.active and self._live.stopped():
            # Its last batches and its end are still on the way, and belong in the journal.
            self._over.wait(_LAST_EVENTS_S)
        self._end("detached by the user", for_good=True)

    def __enter__(self) -> Handle:
        """The handle itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Detach."""
        self.detach()

    def on_event(self, event: dict[str, Any]) -> None:
        """One event of the probe; called in the lane of this query."""
        began_s = time.perf_counter()
        with self._lock:
            if self._ended is not None:
                return
            kind = event["kind"]
            try:
                self._take(kind, event, began_s)
            except Exception as fault:
                # Of a batch whose progress cannot be used, nothing more will come.
                self._loop.fault("sampler", fault, blind=kind == "progress")

    def _take(self, kind: str, event: dict[str, Any], began_s: float) -> None:
        sample = None
        if kind == "job":
            sample = self._sampler.job_ended(parse_job_end(event))
            if event.get("superseded"):
                # A later report of the same batch waits already, and decides.
                self._untold_s += time.perf_counter() - began_s
            else:
                self._observe(sample, began_s)
        elif kind == "progress":
            counted = event.get("files") or (), event.get("rows") or ()
            sample = self._progress(parse_progress(event["progress"], *counted), began_s)
        elif kind == "terminated":
            if event.get("error"):
                self._failed(str(event["error"]))
            self._end("the query has stopped")
        elif kind == "fault":
            # One of a single run is told in place of the progress of a batch.
            self._loop.fault("monitor", str(event.get("error")), blind="run" in event)
        elif kind == "resumed":
            silent_s = event["silent_ms"] / 1e3
            self._loop.renew(
                f"nobody took this query's events for {format_duration(silent_s)}, so its own limit was back in force; "
                "from now on it is steered again",
                event["back_ms"] / 1e3,
            )
        elif kind == "dropped":
            lost = RuntimeError(f"{event['events']} events came faster than they were handled, and are lost")
            for _ in range(event["batches"]):
                self._loop.fault("monitor", lost)
            if not event["batches"]:
                self._loop.fault("monitor", lost, blind=False)
        if self._ended is None:
            self._see_gate(event, sample)

    def on_started(self, query: StreamingQuery) -> None:
        """The query runs again: close the loop around the new run."""
        with self._lock:
            if self._over_for_good:
                return
            # The end of the old run may be told later than the start of the new one.
            self._end("the query has stopped")
            try:
                live = self._monitor.live(query)
                gate, sampler, journal = self._again(live)
            except PenstockError as error:
                log.warning("penstock: a later run of %s is left alone: %s", self._live.name or self._live.id, error)
                self._end(str(error), for_good=True)
                return
            gate.inherit(self._gate)
            self.query, self._live, self._gate, self._sampler = query, live, gate, sampler
            self._over.clear()
            self._monitor.watch(live, self)
            self._ended, self.gives_way = None, True
            self._loop.resume(gate, journal)
        self._look_for_the_end()

    def on_lost(self, why: str, trace: str | None = None) -> None:
        """The session is gone, or the monitor has failed with this traceback."""
        if trace is not None:
            self._loop.journal.event("monitor-fault", error=why, traceback=trace)
        self._end(why, for_good=True)

    def give_way(self) -> None:
        """Another handle takes over: the limit in force stays, since an open gate would let the backlog through."""
        self._end("attached anew", for_good=True, restore=False)

    def _begin(self) -> None:
        if any(source.limit == "All Available" for source in self._live.sources) and not self._loop.observe_only:
            self._say(
                "first-batch-ungated",
                "Spark plans the first batch of a start before attach can limit it, so that one takes the whole "
                "backlog; write penstock.gated(spark.readStream...) where the query is built, or call "
                "penstock.attach_all(spark, ...) before it starts",
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
        self._look_for_the_end()

    def _look_for_the_end(self) -> None:
        """A run that ended before it was watched tells nobody; what a watched one still tells has time to come."""
        if self._live.stopped():
            timer = threading.Timer(_LAST_EVENTS_S, self._end_of, (self._live,))
            timer.daemon = True
            timer.start()

    def _end_of(self, live: LiveQuery) -> None:
        with self._lock:
            if self._live is not live or self._ended is not None:
                return
            failure = self.query.exception()
            if failure is not None:
                self._failed(str(failure))
            self._end("the query has stopped")

    def _failed(self, error: str) -> None:
        advice = hint(error, [source.options for source in self._live.sources])
        if advice is not None:
            log.warning("penstock: the query has failed: %s", advice)
        self._loop.journal.event(
            "query-failed", error=error[:2000], cause=cause(error), **({} if advice is None else {"hint": advice})
        )

    def _progress(self, progress: BatchProgress, began_s: float) -> BatchSample | None:
        sample = self._sampler.progressed(progress)
        self._observe(sample, began_s)
        if sample is None:
            return None
        self._warn_of_idle_interval(sample)
        self._warn_of_partitions(progress)
        if progress.newest_s is not None and progress.newest_s > progress.started_s + _FUTURE_S:
            self._say_once(
                "future-timestamps",
                f"event times lie up to {progress.newest_s - progress.started_s:,.0f} s in the future: they count as "
                "not having waited, and they push the watermark, which may drop what comes on time",
            )
        return sample

    def _see_gate(self, event: dict[str, Any], sample: BatchSample | None) -> None:
        for told in self._gate.on_event(event, sample):
            if isinstance(told, Retention):
                self._loop.guard.limit(told.seconds)
                self._loop.journal.event("retention", topic=told.topic, seconds=told.seconds)
            else:
                self._say_once(*told)

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
        if len(self._idle) == _IDLE_BATCHES and self._idle[-1] > self._idle[0]:
            self._say_once(
                "idle-interval",
                f"the trigger waits {interval_s:g} s but a batch takes {sample.processing_s:.2g} s, and the backlog "
                "grows: the machine is idle while data waits; write .trigger(processingTime='0 seconds') instead",
            )

    def _warn_of_partitions(self, progress: BatchProgress) -> None:
        partitions = progress.state_partitions or 0
        if partitions >= _MANY_PARTITIONS * self._live.cores and 0 < progress.items < _FEW_ROWS * partitions:
            self._say_once(
                "many-partitions",
                f"the state of this query is cut into {partitions} partitions on {self._live.cores} cores, and a batch "
                f"of {progress.items:,} rows pays for all of them; set spark.sql.shuffle.partitions to a small "
                "multiple of the cores and start with a new checkpoint, since the old one keeps the number",
            )

    def _say_once(self, name: str, why: str) -> None:
        if name not in self._said:
            self._said.add(name)
            self._say(name, why)

    def _say(self, name: str, why: str) -> None:
        log.warning("penstock: %s", why)
        self._loop.journal.event(name, why=why)

    def _end(self, why: str, *, for_good: bool = False, restore: bool = True) -> None:
        with self._lock:
            self._over_for_good |= for_good
            if self._ended is None:
                self._ended = why
                self._loop.stop(why, restore=restore)
                self._loop.journal.close()
                self._monitor.unwatch(self._live, settled=restore)
            if for_good:
                self._monitor.unfollow(self._live, self)
        self._over.set()
