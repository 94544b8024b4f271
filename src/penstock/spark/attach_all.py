"""`attach_all`: close the loop around every query, as it starts."""

from __future__ import annotations

import fnmatch
import logging
import re
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.control import registry
from penstock.control.lag_guard import LagGuard
from penstock.control.loop import PATIENCE_BATCHES
from penstock.errors import BadInputError, PenstockError, UnsupportedError
from penstock.slo import Slo
from penstock.spark.arguments import check_session, slo_of, whole
from penstock.spark.attach import attach, check_counts, lag_of
from penstock.spark.gates import check_unit
from penstock.spark.handle import Handle
from penstock.spark.observe.monitor import Monitor
from penstock.spark.reader import FIRST_FILES, FIRST_ROWS
from penstock.telemetry.endpoint import exporter_for

log = logging.getLogger("penstock")

_STOPPED = 100

# Settings of `attach` that no controller knows.
_OPTIONS = ("unit", "max_lag", "observe", "metrics", "warm_up_batches", "patience", "labels")


def attach_all(
    spark: SparkSession,
    slo: Slo | str,
    controller: str = registry.DEFAULT,
    *,
    names: str | Sequence[str] | None = None,
    first_rows: int = FIRST_ROWS,
    first_files: int = FIRST_FILES,
    **settings: Any,
) -> Attached:
    """Keep every query of this session within the SLO: those that run now, and each one as it starts.

    ::

        with penstock.attach_all(spark, "1 s ± 10%", names="orders-*") as attached:
            spark.streams.awaitAnyTermination()

    `names` are patterns of query names (`orders-*`); by default every query, also one without a name. A query that
    starts without a limit gets `first_rows` (Kafka) or `first_files` before its first batch is planned, so that no
    backlog comes through at once, and is then steered as by `attach`; after a restart from the size that its journal
    ended with. A query whose sources or trigger know no limit is left alone, and the log says so; so are queries that
    are started from another session (`spark.newSession()`). The start of a query, and its first plan, are held up by
    some milliseconds for that, at most by 0.25 s each. Further settings are those of `attach`.
    """
    context = SparkContext._active_spark_context
    check_session(spark)
    if context is None:
        raise UnsupportedError("this session has ended; make a new one and attach there")
    whole("first_rows", first_rows, least=1, example=FIRST_ROWS)
    whole("first_files", first_files, least=1, example=FIRST_FILES)
    check_counts(settings.get("patience", PATIENCE_BATCHES), settings.get("warm_up_batches"))
    for wrong in {"size", "journal"} & set(settings):
        raise BadInputError(wrong, settings[wrong], "belongs to one query", "leave it out, or attach to each query")
    objective = slo_of(slo)
    # A mistake is told here, and not in the log when a query starts.
    registry.create(controller, objective, 1.0, live=True, **{k: v for k, v in settings.items() if k not in _OPTIONS})
    LagGuard(lag_of(settings.get("max_lag")))
    check_unit(settings.get("unit"))
    exporter_for(settings.get("metrics"))
    patterns = ["*"] if names is None else [names] if isinstance(names, str) else list(names)
    if not patterns:
        raise BadInputError("names", names, "no query has such a name", "give patterns, or leave it out for all")
    attached = Attached(spark, Monitor.of(context), objective, controller, settings)
    rows = 0 if settings.get("observe") else first_rows
    attached._begin("|".join(fnmatch.translate(pattern) for pattern in patterns), first_files, rows)
    return attached


class Attached:
    """What `attach_all` has attached so far. `stop()`, or the end of the `with` block, detaches all of it."""

    def __init__(
        self, spark: SparkSession, monitor: Monitor, slo: Slo, controller: str, settings: dict[str, Any]
    ) -> None:
        self._spark = spark
        self._monitor = monitor
        self._slo = slo
        self._controller = controller
        self._settings = settings
        self._handles: dict[str, Handle] = {}
        self._ended: str | None = None
        self._lock = threading.Lock()

    @property
    def handles(self) -> tuple[Handle, ...]:
        """The handle of every query that was attached; of those that have stopped, the last hundred."""
        with self._lock:
            return tuple(self._handles.values())

    @property
    def ended(self) -> str | None:
        """Why no further query is taken, or None while they are."""
        return self._ended

    def on_lost(self, why: str) -> None:
        """The monitor has ended: no further query is taken. Called by the monitor."""
        self._ended = self._ended or why
        log.warning("penstock: attach_all takes no further query: %s", why)

    def stop(self) -> None:
        """Take no further query, and detach from all."""
        if self._ended is None:
            self._ended = "stopped by the user"
            self._monitor.welcome(self._spark, "", 1, 1, None)
        for handle in self.handles:
            handle.detach()

    def __enter__(self) -> Attached:
        """The object itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop."""
        self.stop()

    def _begin(self, names: str, files: int, rows: int) -> None:
        self._monitor.welcome(self._spark, names, files, rows, self)
        for query in self._spark.streams.active:
            if re.match(names, query.name or ""):
                self.take(query)

    def take(self, query: StreamingQuery) -> None:
        """Attach to a query that starts; called by the monitor."""
        try:
            handle = attach(query, self._slo, self._controller, **self._settings)
        except PenstockError as error:
            log.warning("penstock: query %s is left alone: %s", query.name or query.id, error)
            return
        with self._lock:
            self._handles[str(query.id)] = handle
            stopped = [key for key, each in self._handles.items() if not each.active]
            gone = [self._handles.pop(key) for key in stopped[: max(len(stopped) - _STOPPED, 0)]]
        for each in gone:
            # An application may start query after query; nobody waits for all of them to come back.
            each.detach()
