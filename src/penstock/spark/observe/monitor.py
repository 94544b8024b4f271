"""One thread a session that takes the probe's events to the handles of the queries they belong to."""

from __future__ import annotations

import json
import logging
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Protocol

from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext
from pyspark.sql.streaming.query import StreamingQuery

from penstock.errors import BadInputError, UnsupportedError
from penstock.spark.jvm.bridge import Bridge, LiveQuery
from penstock.spark.observe.lane import Lane, ProbeEvent
from penstock.units import format_duration, parse_duration_s

log = logging.getLogger("penstock")

LEASE = "spark.penstock.lease"
"""The setting for how long the JVM keeps our limits in force while nobody polls."""
LEASE_S = 30.0
# A poll may wait 0.5 s, and a busy driver's a little longer.
_LEAST_LEASE_S = 2.0
_POLL_MS = 500
_END_S = 5.0


class Observer(Protocol):
    """Whoever wants the events of one query, and of its later runs."""

    gives_way: bool
    """Whether a new attach may take its place."""

    def on_event(self, event: ProbeEvent) -> None:
        """Take one event of the probe, already parsed."""
        ...

    def on_started(self, query: StreamingQuery) -> None:
        """The query runs again, after it had stopped."""
        ...

    def on_lost(self, why: str, stack: str | None = None) -> None:
        """No event will come any more; `stack` is the traceback of a fault of ours."""
        ...

    def give_way(self) -> None:
        """Another observer takes over."""
        ...


class Host(Protocol):
    """Whoever takes queries as they start: `attach_all`."""

    def take(self, query: StreamingQuery) -> None:
        """A query starts."""
        ...

    def on_lost(self, why: str) -> None:
        """No query will be taken any more."""
        ...


class Monitor:
    """Observes the streaming queries of one SparkContext. It can fail no query, and delay only the start of one.

    A query that is met as it starts, because `attach_all` or a handle waits for it, may wait up to 0.25 s for the
    thread that limits its sources, and its first plan as long. Nothing else of ours is on a query's way.

    The monitor's own thread only polls and sorts. What an event calls for is done in the lane of its query, and every
    start has a lane of its own, so one that is slow or hangs holds up no other. A lane that is stuck, or behind, by the
    time of the lease gets its query the user's limits back until it is behind by less than half of that; the JVM does
    so for all queries where nobody polls for that long (`Probe.java`).
    """

    _of_context: ClassVar[weakref.WeakKeyDictionary[SparkContext, Monitor]] = weakref.WeakKeyDictionary()
    _lock = threading.Lock()

    def __init__(self, context: SparkContext, lease_s: float = LEASE_S) -> None:
        self.lease_s = lease_s
        self._bridge = Bridge(context, lease_s)
        self._context = weakref.ref(context)
        self._observers: dict[str, Observer] = {}
        self._lanes: dict[str, Lane] = {}
        self._stuck: dict[str, float] = {}
        """Runs that have the user's limits back, and since when (wall clock)."""
        self._starts: dict[str, Lane] = {}
        self._followers: dict[str, Observer] = {}
        self._host: Host | None = None
        self._lost = False
        self._takers: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
        self._takers_lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="penstock-monitor", daemon=True)
        self._thread.start()

    @classmethod
    def of(cls, context: SparkContext) -> Monitor:
        """The context's monitor; made at first use, and again where the former one has ended."""
        with cls._lock:
            monitor = cls._of_context.get(context)
            if monitor is not None and monitor._lost:
                # Its limits first: another monitor would take them for the user's own.
                monitor._thread.join(_END_S)
            if monitor is None or monitor._lost:
                monitor = cls._of_context[context] = cls(context, _lease_s(context))
            return monitor

    @contextmanager
    def taking(self, query_id: str, wait_s: float | None = None) -> Iterator[None]:
        """Inspect and register a query atomically; refused where another thread does so for longer than `wait_s`."""
        with self._takers_lock:
            lock = self._takers.setdefault(query_id, threading.RLock())
        if not lock.acquire(timeout=-1 if wait_s is None else wait_s):
            raise UnsupportedError(
                f"query {query_id} is being attached by another thread, which does not come to an end; look for what "
                "it waits for (mostly the disk of the journal), and attach again"
            )
        try:
            yield
        finally:
            lock.release()

    def live(self, query: StreamingQuery) -> LiveQuery:
        """The query as the engine sees it; one that is watched already is refused."""
        live = LiveQuery(query, self._bridge)
        watching = self._observers.get(live.run_id)
        if watching is not None and watching.gives_way:
            watching.give_way()
        elif watching is not None:
            raise UnsupportedError(
                f"query {live.name or live.id} is attached already, and two loops would undo each other; detach() the "
                "first handle"
            )
        return live

    def watch(self, query: LiveQuery, observer: Observer) -> None:
        """Begin to send this query's events to the observer, and to tell it of later runs."""
        self._lanes[query.run_id] = Lane(f"penstock-{query.name or query.id}", observer.on_event)
        self._observers[query.run_id] = self._followers[query.id] = observer
        # Only now: either this thread sees the end of the monitor, or that sees this observer.
        if self._lost:
            self.unwatch(query, settled=False)
            self.unfollow(query, observer)
            raise UnsupportedError(f"query {query.name or query.id}: the monitor has ended meanwhile; attach again")
        query.watch()

    def unwatch(self, query: LiveQuery, *, settled: bool) -> None:
        """Send them no longer; a later run is still told. `settled`: this run has the user's own limits again."""
        self._observers.pop(query.run_id, None)
        if (lane := self._lanes.pop(query.run_id, None)) is not None:
            lane.close()
        self._at_the_jvm(lambda: query.unwatch(settled))

    def unfollow(self, query: LiveQuery, observer: Observer) -> None:
        """Tell nothing of later runs either, unless another observer does it now."""
        if self._followers.get(query.id) is observer:
            del self._followers[query.id]
            self._at_the_jvm(query.unfollow)

    def welcome(self, session: Any, names: str, files: int, rows: int, host: Host | None) -> None:
        """Give every query that starts, and whose name matches, to `host`; None ends it."""
        if host is not None and self._host is not None:
            raise UnsupportedError("attach_all is at work already for this session; stop() the first one")
        self._at_the_jvm(
            lambda: self._bridge.probe.starts().welcome(
                None if host is None else names, files, rows, session._jsparkSession
            )
        )
        self._host = host

    def _at_the_jvm(self, call: Callable[[], None]) -> bool:
        """Whether the call was done: the session may have ended before the handle."""
        try:
            call()
        except Exception as gone:
            log.debug("penstock: the session is gone: %r", gone)
            return False
        return True

    def _run(self) -> None:
        why, stack = "the session has ended", None
        try:
            while (text := self._bridge.probe.poll(_POLL_MS)) is not None or not self._context_stopped():
                if text is not None:
                    self._sort(text)
                self._look_for_stuck_lanes()
        except (ConnectionError, Py4JNetworkError) as gone:
            why = f"{why}: {type(gone).__name__}"
        except BaseException as fault:
            if not self._context_stopped():
                why, stack = f"the monitor has failed: {fault!r}", traceback.format_exc()
                log.exception("penstock: the monitor has failed; the users' own limits come back")
        finally:
            self._lose(why, stack)

    def _context_stopped(self) -> bool:
        # The JVM outlives a stopped context, and its probe would answer for ever.
        context = self._context()
        return context is None or context._jsc is None

    def _lose(self, why: str, stack: str | None) -> None:
        """Nothing is steered any more: the JVM gives all limits back and meets no further query, and all are told."""
        self._lost = True
        self._at_the_jvm(self._bridge.probe.close)
        if (host := self._host) is not None:
            self._host = None
            host.on_lost(why)
        told: set[int] = set()
        for observer in [*self._observers.values(), *self._followers.values()]:
            if id(observer) not in told:
                told.add(id(observer))
                # In a lane: a handle that is stuck must not keep the others from hearing of it.
                lane = Lane("penstock-end", lambda event, each=observer: each.on_lost(why, stack))  # type: ignore[misc]
                lane.put({"kind": "lost"})
                lane.close()

    def _sort(self, text: str) -> None:
        try:
            event = json.loads(text)
            if event["kind"] == "started":
                start = self._starts[event["run"]] = Lane("penstock-start", self._begin)
                start.put(event)
                start.close()
                return
            lanes = [self._lanes.get(event["run"])] if "run" in event else list(self._lanes.values())
        except (ValueError, KeyError, TypeError):
            log.exception("penstock: an event that cannot be read is left out: %.200s", text)
            return
        for lane in lanes:
            if lane is not None:
                lane.put(event)

    def _look_for_stuck_lanes(self) -> None:
        for run, lane in [*self._lanes.items(), *self._starts.items()]:
            event = lane.stuck_on(self.lease_s)
            if event is not None and run not in self._stuck:
                self._give_back(run, event)
        for run, since_s in list(self._stuck.items()):
            lanes = [lane for lane in (self._lanes.get(run), self._starts.get(run)) if lane is not None]
            if not lanes:
                del self._stuck[run]
            elif all(lane.stuck_on(self.lease_s / 2) is None for lane in lanes):
                self._take_up(run, since_s)

    def _give_back(self, run: str, event: ProbeEvent) -> None:
        # Where the JVM does not do it, it is tried again at the next look.
        if self._at_the_jvm(lambda: self._bridge.limits.giveBack(run)):
            self._stuck[run] = time.time()
            log.warning(
                "penstock: an event of query %s is not done with after %s; the user's own limit comes back",
                event.get("query"),
                format_duration(self.lease_s),
            )

    def _take_up(self, run: str, since_s: float) -> None:
        lane = self._lanes.get(run)
        if lane is not None and self._at_the_jvm(lambda: self._bridge.limits.takeUp(run)):
            del self._stuck[run]
            silent_ms = round((time.time() - since_s + self.lease_s) * 1e3)
            event = {"kind": "resumed", "run": run, "silent_ms": silent_ms, "back_ms": since_s * 1e3}
            lane.put(event, first=True)

    def _begin(self, event: ProbeEvent) -> None:
        """A run was met as it started: somebody takes it, or it gets its own limits back."""
        run = event["run"]
        try:
            # However long: meanwhile the run counts as stuck.
            with self.taking(event["query"]):
                try:
                    self._take(event)
                finally:
                    if run not in self._observers:
                        self._at_the_jvm(lambda: self._bridge.limits.release(run))
        except Exception:
            log.exception("penstock: query %s starts and could not be attached", event.get("query"))
        finally:
            self._starts.pop(run, None)

    def _take(self, event: ProbeEvent) -> None:
        query = self._bridge.query(event["query"], event["run"])
        if query is None or event["run"] in self._observers:
            return
        if (follower := self._followers.get(event["query"])) is not None:
            follower.on_started(query)
        elif self._host is not None:
            self._host.take(query)


def _lease_s(context: SparkContext) -> float:
    text = context.getConf().get(LEASE)
    lease_s = LEASE_S if text is None else parse_duration_s(text, LEASE)
    if lease_s < _LEAST_LEASE_S:
        raise BadInputError(LEASE, text, "a busy driver would lose its limits all the time", "write 2 s or more")
    return lease_s
