"""One thread a session that takes the probe's events to the handles of the queries they belong to."""

from __future__ import annotations

import json
import logging
import threading
import weakref
from typing import Any, ClassVar, Protocol

from pyspark import SparkContext
from pyspark.sql.streaming.query import StreamingQuery

from penstock.errors import UnsupportedError
from penstock.spark.jvm import LiveQuery, compile_probe

log = logging.getLogger("penstock")

_POLL_MS = 500


class Observer(Protocol):
    """Whoever wants the events of one query."""

    def on_event(self, event: dict[str, Any]) -> None:
        """Take one event of the probe, already parsed."""
        ...

    def on_lost(self, why: str) -> None:
        """No event will come any more."""
        ...


class Monitor:
    """Observes the streaming queries of one SparkContext. It only observes: it can neither delay nor fail a query."""

    _of_context: ClassVar[weakref.WeakKeyDictionary[SparkContext, Monitor]] = weakref.WeakKeyDictionary()
    _lock = threading.Lock()

    def __init__(self, context: SparkContext) -> None:
        self._probe = compile_probe(context)
        self._context = weakref.ref(context)
        self._observers: dict[str, Observer] = {}
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
        live = LiveQuery(query, self._probe)
        if live.run_id in self._observers:
            raise UnsupportedError(
                f"query {live.name or live.id} is attached already, and two loops would undo each other; detach() the "
                "first handle"
            )
        return live

    def watch(self, query: LiveQuery, observer: Observer) -> None:
        """Begin to send this query's events to the observer."""
        self._observers[query.run_id] = observer
        query.watch()

    def unwatch(self, query: LiveQuery) -> None:
        """Send them no longer."""
        self._observers.pop(query.run_id, None)
        try:
            query.unwatch()
        except Exception as gone:  # the session may have ended before the handle
            log.debug("penstock: could not unwatch %s: %r", query.id, gone)

    def _run(self) -> None:
        why = "the session has ended"
        try:
            while (text := self._probe.poll(_POLL_MS)) is not None or not self._context_stopped():
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
        for observer in list(self._observers.values()):
            try:
                observer.on_lost(why)
            except Exception:
                log.exception("penstock: a handle could not be told that %s", why)

    def _deliver(self, event: dict[str, Any]) -> None:
        targets = [self._observers.get(event["run"])] if "run" in event else list(self._observers.values())
        for observer in targets:
            if observer is not None:
                try:
                    observer.on_event(event)
                except Exception:
                    log.exception("penstock: event of query %s not handled", event.get("query"))
