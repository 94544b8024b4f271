"""A streaming query over files that are all there, batch after batch: what each batch took, and where."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.bench.measures.windows.machine import Machine, cpu_seconds
from penstock.errors import PenstockError
from penstock.spark.faults import cause
from penstock.spark.plans.echo import Echo, Echoes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

_LOOK_EVERY_S = 0.05
# Filling 500 keys with 50,000 rows each takes some minutes.
LIMIT_S = 900.0


@dataclass(frozen=True)
class Streamed:
    """What the batches after the warm-up took together; `batch_s` is each one's trigger time."""

    batch_s: tuple[float, ...]
    rows: int
    cpu_s: float
    windows: float
    kernel_s: float
    copies: float
    kept_bytes: float

    @property
    def seconds(self) -> float:
        """Trigger times together."""
        return sum(self.batch_s)

    def record(self, every: int) -> dict[str, Any]:
        """As a record; the sustainable rate is windows a second times the slide, as the paper derives it."""
        return {
            "rows_per_s": self.windows * every / self.seconds,
            "read_rows_per_s": self.rows / self.seconds,
            "windows_per_s": self.windows / self.seconds,
            "kernel_share": self.kernel_s / self.seconds,
            "copies_a_row": self.copies / self.rows,
            "kept_mb": self.kept_bytes / len(self.batch_s) / 1e6,
            "batch_s": [round(each, 3) for each in self.batch_s],
            "batch_rows": self.rows // len(self.batch_s),
        }


def run_stream(machine: Machine, out: DataFrame, warm: int, limit_s: float = LIMIT_S) -> Streamed:
    """Run a query to the end of its files, into a sink that drops everything; the first `warm` batches do not count."""
    cpu_s: float | None = None
    with tempfile.TemporaryDirectory(dir=machine.folder) as checkpoint:
        writer = out.writeStream.format("noop").option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start()
        deadline_s = time.monotonic() + limit_s
        try:
            while query.isActive and time.monotonic() < deadline_s:
                if cpu_s is None and _batches(query) >= warm:
                    cpu_s = cpu_seconds()
                time.sleep(_LOOK_EVERY_S)
            over = not query.isActive
            if over and query.exception() is not None:
                raise PenstockError(f"the query failed: {cause(query.exception())}")
            if not over:
                raise PenstockError(f"the query was not over after {limit_s:.0f} s")
            used_s = cpu_seconds() - (cpu_s or 0.0)
        finally:
            query.stop()
        return _streamed(machine, query, warm, used_s)


def _batches(query: StreamingQuery) -> int:
    last = query.lastProgress
    return 0 if last is None else int(last["batchId"]) + 1


def _streamed(machine: Machine, query: StreamingQuery, warm: int, used_s: float) -> Streamed:
    counted = [each for each in query.recentProgress if each["numInputRows"] and each["batchId"] >= warm]
    if not counted:
        raise PenstockError("no batch came after the warm-up")
    echoes = Echoes()
    echoes.add(Echo.of(machine.spark.sparkContext).take(str(query.id)))
    told = [echo for echo in echoes.over(counted[-1]["batchId"]) if echo.batch_id >= warm]

    def total(name: str) -> float:
        return sum(echo.counts.get(name, 0.0) for echo in told)

    return Streamed(
        tuple(each["durationMs"]["triggerExecution"] / 1e3 for each in counted),
        sum(each["numInputRows"] for each in counted),
        used_s,
        total("windows"),
        sum(echo.highest.get("kernel_s", 0.0) for echo in told),
        total("copies"),
        total("kept_bytes"),
    )
