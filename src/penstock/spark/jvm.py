"""The bridge to the JVM: compiles the probe once for a session and speaks to running queries through it."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from importlib import resources
from typing import Any

import pyspark
from pyspark import SparkContext
from pyspark.sql.streaming.query import StreamingQuery

from penstock.errors import UnsupportedError

_READY_S = 30.0


def compile_probe(context: SparkContext) -> Any:
    """The probe, compiled by Spark's own Janino and listening on a queue of its own."""
    jvm, gateway = context._jvm, context._gateway
    assert jvm is not None
    assert gateway is not None
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setTargetVersion(8)
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(resources.files("penstock.spark").joinpath("Probe.java").read_text())
    cls = compiler.getClassLoader().loadClass("Probe")
    probe = cls.getDeclaredConstructor(gateway.new_array(jvm.java.lang.Class, 0)).newInstance(
        gateway.new_array(jvm.java.lang.Object, 0)
    )
    context._jsc.sc().listenerBus().addToQueue(probe, "penstock")
    return probe


@dataclass(frozen=True)
class SourceInfo:
    """A source of a running query as the engine sees it."""

    kind: str
    text: str
    limit: str
    options: dict[str, str]


class LiveQuery:
    """A running query: what it reads, how it is triggered, and the limits of its sources."""

    def __init__(self, query: StreamingQuery, probe: Any) -> None:
        self._probe = probe
        self._execution = _execution(query)
        self.id = str(query.id)
        self.run_id = str(query.runId)
        self.name = query.name
        facts = self._describe(query)
        self.trigger: str = facts["trigger"]
        self.interval_s: float = (facts["interval_ms"] or 0) / 1e3
        self.checkpoint: str = facts["checkpoint"]
        self.fast: bool = facts["manager"].endswith("FileSystemBasedCheckpointFileManager")
        self.sources = tuple(SourceInfo(s["class"], s["text"], s["limit"], s["options"]) for s in facts["sources"])

    def watch(self) -> None:
        """Begin to receive this query's events."""
        self._probe.watch(self.id, self._execution)

    def unwatch(self) -> None:
        """Receive them no longer."""
        self._probe.unwatch(self.id, self._execution)

    def stopped(self) -> bool:
        """Whether the query has stopped; true also when its session is gone."""
        try:
            return not self._execution.isActive()
        except Exception:
            return True

    def set_max_files(self, source: int, files: int) -> None:
        """Limit the next batches to so many files."""
        self._probe.setMaxFiles(self._execution, source, files)

    def set_limit(self, source: int, limit: Any) -> None:
        """Set a read limit object that the engine gave before."""
        self._probe.setLimit(self._execution, source, limit)

    def user_limit(self, source: int, remembered: str | None) -> Any:
        """The limit that the user had: the one that `gated` remembered, or else the one in force."""
        if remembered is None:
            return self._probe.limit(self._execution, source)
        return self._probe.parseLimit(remembered)

    def _describe(self, query: StreamingQuery) -> dict[str, Any]:
        # The engine makes the sources in its own thread, a moment after start() returns.
        deadline_s = time.monotonic() + _READY_S
        while True:
            facts: dict[str, Any] = json.loads(self._probe.describe(self._execution))
            if facts["sources"]:
                return facts
            if (failure := query.exception()) is not None:
                why = str(failure).splitlines()[0]
                raise UnsupportedError(f"query {self.name or self.id} has failed: {why}; repair and start it, attach")
            if not query.isActive or time.monotonic() > deadline_s:
                raise UnsupportedError(
                    f"query {self.name or self.id} has no sources yet or any more; start it, wait until it runs, attach"
                )
            time.sleep(0.02)


def _execution(query: StreamingQuery) -> Any:
    jsq = getattr(query, "_jsq", None)
    if jsq is None:
        raise UnsupportedError(
            "this is a Spark Connect query: its engine is out of reach from here; attach from a classic session "
            "(SparkSession.builder.master(...)) in the driver's process"
        )
    if not query.isActive:
        raise UnsupportedError(
            f"query {query.name or query.id} has stopped; start it and attach to what start() returns"
        )
    execution = jsq.streamingQuery() if "Wrapper" in jsq.getClass().getSimpleName() else jsq
    kind = execution.getClass().getSimpleName()
    if kind == "ContinuousExecution":
        raise UnsupportedError(
            "a continuous query has no batches to gate; use .trigger(processingTime='0 seconds') instead"
        )
    fields, at = set(), execution.getClass()
    while at is not None:
        fields |= {f.getName() for f in at.getDeclaredFields()}
        at = at.getSuperclass()
    if "uniqueSources" not in fields:
        raise UnsupportedError(
            f"Spark {pyspark.__version__} keeps the read limits of a query elsewhere than 4.0 to 4.3 do; "
            "use one of those, or run without attach"
        )
    return execution
