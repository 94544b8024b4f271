"""The planner (`device="auto"`) beside the best single device, from 10 windows a call to a million."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import numpy as np

from penstock.bench.measures.windows.cases import QUERIES, Size
from penstock.bench.measures.windows.job import Job, Record
from penstock.devices.auto import Auto
from penstock.devices.registry import device

PROGRAM, AUTO = "planner", "auto"
DEVICES = ("numba", "numba-parallel")
_LENGTH, _EVERY = 1000, 5
# The planner learns from what ran: so many calls before those that count.
_LEARNING, _COUNTED = 20, 15
# Once a call takes longer than this, fewer calls do.
_LONG_S = 0.2


def jobs(size: Size) -> Iterator[Job]:
    """One for each number of windows."""
    for windows in size.planner_windows:
        about = {"program": PROGRAM, "windows": windows}
        yield Job(about, lambda machine, windows=windows: _measure(windows))  # type: ignore[misc]


def _measure(windows: int) -> Record:
    query = QUERIES["q1"]
    columns = query.arrays(_LENGTH + windows * _EVERY)
    lo = np.arange(windows, dtype=np.int64) * _EVERY
    planner = Auto(query.kernel, query.dtypes)
    ran: list[str] = []

    def auto() -> None:
        ran.append(str(planner.run(columns, lo, lo + _LENGTH)[1].device))

    ways: dict[str, Callable[[], Any]] = {AUTO: auto}
    for name in DEVICES:
        program = device(name).load(query.kernel, query.dtypes, ())
        ways[name] = lambda program=program: program(columns, lo, lo + _LENGTH)  # type: ignore[misc]
    slowest_s = max(_timed(run) for run in ways.values())
    share = min(1.0, _LONG_S / max(slowest_s, 1e-9))
    for _ in range(max(int(share * _LEARNING), 6)):
        auto()
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    ran.clear()
    for _ in range(max(int(share * _COUNTED), 5)):
        for name, run in ways.items():
            seconds[name].append(_timed(run))
    found: Record = {f"{name}_s": median(times) for name, times in seconds.items()}
    best = min(DEVICES, key=lambda name: found[f"{name}_s"])
    return {**found, "best": best, "chosen": max(set(ran), key=ran.count)}


def _timed(run: Callable[[], Any]) -> float:
    began_s = time.perf_counter()
    run()
    return time.perf_counter() - began_s
