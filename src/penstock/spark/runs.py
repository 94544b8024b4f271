"""The runs of one attached query: how the loop around it is closed, fed with events, and opened again."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from penstock.control.loop import Loop
from penstock.control.protocol import Change
from penstock.errors import UnsupportedError
from penstock.plan import BatchEcho, Plan
from penstock.sample import BatchSample
from penstock.spark import advice
from penstock.spark.advice import Advice
from penstock.spark.faults import cause, hint
from penstock.spark.gates import Retention, SourceGate
from penstock.spark.jvm.bridge import LiveQuery
from penstock.spark.observe.lane import ProbeEvent
from penstock.spark.observe.monitor import Monitor
from penstock.spark.observe.report import BatchReport, parse_job_end, parse_progress
from penstock.spark.observe.sampler import Sampler
from penstock.spark.plans.carrier import Carrier
from penstock.spark.windows.notes import ADVANCE, ROW, Devices, left_out
from penstock.telemetry.sink import Sink
from penstock.units import format_duration

log = logging.getLogger("penstock")

_LAST_EVENTS_S = 5.0


class Runs:
    """One loop over all runs of a query; the monitor's observer of them.

    A run that stops opens the loop, and a later run of the same query closes it again: `again` makes the gate, the
    sampler and the journal of that one.
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
        carrier: Carrier,
        again: Callable[[LiveQuery], tuple[SourceGate, Sampler, Sink]],
    ) -> None:
        self.query = query
        self.live = live
        self.loop = loop
        self.gate = gate
        self.carrier = carrier
        self.ended: str | None = None
        """Why the loop is open, or None while it is closed."""
        self._monitor = monitor
        self._sampler = sampler
        self._again = again
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._over_for_good = False
        self._untold_s = 0.0
        self._advised: set[str] = set()
        self._recent: deque[BatchSample] = deque(maxlen=advice.IDLE_BATCHES)
        self._devices = Devices()
        self.echoed: dict[str, float] = {}
        """The highest values that workers told so far, by name."""

    def begin(self) -> None:
        """Close the loop around the first run."""
        limits = [source.limit for source in self.live.sources]
        self._advise(advice.first_batch_ungated(limits, observe_only=self.loop.observe_only))
        self._advise(advice.remote_checkpoint(self.live.checkpoint, fast=self.live.fast))
        self.carrier.follow(self.live, self.loop.journal)
        with self._lock:
            self._monitor.watch(self.live, self)
            self.loop.start()
        self._look_for_the_end()

    def detach(self) -> None:
        """Open the loop for good; the query goes on."""
        if self.ended is None and self.live.stopped():
            # Its last batches and its end are still on the way, and belong in the journal.
            self._over.wait(_LAST_EVENTS_S)
        self._end("detached by the user", for_good=True)

    def changed(self, change: Change, first_batch: int | None = None) -> None:
        """A slower loop has changed how batches run, from this one on where that is known."""
        with self._lock:
            self.loop.changed(change, first_batch)

    def set_plan(self, parts: Mapping[str, Any], reason: str) -> Plan:
        """Put parts of the plan in force, and let the controller forget what they made untrue."""
        if self._over_for_good:
            # Another handle may count the versions on by now.
            raise UnsupportedError("this handle is detached; call set_plan on what attach() has returned since")
        before = self.carrier.plan.parts
        plan = self.carrier.set(parts, reason)
        for name in parts:
            if plan.parts.get(name) != before.get(name):
                self.changed(Change(name, f"version {plan.version}", reason), self.carrier.first)
        return plan

    @property
    def batch_rows(self) -> float | None:
        """The most rows that the last and the next batches take; None where nothing limits them in rows."""
        if self.ended is not None or self.gate.unit != "rows" or self.loop.observe_only:
            return None
        with self._lock:
            recent = [sample.size for sample in self._recent if math.isfinite(sample.size)]
        return max([self.loop.decision.size, *recent])

    def on_event(self, event: ProbeEvent) -> None:
        """One event of the probe; called in the lane of this query."""
        began_s = time.perf_counter()
        with self._lock:
            if self.ended is not None:
                return
            try:
                self._take(event, began_s)
            except Exception as fault:
                # Of a batch whose progress cannot be used, nothing more will come.
                self.loop.fault("sampler", fault, blind=event["kind"] == "progress")

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
                self.carrier.follow(live, journal)
            except Exception as error:
                log.warning("penstock: a later run of %s is left alone: %s", self.live.name or self.live.id, error)
                self._end(str(error), for_good=True)
                return
            gate.inherit(self.gate)
            self.query, self.live, self.gate, self._sampler = query, live, gate, sampler
            self._over.clear()
            self._monitor.watch(live, self)
            self.ended, self.gives_way = None, True
            self.loop.resume(gate, journal)
        self._look_for_the_end()

    def on_lost(self, why: str, stack: str | None = None) -> None:
        """The session is gone, or the monitor has failed with this traceback."""
        if stack is not None:
            self.loop.journal.event("monitor-fault", error=why, traceback=stack)
        self._end(why, for_good=True)

    def give_way(self) -> None:
        """Another handle takes over: the limit in force stays, since an open gate would let the backlog through."""
        self._end("attached anew", for_good=True, restore=False)

    def _take(self, event: ProbeEvent, began_s: float) -> None:
        kind, sample = event["kind"], None
        if kind == "job":
            sample = self._sampler.sample(parse_job_end(event))
            if event.get("superseded"):
                # A later report of the same batch waits already, and decides.
                self._untold_s += time.perf_counter() - began_s
            else:
                self._observe(sample, began_s)
        elif kind == "progress":
            counted = event.get("files") or (), event.get("rows") or ()
            progress = parse_progress(event["progress"], *counted)
            sample = self._sampler.sample(progress)
            self._observe(sample, began_s)
            for echo in self.carrier.progressed(progress):
                self._heard(echo)
            if sample is not None:
                self._advise_on(progress, sample)
        elif kind == "terminated":
            if event.get("error"):
                self._failed(str(event["error"]))
            self._end("the query has stopped")
            return
        elif kind == "fault":
            # One of a single run is told in place of the progress of a batch.
            self.loop.fault("monitor", str(event.get("error")), blind="run" in event)
        elif kind == "resumed":
            silent_s = event["silent_ms"] / 1e3
            self.loop.renew(
                f"nobody took this query's events for {format_duration(silent_s)}, so its own limit was back in force; "
                "from now on it is steered again",
                event["back_ms"] / 1e3,
            )
        elif kind == "dropped":
            lost = RuntimeError(f"{event['events']} events came faster than they were handled, and are lost")
            for _ in range(event["batches"]):
                self.loop.fault("monitor", lost)
            if not event["batches"]:
                self.loop.fault("monitor", lost, blind=False)
        for told in self.gate.on_event(event, sample):
            if isinstance(told, Retention):
                self.loop.guard.limit(told.seconds)
                self.loop.journal.event("retention", topic=told.topic, seconds=told.seconds)
            else:
                self._advise(told)

    def _heard(self, echo: BatchEcho) -> None:
        if ROW in self.echoed:
            advance = echo.highest.get(ROW, 0.0) - self.echoed[ROW]
            self.echoed[ADVANCE] = max(self.echoed.get(ADVANCE, 0.0), advance)
        for name, value in echo.highest.items():
            self.echoed[name] = max(self.echoed.get(name, value), value)
        for given in left_out(echo):
            self._advise(given)
        if (why := self._devices.heard(echo)) is not None:
            self.loop.journal.event("device", why=why)

    def _observe(self, sample: BatchSample | None, began_s: float) -> None:
        if sample is None:
            return
        told_s = self._untold_s + time.perf_counter() - began_s
        self.loop.observe(sample, control_s=told_s)
        # A record is written before its own work ends; the rest is told with the next one, so that the sum is right.
        self._untold_s += time.perf_counter() - began_s - told_s

    def _advise_on(self, progress: BatchReport, sample: BatchSample) -> None:
        self._recent.append(sample)
        self._advise(advice.idle_interval(self.live.interval_s, self._recent))
        self._advise(advice.many_partitions(progress, self.live.cores))
        self._advise(advice.future_timestamps(progress))

    def _advise(self, given: Advice | None) -> None:
        """Tell it, once."""
        if given is not None and given.name not in self._advised:
            self._advised.add(given.name)
            log.warning("penstock: %s", given.why)
            self.loop.journal.event(given.name, why=given.why)

    def _look_for_the_end(self) -> None:
        """A run that stopped before it was watched sends no end event: open the loop after 5 s."""
        if self.live.stopped():
            timer = threading.Timer(_LAST_EVENTS_S, self._end_of, (self.live,))
            timer.daemon = True
            timer.start()

    def _end_of(self, live: LiveQuery) -> None:
        with self._lock:
            if self.live is not live or self.ended is not None:
                return
            failure = self.query.exception()
            if failure is not None:
                self._failed(str(failure))
            self._end("the query has stopped")

    def _failed(self, error: str) -> None:
        remedy = hint(error, [source.options for source in self.live.sources])
        if remedy is not None:
            log.warning("penstock: the query has failed: %s", remedy)
        details: dict[str, Any] = {} if remedy is None else {"hint": remedy}
        self.loop.journal.event("query-failed", error=error[:2000], cause=cause(error), **details)

    def _end(self, why: str, *, for_good: bool = False, restore: bool = True) -> None:
        with self._lock:
            self._over_for_good |= for_good
            if self.ended is None:
                self.ended = why
                self.loop.stop(why, restore=restore)
                self.loop.journal.close()
                self._monitor.unwatch(self.live, settled=restore)
            if for_good:
                self._monitor.unfollow(self.live, self)
        self._over.set()
