"""Windows in plain PySpark: every row is exploded into the windows that hold it, and each window is a group of pandas.

Over a static DataFrame, which has no state to keep: a streaming query would be slower still.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from penstock.bench.measures.windows.cases import QUERIES, Setting
from penstock.bench.measures.windows.job import Record
from penstock.bench.measures.windows.machine import Machine
from penstock.devices.registry import device

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FIRST_WINDOWS = 4
# Of the limit, what the measured job should take at least.
_SHARE = 0.15
_MOST_ROWS = 1_000_000


def measure(machine: Machine, setting: Setting) -> Record:
    """The rate over as many windows as make the job's fixed cost small; `unfinished` where a few take all the time."""
    limit_s = machine.size.limit_s
    most = max((_MOST_ROWS - setting.length) // setting.every, _FIRST_WINDOWS)
    windows = _FIRST_WINDOWS
    seconds = _timed(machine, setting, windows, limit_s)
    while seconds is not None and seconds < _SHARE * limit_s and windows < most:
        # Step by step: the first job also starts workers, and all have a fixed cost.
        windows = min(int(windows * min(max(_SHARE * limit_s / seconds, 2), 8)), most)
        seconds = _timed(machine, setting, windows, limit_s)
    if seconds is None:
        return {"unfinished": limit_s}
    found = {"rows_per_s": windows * setting.every / seconds, "windows_per_s": windows / seconds}
    return {**found, "windows": windows, "seconds": seconds}


def exploded(df: DataFrame, setting: Setting, windows: int) -> DataFrame:
    """The results of the first so many windows."""
    from pyspark.sql import functions as f

    query = QUERIES[setting.query]

    def compute(key: Any, rows: Any) -> Any:
        import numpy as np
        import pandas as pd  # type: ignore[import-untyped,unused-ignore]

        ordered = rows.sort_values("id")
        program = device("numba").load(query.kernel, query.dtypes, ())
        columns = [ordered[name].to_numpy() for name in query.columns]
        found = program(columns, np.array([0]), np.array([len(ordered)]))
        outputs = zip(query.kernel.outputs, found.outputs, strict=True)
        return pd.DataFrame({"window": [key[0]], **{output.name: values for output, values in outputs}})

    row = f.col("id")
    first = f.greatest(f.lit(0), f.floor((row - setting.length) / setting.every) + 1)
    last = f.least(f.floor(row / setting.every), f.lit(windows - 1))
    spread = df.select("id", *query.columns, f.explode(f.sequence(first, last)).alias("window"))
    return spread.groupBy("window").applyInPandas(compute, f"window bigint, {query.kernel.output_ddl}")


def _timed(machine: Machine, setting: Setting, windows: int, limit_s: float) -> float | None:
    """Seconds of the job, or None where it was cancelled at the limit."""
    import pyarrow as pa

    spark = machine.spark
    rows = setting.length + (windows - 1) * setting.every
    df = spark.createDataFrame(pa.table(dict(QUERIES[setting.query].rows(0, rows)))).cache()
    df.count()
    group = f"plain-{id(df)}"
    cancelled = threading.Event()

    def cancel() -> None:
        cancelled.set()
        spark.sparkContext.cancelJobGroup(group)

    timer = threading.Timer(limit_s, cancel)
    spark.sparkContext.setJobGroup(group, "exploded windows", interruptOnCancel=True)
    timer.start()
    began_s = time.perf_counter()
    try:
        exploded(df, setting, windows).write.format("noop").mode("overwrite").save()
        return time.perf_counter() - began_s
    except Exception:
        if not cancelled.is_set():
            raise
        return None
    finally:
        timer.cancel()
        spark.sparkContext._jsc.clearJobGroup()
        df.unpersist()
