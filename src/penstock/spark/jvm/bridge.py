"""The bridge to the JVM: compiles the probe once for a session and speaks to running queries through it."""

from __future__ import annotations

import json
import time
import weakref
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import pyspark
from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.sql.streaming.query import StreamingQuery

from penstock.errors import LimitsReturnedError, UnsupportedError
from penstock.spark.faults import cause, hint

# Our classes in the JVM; each may use those before it.
_CLASSES = (
    *("Reflect", "FileSource", "Engine", "Scans", "Plans", "Outbox", "Limits", "Lease", "Starts"),
    *("Broker", "LogSizes", "OffsetWatch", "SizeWatch", "Probe"),
)
_READY_S = 30.0
_ASK_MS = 10_000
_RETURNED = "the user's own limits are back in force; wait until events are taken again"


class Bridge:
    """The classes of ours in the JVM: the probe, which listens, the engine's inner parts and Kafka's by reflection."""

    def __init__(self, context: SparkContext, lease_s: float) -> None:
        classes = java_classes(context)
        self.engine = instance(context, classes["Engine"])
        self.plans = instance(context, classes["Plans"])
        self.probe = instance(context, classes["Probe"])
        self.limits = self.probe.limits()
        self.probe.open(context._jsc.sc(), round(lease_s * 1e3))

    def query(self, query_id: str, run_id: str) -> StreamingQuery | None:
        """A run that is active now, in whatever session it was started."""
        execution = self.probe.starts().execution(query_id, run_id)
        return None if execution is None else StreamingQuery(execution)


_compiled: weakref.WeakKeyDictionary[Any, dict[str, Any]] = weakref.WeakKeyDictionary()


def java_classes(context: SparkContext) -> dict[str, Any]:
    """Our classes, compiled by Spark's own Janino: once a JVM, since Py4J takes classes of one name for the same."""
    jvm, gateway = context._jvm, context._gateway
    assert jvm is not None
    if gateway not in _compiled:
        classes, loader = {}, jvm.java.lang.Thread.currentThread().getContextClassLoader()
        for name in _CLASSES:
            compiler = jvm.org.codehaus.janino.SimpleCompiler()
            compiler.setTargetVersion(8)
            compiler.setParentClassLoader(loader)
            compiler.cook(resources.files("penstock.spark.jvm").joinpath(f"{name}.java").read_text())
            loader = compiler.getClassLoader()
            classes[name] = loader.loadClass(name)
        _compiled[gateway] = classes
    return _compiled[gateway]


def instance(context: SparkContext, cls: Any) -> Any:
    """A new object of one of our classes."""
    jvm, gateway = context._jvm, context._gateway
    assert jvm is not None
    assert gateway is not None
    no_types, no_values = gateway.new_array(jvm.java.lang.Class, 0), gateway.new_array(jvm.java.lang.Object, 0)
    return cls.getDeclaredConstructor(no_types).newInstance(no_values)


@dataclass(frozen=True)
class SourceInfo:
    """A source of a running query as the engine sees it."""

    kind: str
    text: str
    limit: str
    options: dict[str, str]


class LiveQuery:
    """A running query: what it reads, how it is triggered, and the limits of its sources."""

    def __init__(self, query: StreamingQuery, bridge: Bridge) -> None:
        self._probe, self._limits, self._engine, self._plans = bridge.probe, bridge.limits, bridge.engine, bridge.plans
        self._execution = _execution(query)
        self.id = str(query.id)
        self.run_id = str(query.runId)
        self.name = query.name
        facts = self._describe(query)
        self.trigger: str = facts["trigger"]
        self.interval_s: float = (facts["interval_ms"] or 0) / 1e3
        self.checkpoint: str = facts["checkpoint"]
        self.cores: int = facts["cores"]
        self.fast: bool = facts["manager"].endswith("FileSystemBasedCheckpointFileManager")
        self.sources = tuple(SourceInfo(s["class"], s["text"], s["limit"], s["options"]) for s in facts["sources"])

    @property
    def available_now(self) -> bool:
        """Whether the query ends once it has taken what was there at its start."""
        return self.trigger == "AvailableNowTrigger"

    def watch(self) -> None:
        """Begin to receive this query's events, and meet its later runs."""
        self._probe.watch(self.id, self._execution)
        self._probe.follow(self.id, self._execution.sparkSession())

    def unwatch(self, settled: bool) -> None:
        """Receive them no longer; a later run is still met. `settled`: this run has the user's own limits again."""
        self._probe.unwatch(self.id, self._execution, settled)

    def unfollow(self) -> None:
        """Leave the query's later runs alone."""
        self._probe.unfollow(self.id)

    def stopped(self) -> bool:
        """Whether the query has stopped; true also when its session is gone."""
        try:
            return not self._execution.isActive()
        except Exception:
            return True

    def set_max_files(self, source: int, files: int) -> None:
        """Limit the next batches to so many files."""
        _in_force(self._limits.setFiles(self.id, self._execution, source, files))

    def set_max_bytes(self, source: int, bytes_: int) -> None:
        """Limit the next batches to files of so many bytes; the engine takes at least one file."""
        _in_force(self._limits.setBytes(self.id, self._execution, source, bytes_))

    def set_rows(self, source: int, most: int, least: int = 0, delay_s: float = 0.0) -> None:
        """Limit the next batches to so many rows; with `least`, wait for those, but at most `delay_s` after a batch."""
        _in_force(self._limits.setRows(self.id, self._execution, source, most, least, round(delay_s * 1e3)))

    def set_file(self, path: str, text: str) -> None:
        """Limit the next batches of a source that reads its limit from this file."""
        _in_force(self._limits.setFile(self.run_id, path, text))

    def set_limit(self, source: int, limit: Any) -> None:
        """Put back a read limit object that the engine gave before."""
        self._engine.setLimit(self._execution, source, limit)

    def measure_bytes(self, source: int) -> None:
        """From the next batch on, tell the bytes of the files that it takes; of Kafka, those of its logs."""
        self._probe.weigh(self.id, source)

    def user_limit(self, source: int, remembered: str | None) -> Any:
        """The limit that the user had: the one that `gated` remembered, or that of before we met it, or the present.

        It is owed from now on: the JVM itself gives it back where nobody polls any more.
        """
        return self._limits.own(self.run_id, self._execution, source, remembered)

    def owe_file(self, path: str, text: str) -> None:
        """The content of a file that is the user's own limit, for a source that reads its limit there."""
        self._limits.oweFile(self.run_id, self._execution, path, text)

    def retention_s(self, source: int, topics: Collection[str]) -> dict[str, float | None]:
        """How long the broker keeps the records of each topic; None where it keeps them for ever."""
        names = _java_list(topics)
        told = json.loads(self._probe.retention(self._execution, source, names, _ASK_MS))
        return {topic: None if ms is None or ms < 0 else ms / 1e3 for topic, ms in told.items()}

    def ends_at(self, source: int, times_s: Sequence[float]) -> list[str]:
        """Where the partitions of a Kafka source ended at these times, by its records' timestamps; offsets as JSON."""
        times = _java_list([round(time_s * 1e3) for time_s in times_s])
        return [json.dumps(ends) for ends in json.loads(self._probe.endsAt(self._execution, source, times, _ASK_MS))]

    def carry_plan(self, text: str) -> int:
        """Put a plan in force for the workers; returns the first batch that runs with it, the next one planned."""
        return int(_of_plans(lambda: self._plans.carry(self._execution, text)))

    def carried_plan(self) -> str | None:
        """The plan that is carried to the workers now, with its first batch and the plan before, or None."""
        text: str | None = _of_plans(lambda: self._plans.carried(self._execution))
        return text

    def _describe(self, query: StreamingQuery) -> dict[str, Any]:
        # The engine makes the sources in its own thread, a moment after start() returns.
        deadline_s = time.monotonic() + _READY_S
        while True:
            facts: dict[str, Any] = json.loads(self._engine.describe(self._execution))
            if facts["sources"]:
                return facts
            if (failure := query.exception()) is not None:
                why = _why(failure)
                raise UnsupportedError(f"query {self.name or self.id} has failed: {why}; repair and start it, attach")
            if not query.isActive or time.monotonic() > deadline_s:
                raise UnsupportedError(
                    f"query {self.name or self.id} has no sources yet or any more; start it, wait until it runs, attach"
                )
            time.sleep(0.02)


def _in_force(set_: bool) -> None:
    if not set_:
        raise LimitsReturnedError(_RETURNED)


def _of_plans(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except (ConnectionError, Py4JNetworkError) as gone:
        raise UnsupportedError("the session of this query has ended; start the query in a new one") from gone
    except Py4JJavaError as error:
        if "NoSuch" not in error.java_exception.getClass().getSimpleName():
            raise
        raise UnsupportedError(
            f"Spark {pyspark.__version__} keeps the session of a query elsewhere than 4.0 to 4.3 do, so no plan "
            "reaches its workers; use one of those, or leave windows, compositions and devices as they are"
        ) from error


def _execution(query: StreamingQuery) -> Any:
    jsq = getattr(query, "_jsq", None)
    if jsq is None:
        raise UnsupportedError(
            "this is a Spark Connect query: its engine is out of reach from here; attach from a classic session "
            "(SparkSession.builder.master(...)) in the driver's process"
        )
    execution = jsq.streamingQuery() if "Wrapper" in jsq.getClass().getSimpleName() else jsq
    if not query.isActive:
        failure = query.exception()
        why = "" if failure is None else f" ({_why(failure)})"
        raise UnsupportedError(
            f"query {query.name or query.id} has stopped{why}; start it and attach to what start() returns"
        )
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


def _why(failure: Exception) -> str:
    return hint(str(failure), ()) or cause(failure)


def _java_list(values: Collection[Any]) -> Any:
    context = SparkContext._active_spark_context
    assert context is not None
    assert context._jvm is not None
    made = context._jvm.java.util.ArrayList()
    for value in values:
        made.add(value)
    return made
