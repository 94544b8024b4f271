"""The latency of a window (figure 8), from the arrival of its last row to the end of the batch with its result.

Q1 at a steady rate that is always sustained. By Gasser's B, at the operator's own pace; and by Spark's batch size, as
the interval of its trigger sets it.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from statistics import mean
from typing import TYPE_CHECKING, Any

from penstock.apps.gasser.quotes import QUOTE_DDL
from penstock.bench.measures.windows.cases import CORES, QUERIES, SEED, Size
from penstock.bench.measures.windows.job import Job, Record
from penstock.bench.measures.windows.machine import Machine
from penstock.errors import PenstockError
from penstock.patterns.arrivals import parse_arrivals
from penstock.patterns.constant import Constant
from penstock.spark.faults import cause
from penstock.spark.source.workload import read_workload
from penstock.spark.windows.api import windows
from penstock.workloads.workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PROGRAM, BY_BATCH, BY_TRIGGER = "latency", "B", "trigger"
EVERY = 25
RATE_PER_S = 20_000
# The operator starts, and catches up with what came in the meantime.
_WARM_S = 5.0
_LEAST_BATCHES = 3
# A cold Spark starts late, and a busy machine has few batches: how much longer a run may take.
_PATIENCE_S = 60.0
_LOOK_EVERY_S = 0.5


def jobs(size: Size) -> Iterator[Job]:
    """Each B, and each interval of the trigger, for each length."""
    for length in size.lengths:
        for batch in size.latency_batches:
            yield _job(length, BY_BATCH, batch, 0.0)
        for trigger_s in size.latency_triggers_s:
            yield _job(length, BY_TRIGGER, 384, trigger_s)


def _job(length: int, by: str, batch: int, trigger_s: float) -> Job:
    about = {"program": PROGRAM, "by": by, "length": length, "batch": batch, "trigger_s": trigger_s}
    return Job(about, lambda machine: _measure(machine, length, batch, trigger_s))


def _measure(machine: Machine, length: int, batch: int, trigger_s: float) -> Record:
    query = QUERIES["q1"]
    arrivals = parse_arrivals(f"constant:rate={RATE_PER_S}/s")
    workload = Workload(arrivals, Constant(1.0), query.stream(1), QUOTE_DDL, seed=SEED)
    df = read_workload(machine.spark, workload, partitions=CORES).load()
    over = windows(df, order="id").rows(length, every=EVERY, batch=batch, replicas=CORES)
    warm_s = _WARM_S + length / RATE_PER_S
    batches = _run(machine, over.apply(query.kernel, *query.columns), trigger_s, warm_s)
    latencies = [_latencies(each, arrivals) for each in batches]
    if not latencies:
        raise PenstockError("no batch ended after the warm-up")
    busy = sum(each["durationMs"]["triggerExecution"] for each in batches) / 1e3
    return {
        "mean_s": mean(each[0] for each in latencies),
        "max_s": max(each[1] for each in latencies),
        "batch_s": busy / len(batches),
        "batch_rows": mean(each["numInputRows"] for each in batches),
        "batches": len(batches),
    }


def _run(machine: Machine, out: DataFrame, trigger_s: float, warm_s: float) -> list[Any]:
    """The batches of a run that began after the warm-up."""
    wanted_s = machine.size.latency_s - 2 * trigger_s
    with tempfile.TemporaryDirectory(dir=machine.folder) as checkpoint:
        writer = out.writeStream.format("noop").option("checkpointLocation", checkpoint)
        query = writer.trigger(processingTime=f"{round(1e3 * trigger_s)} milliseconds").start()
        deadline_s = time.time() + _PATIENCE_S + warm_s + machine.size.latency_s
        counted: list[Any] = []
        try:
            while query.isActive and time.time() < deadline_s:
                time.sleep(_LOOK_EVERY_S)
                counted = _after(query.recentProgress, warm_s)
                if len(counted) >= _LEAST_BATCHES and _began_s(counted[-1]) - _began_s(counted[0]) >= wanted_s:
                    break
        finally:
            query.stop()
        if query.exception() is not None:
            raise PenstockError(f"the query failed: {cause(query.exception())}")
        return counted


def _after(batches: Sequence[Any], warm_s: float) -> list[Any]:
    """Those with rows that began so long after the first batch ended: until then the stream catches up."""
    if not batches:
        return []
    ended_s = _began_s(batches[0]) + batches[0]["durationMs"]["triggerExecution"] / 1e3
    return [each for each in batches if each["numInputRows"] and _began_s(each) > ended_s + warm_s]


def _began_s(progress: Any) -> float:
    return datetime.fromisoformat(progress["timestamp"].replace("Z", "+00:00")).timestamp()


def _latencies(progress: Any, arrivals: Any) -> tuple[float, float]:
    """Mean and longest of a batch: at a steady rate, window ends are spread evenly over its rows."""
    source = progress["sources"][0]
    start, end = (_offset(source[edge]) for edge in ("startOffset", "endOffset"))
    ended_s = _began_s(progress) + progress["durationMs"]["triggerExecution"] / 1e3
    elapsed_s = ended_s - end["epoch_ms"] / 1e3
    first_s, last_s = arrivals.arrival_s(start["index"]), arrivals.arrival_s(end["index"] - 1)
    return elapsed_s - (first_s + last_s) / 2, elapsed_s - first_s


def _offset(text: Any) -> dict[str, int]:
    found: dict[str, int] = json.loads(text) if isinstance(text, str) else dict(text)
    return found
