"""The price of the black box (figure 11): the mean of six columns over 1,024 rows, for slides from 2 to the window.

`black box` computes every window from its rows. `incremental` is the same kernel with lift, combine and lower, where
this device uses them. `running sums` stands for Saber: a loop of our own that adds what comes into the window and
subtracts what leaves it, the cheapest way there is, which only sums allow. All on one thread; MB are those of 32-byte
tuples, as the paper counts them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from statistics import median
from typing import Any

import numpy as np

from penstock.bench.measures.windows.cases import SEED, Size
from penstock.bench.measures.windows.job import Job, Record
from penstock.bench.measures.windows.machine import Machine
from penstock.devices.kernel import Aggregate, kernel
from penstock.devices.registry import device
from penstock.errors import PenstockError

PROGRAM, BLACK_BOX, INCREMENTAL, RUNNING = "black box", "black box", "incremental", "running sums"
LENGTH, TUPLE_BYTES, COLUMNS = 1024, 32, 6
_DDL = ", ".join(f"m{column} double" for column in range(COLUMNS))
_REPEATS = 5


def averages(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
    """The mean of each column."""
    rows = a.shape[0]
    s0 = s1 = s2 = s3 = s4 = s5 = 0.0
    for row in range(rows):
        s0 += a[row]
        s1 += b[row]
        s2 += c[row]
        s3 += d[row]
        s4 += e[row]
        s5 += f[row]
    return s0 / rows, s1 / rows, s2 / rows, s3 / rows, s4 / rows, s5 / rows


def _lift(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
    return a, b, c, d, e, f


def _combine(a: Any, b: Any) -> Any:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]


def _lower(total: Any, rows: Any) -> Any:
    return total[0] / rows, total[1] / rows, total[2] / rows, total[3] / rows, total[4] / rows, total[5] / rows


PLAIN = kernel(_DDL)(averages)
SHARED = kernel(_DDL, aggregate=Aggregate(_lift, _combine, _lower, width=COLUMNS))(averages)


def jobs(size: Size) -> Iterator[Job]:
    """All three over each slide."""
    for every in size.black_box_slides:
        about = {"program": PROGRAM, "every": every}
        yield Job(about, lambda machine, every=every: _measure(machine, every))  # type: ignore[misc]


def _measure(machine: Machine, every: int) -> Record:
    rows = machine.size.black_box_rows
    drawn = np.random.default_rng(SEED).random((COLUMNS, rows))
    columns = [drawn[number] for number in range(COLUMNS)]
    lo = np.arange(0, rows - LENGTH + 1, every, dtype=np.int64)
    ways: dict[str, Callable[[], Any]] = {RUNNING: lambda: _running()(drawn, every)[:, 0]}
    for name, each in ((BLACK_BOX, PLAIN), (INCREMENTAL, SHARED)):
        program = device("numba").load(each, ("float64",) * COLUMNS, ())
        ways[name] = lambda program=program: program(columns, lo, lo + LENGTH).outputs[0]  # type: ignore[misc]
    answers = {name: run() for name, run in ways.items()}
    if not all(np.allclose(answer, answers[BLACK_BOX]) for answer in answers.values()):
        raise PenstockError("the ways to compute a mean disagree")
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(_REPEATS):
        for name, run in ways.items():
            began_s = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - began_s)
    megabytes = TUPLE_BYTES * rows / 1e6
    return {f"{name} MB/s": megabytes / median(times) for name, times in seconds.items()}


@lru_cache(maxsize=1)
def _running() -> Any:
    from numba import njit

    return njit(running_means)


def running_means(columns: Any, every: int) -> Any:
    """The means of six columns: what comes into the window is added and what leaves it is subtracted, slide by slide.

    The slide divides the length.

    >>> running_means(np.ones((6, 2048)), 512).tolist() == np.ones((3, 6)).tolist()
    True
    """
    panes = np.zeros((columns.shape[1] // every, 6))
    for pane in range(panes.shape[0]):
        s0 = s1 = s2 = s3 = s4 = s5 = 0.0
        for row in range(pane * every, (pane + 1) * every):
            s0 += columns[0, row]
            s1 += columns[1, row]
            s2 += columns[2, row]
            s3 += columns[3, row]
            s4 += columns[4, row]
            s5 += columns[5, row]
        panes[pane] = s0, s1, s2, s3, s4, s5
    each = LENGTH // every
    means = np.empty((panes.shape[0] - each + 1, 6))
    for column in range(6):
        total = 0.0
        for pane in range(panes.shape[0]):
            total += panes[pane, column]
            if pane >= each:
                total -= panes[pane - each, column]
            if pane >= each - 1:
                means[pane - each + 1, column] = total / LENGTH
    return means
