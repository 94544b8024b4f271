"""The same windows without the operator: loops in one process, pandas, plain Spark, and Flink where it is asked for.

Loops and pandas have all rows in memory and keep results there: they read nothing, move nothing, and survive nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock.bench.measures.windows import flink as flink_peer
from penstock.bench.measures.windows import plain_spark
from penstock.bench.measures.windows.cases import QUERIES, Setting
from penstock.bench.measures.windows.job import Job, Record, about_rate
from penstock.bench.measures.windows.machine import Machine
from penstock.bench.measures.windows.numpy_kernels import KERNELS
from penstock.errors import PenstockError

COMPILED, NUMPY, PANDAS, SPARK, FLINK = "compiled loop", "numpy loop", "pandas rolling", "plain spark", "pyflink"
WHAT = {
    COMPILED: "the same kernel, compiled, called window by window in one process",
    NUMPY: "the query written with NumPy, window by window in one process (the weights of Q1's fit are computed once)",
    PANDAS: "pandas rolling with its Numba engine: one column in and one value out (Q1 without its candlestick)",
    SPARK: "PySpark: rows exploded into windows, applyInPandas with the same compiled kernel, over a static DataFrame",
    FLINK: "PyFlink's sliding count window with the query in NumPy, parallelism 1 as one key has",
}
_MOST_ROWS = 4_000_000
_FEW = 3


def jobs(setting: Setting, number: int, flink: bool) -> Iterator[Job]:
    """Every peer over one setting."""
    peers: dict[str, Callable[[Machine], Record]] = {
        COMPILED: lambda machine: _loop(setting, _compiled(setting), machine.size.peer_s),
        NUMPY: lambda machine: _loop(setting, KERNELS[setting.query], machine.size.peer_s),
        PANDAS: lambda machine: _pandas(setting, machine.size.peer_s),
        SPARK: lambda machine: plain_spark.measure(machine, setting),
    }
    if flink:
        peers[FLINK] = lambda machine: flink_peer.measure(machine, setting)
    for who, run in peers.items():
        yield Job(about_rate(who, setting, number, None), run)


def _compiled(setting: Setting) -> Callable[..., Any]:
    from numba import njit

    kernel = QUERIES[setting.query].kernel
    compiled = njit(kernel.function)
    if not kernel.scratch:
        return compiled  # type: ignore[no-any-return]
    assert isinstance(kernel.scratch, int)
    scratch = np.zeros(kernel.scratch)
    return lambda *columns: compiled(*columns, scratch)


def _loop(setting: Setting, function: Callable[..., Any], seconds: float) -> Record:
    """Windows one after another, for about so long."""
    _check(setting, function, QUERIES[setting.query].arrays(setting.length))

    def run(windows: int) -> float:
        columns = QUERIES[setting.query].arrays(_rows(setting, windows))
        began_s = time.perf_counter()
        _run(setting, function, columns, windows)
        return time.perf_counter() - began_s

    return _rate(setting, run, seconds)


def _run(setting: Setting, function: Callable[..., Any], columns: list[Any], windows: int) -> list[Any]:
    length, every = setting.length, setting.every
    return [function(*[column[at : at + length] for column in columns]) for at in range(0, windows * every, every)]


def _check(setting: Setting, function: Callable[..., Any], columns: list[Any]) -> None:
    """A peer must compute what we compute; this also compiles it."""
    kernel = QUERIES[setting.query].kernel
    memory = (np.zeros(kernel.scratch),) if isinstance(kernel.scratch, int) and kernel.scratch else ()
    short = [column[: min(setting.length, 2000)] for column in columns]
    if not np.allclose(kernel.function(*short, *memory), function(*short), rtol=1e-6):
        raise PenstockError(f"a peer's results of {setting.query} are not ours")


def _pandas(setting: Setting, seconds: float) -> Record:
    if setting.query != "q1":
        return {"skipped": "rolling.apply has one column, and this query two"}
    import pandas as pd  # type: ignore[import-untyped,unused-ignore]

    forecast: Any = QUERIES[setting.query].kernel.function
    from numba import njit

    inner = njit(forecast)

    def predicted(price: Any) -> Any:
        return inner(price)[0]

    def run(windows: int) -> float:
        prices = pd.Series(QUERIES[setting.query].arrays(_rows(setting, windows))[0])
        rolling = prices.rolling(setting.length, step=setting.every)
        began_s = time.perf_counter()
        rolling.apply(predicted, raw=True, engine="numba", engine_kwargs={"nopython": True, "nogil": True})
        return time.perf_counter() - began_s

    run(_FEW)  # compiles
    return _rate(setting, run, seconds)


def _rate(setting: Setting, run: Callable[[int], float], seconds: float) -> Record:
    """The rate over as many windows as take about so long; `run` takes their number and gives their seconds."""
    most = max((_MOST_ROWS - setting.length) // setting.every, _FEW)
    windows, took_s = _FEW, run(_FEW)
    while took_s < seconds / 2 and windows < most:
        # Step by step: what few windows take says little of what many do.
        windows = min(int(windows * min(max(seconds / took_s, 2), 8)), most)
        took_s = run(windows)
    found = {"rows_per_s": windows * setting.every / took_s, "windows_per_s": windows / took_s}
    return {**found, "windows": windows}


def _rows(setting: Setting, windows: int) -> int:
    return setting.length + (windows - 1) * setting.every
