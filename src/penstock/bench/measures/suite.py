"""The suite's applications: items a second on Spark, beside the same stages in a plain pool of processes."""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.apps import registry
from penstock.apps.suite.app import SuiteApp, number_batch, run_app
from penstock.bench.measures.measure import Measure
from penstock.bench.run import PreparedRun, RunSpec, prepare, trial
from penstock.bench.session import session
from penstock.progress import Say
from penstock.spark.plans.echo import Echo

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Lengths of Spark's batches that are compared; the second is what an objective of 1 s would have.
BATCHES_S = (5.0, 1.0)
CORES = 2
# The first batches of a query on a warm session still pay for its plan.
_WARM = 2
_SEED = 1
_COUNTED = 3


def measure(say: Say, seconds: float) -> Iterator[Measure]:
    """Every application of the suite, each way for about so many seconds."""
    with session(f"local[{CORES}]") as spark, tempfile.TemporaryDirectory() as folder:
        for name in registry.names():
            app: object = registry.create(name)
            if not isinstance(app, SuiteApp):
                continue
            say(f"{name}: in a pool of {CORES} processes")
            app.make_input(_SEED)
            prepared = prepare(RunSpec(name, "huge"))
            pool_per_s = _pool(app, seconds)
            for batch_s in BATCHES_S:
                say(f"{name}: on Spark, batches of {batch_s:g} s")
                rows = max(int(pool_per_s * batch_s), CORES)
                rates, share = _spark(spark, prepared, rows, Path(folder), max(_COUNTED, int(seconds / batch_s)))
                what = f"items/s on Spark, batches of {batch_s:g} s / in a pool of processes (above 1 is better)"
                yield Measure(f"suite.{name}.{batch_s:g}s", statistics.median(rates), pool_per_s, "items/s", what)
                what = f"time in stages / time of batches of {batch_s:g} s, a core"
                yield Measure(f"suite.{name}.{batch_s:g}s.stages", share, 1.0, "", what)


def _pool(app: SuiteApp, seconds: float) -> float:
    """Items a second of the stages in processes, chunk after chunk."""
    with ProcessPoolExecutor(CORES) as pool:
        # Every process has loaded its code and its input before the clock starts.
        list(pool.map(_some, [app] * (4 * CORES), range(4 * CORES), chunksize=1))
        began_s, done = time.perf_counter(), 0
        while time.perf_counter() < began_s + seconds:
            done += sum(pool.map(_some, [app] * (8 * CORES), range(done, done + 8 * CORES), chunksize=1))
        return done / (time.perf_counter() - began_s)


def _some(app: SuiteApp, start: int) -> int:
    """One item through the stages, in a process of the pool."""
    return sum(chunk.num_rows for chunk in run_app(app, [number_batch(start, start + 1, _SEED)]))


def _spark(
    spark: SparkSession, prepared: PreparedRun, rows: int, folder: Path, batches: int
) -> tuple[list[float], float]:
    """Items a second of each batch, and the share of their time that was spent in stages."""
    workload = replace(prepared.workload, items=rows * (_WARM + batches))
    took = trial(spark, prepared, workload, rows, folder, threading.Event())[_WARM:]
    stages_s = _stage_seconds(spark)
    whole_s = sum(seconds for _, seconds in took) * CORES
    return [items / seconds for items, seconds in took], stages_s * len(took) / (_WARM + len(took)) / whole_s


def _stage_seconds(spark: SparkSession) -> float:
    """What the workers of the last query told of its stages, all batches together."""
    echo = Echo.known(spark.sparkContext)
    return 0.0 if echo is None else sum(sum(told[0].values()) for told in echo.drain().values())
