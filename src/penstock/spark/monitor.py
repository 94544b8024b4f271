"""One thread a session that takes the probe's events to the handles of the queries they belong to."""

from __future__ import annotations

import json
import logging
import threading
import weakref
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, TypeAlias

from pyspark import SparkContext
from pyspark.sql.streaming.query import StreamingQuery

from penstock.errors import UnsupportedError
from penstock.spark.jvm import Bridge, LiveQuery

log = logging.getLogger("penstock")

_POLL_MS = 500


class Observer(Protocol):
    """Whoever wants the events of one query, and of its later runs."""

    gives_way: bool
    """Whether a new attach may take its place."""

    def on_event(self, event: dict[str, Any]) -> None:
        """Take one event of the probe, already parsed."""
        ...

    def on_started(self, query: StreamingQuery) -> None:
        """The query runs again, after it had stopped."""
        ...

    def on_lost(self, why: str) -> None:
        """No event will come any more."""
        ...

    def give_way(self) -> None:
        """Another observer takes over."""
        ...


Welcome: TypeAlias = Callable[[StreamingQuery], None]


class Monitor:
    """Observes the streaming queries of one SparkContext. It only observes: it can neither delay nor fail a query."""

    _of_context: ClassVar[weakref.WeakKeyDictionary[SparkContext, Monitor]] = weakref.WeakKeyDictionary()
    _lock = threading.Lock()

    def __init__(self, context: SparkContext) -> None:
        self._bridge = Bridge(context)
        self._context = weakref.ref(context)
        self._observers: dict[str, Observer] = {}
        self._followers: dict[str, Observer] = {}
        self._welcome: Welcome | None = None
        self.taking = threading.RLock()
        """Held from the look at a query to the watching of it: of two handles that want the same run, one is first."""
        self._thread = threading.Thread(target=self._run, name="penstock-monitor", daemon=True)
        self._thread.start()

    @classmethod
    def of(cls, context: SparkContext) -> Monitor:
        """The context's monitor; made at first use, and again where the former one's JVM has gone."""
        with cls._lock:
            monitor = cls._of_context.get(context)
            if monitor is None or not monitor._thread.is_alive():
                monitor = cls._of_context[context] = cls(context)
            return monitor

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
        self._observers[query.run_id] = self._followers[query.id] = observer
        query.watch()

    def unwatch(self, query: LiveQuery) -> None:
        """Send them no longer; a later run is still told."""
        self._observers.pop(query.run_id, None)
        self._at_the_jvm(query.unwatch)

    def unfollow(self, query: LiveQuery, observer: Observer) -> None:
        """Tell nothing of later runs either, unless another observer does it now."""
        if self._followers.get(query.id) is observer:
            del self._followers[query.id]
            self._at_the_jvm(query.unfollow)

    def release(self, query: StreamingQuery) -> None:
        """Give a run that was met, and that nobody steers, its own limits back."""
        self._at_the_jvm(lambda: self._bridge.probe.release(str(query.id), str(query.runId)))

    def welcome(self, session: Any, names: str, files: int, rows: int, each: Welcome | None) -> None:
        """Call `each` with every query that starts and whose name matches; None ends it."""
        if each is not None and self._welcome is not None:
            raise UnsupportedError("attach_all is at work already for this session; stop() the first one")
        self._at_the_jvm(
            lambda: self._bridge.probe.welcome(None if each is None else names, files, rows, session._jsparkSession)
        )
        self._welcome = each

    def _at_the_jvm(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception as gone:  # the session may have ended before the handle
            log.debug("penstock: the session is gone: %r", gone)

    def _run(self) -> None:
        why = "the session has ended"
        try:
            while (text := self._bridge.probe.poll(_POLL_MS)) is not None or not self._context_stopped():
                if text is not None:
                    self._deliver(json.loads(text))
        except Exception as gone:
            why = f"{why}: {type(gone).__name__}"
        finally:
            self._lose(why)

    def _context_stopped(self) -> bool:
        # The JVM outlives a stopped context, and its probe would answer for ever.
        context = self._context()
        return context is None or context._jsc is None

    def _lose(self, why: str) -> None:
        for observer in {*self._observers.values(), *self._followers.values()}:
            try:
                observer.on_lost(why)
            except Exception:
                log.exception("penstock: a handle could not be told that %s", why)

    def _deliver(self, event: dict[str, Any]) -> None:
        if event["kind"] == "started":
            try:
                self._begin(event)
            except Exception:
                log.exception("penstock: the start of query %s not handled", event.get("query"))
            return
        targets = [self._observers.get(event["run"])] if "run" in event else list(self._observers.values())
        for observer in targets:
            if observer is not None:
                try:
                    observer.on_event(event)
                except Exception:
                    log.exception("penstock: event of query %s not handled", event.get("query"))

    def _begin(self, event: dict[str, Any]) -> None:
        query = self._bridge.query(event["query"], event["run"])
        if query is None:
            return
        with self.taking:
            if event["run"] in self._observers:
                return
            try:
                if (follower := self._followers.get(event["query"])) is not None:
                    follower.on_started(query)
                elif self._welcome is not None:
                    self._welcome(query)
            except Exception:
                log.exception("penstock: query %s starts and could not be attached", event.get("query"))
            if event["run"] not in self._observers:
                self.release(query)
