"""The carrier: puts the plan of a query in force between batches, and hears from its workers what they ran."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from penstock.errors import UnsupportedError
from penstock.plan import NO_PLAN, BatchEcho, Plan
from penstock.spark.jvm.bridge import LiveQuery
from penstock.spark.observe.report import BatchReport
from penstock.spark.plans.echo import Echo, Echoes
from penstock.spark.plans.in_force import SETTING, as_carried, carried
from penstock.spark.plans.kept import kept_beside, load_plan, save_plan
from penstock.telemetry.sink import Sink

log = logging.getLogger("penstock")

_REMEMBERED_PLANS = 64
_starting = threading.RLock()


class Carrier:
    """The plan of one query, over all its runs.

    A plan is written beside the journal first and then put in force, so the file is never older than what a batch ran
    with, and no version number is given out twice. It holds from the next planned batch on, at whatever moment it is
    set: the batch that runs keeps its own, also where it has many jobs. Workers echo the version that they ran; the
    journal gets one record a batch, says which batch was the first of a version, and says so loudly where a batch ran
    another version than it should.
    """

    def __init__(self, journal_path: Path) -> None:
        self._path = kept_beside(journal_path)
        self._plan = load_plan(self._path)
        self._live: LiveQuery | None = None
        self._journal: Sink | None = None
        self._unsupported: UnsupportedError | None = None
        # The first batch of each version that was put in force, the newest last.
        self._firsts: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED_PLANS)
        self._carried = 0
        self._confirmed = 0
        self._echoes = Echoes()
        self._lock = threading.RLock()

    @property
    def plan(self) -> Plan:
        """The plan last set: the next planned batch runs with it."""
        return self._plan

    @property
    def first(self) -> int | None:
        """The first batch that runs with the plan last put in force; None where none was."""
        return self._firsts[-1][0] if self._firsts else None

    def follow(self, live: LiveQuery, journal: Sink) -> None:
        """A run of the query begins, or is met: the plan holds for it too."""
        with self._lock:
            self._live, self._journal = live, journal
            self._firsts.clear()
            # What the former run echoed of a batch that this one may run again is no part of it.
            self._take()
            self._echoes.clear()
            try:
                text = live.carried_plan()
            except Exception as error:
                # A query without a plan needs no carrier.
                if self._plan.version:
                    raise
                self._unsupported = error if isinstance(error, UnsupportedError) else UnsupportedError(repr(error))
                return
            first, started_with, _ = (0, NO_PLAN, None) if text is None else carried(text)
            if started_with.version > self._plan.version:
                # It was started with the plan of another journal, whose versions count on.
                self._plan = started_with
                save_plan(self._path, started_with, "the query carried it")
            if started_with.version and started_with == self._plan:
                self._in_force(first, "the query was started with it")
            elif self._plan.version:
                self._in_force(live.carry_plan(self._plan.to_text()), "kept from before")

    def set(self, parts: Mapping[str, Any], reason: str) -> Plan:
        """Put these parts in force from the next planned batch on, beside those of other names; None takes one away."""
        with self._lock:
            assert self._live is not None
            if self._unsupported is not None:
                raise self._unsupported
            plan = self._plan.changed(parts)
            if plan is not self._plan:
                save_plan(self._path, plan, reason)
                self._plan = plan
            elif plan.version == self._carried:
                return plan
            self._in_force(self._live.carry_plan(plan.to_text()), reason)
            return plan

    def progressed(self, progress: BatchReport) -> list[BatchEcho]:
        """A batch is over: what its workers echoed, one record a batch."""
        if not progress.executed:
            return []
        with self._lock:
            self._take()
            echoes = self._echoes.over(progress.batch_id)
            for echo in echoes:
                self._record(echo)
            return echoes

    def _take(self) -> None:
        echo = Echo.known(SparkContext._active_spark_context)
        if echo is not None and self._live is not None:
            self._echoes.add(echo.take(self._live.id))

    def _in_force(self, first: int, why: str) -> None:
        assert self._journal is not None
        self._carried = self._plan.version
        self._firsts.append((first, self._plan.version))
        details = {"version": self._plan.version, "first": first, "parts": dict(self._plan.parts)}
        self._journal.event("plan", why=why, **details)

    def _record(self, echo: BatchEcho) -> None:
        assert self._journal is not None
        self._journal.echo(echo)
        due = next((version for first, version in reversed(self._firsts) if first <= echo.batch_id), None)
        if echo.version is None or due not in (None, echo.version):
            ran = " and ".join(str(version) for version in echo.versions)
            why = f"batch {echo.batch_id} ran version {ran} of the plan"
            why += "; a batch runs one version whole" if due is None else f", and {due} was in force"
            log.warning("penstock: %s", why)
            self._journal.event("plan-disobeyed", why=why, batch_id=echo.batch_id, versions=list(echo.versions))
        elif echo.version > self._confirmed:
            self._confirmed = echo.version
            self._journal.event("plan-confirmed", version=echo.version, batch_id=echo.batch_id)


@contextmanager
def starting(
    spark: SparkSession, journal: str | Path, parts: Mapping[str, Any] | None = None, reason: str = "first plan"
) -> Iterator[Plan]:
    """Start a query in here, and its very first batch obeys the plan that is kept beside its journal.

    `parts` make the first version where there is none yet. `attach` must be given the same `journal`. ::

        with starting(spark, "/state/orders.jsonl", {"composition": "a | b"}):
            query = out.writeStream.option("checkpointLocation", ...).start()
        handle = penstock.attach(query, "<= 1 s", journal="/state/orders.jsonl")

    Spark copies the settings of the session when a query starts. So the plan is set on the session for the time of the
    `with` block only, and the blocks of several threads come one after another.
    """
    path = kept_beside(journal)
    with _starting:
        plan = load_plan(path)
        if parts and not plan.version:
            plan = plan.changed(parts)
            save_plan(path, plan, reason)
        before = spark.conf.get(SETTING, None)
        if plan.version:
            spark.conf.set(SETTING, as_carried(plan))
        try:
            yield plan
        finally:
            if before is None:
                spark.conf.unset(SETTING)
            else:
                spark.conf.set(SETTING, before)
