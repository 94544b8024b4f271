"""Devices beside each other (figure 9): how many windows a second each computes, by the slide of a stream of 1M rows/s.

A call has the windows of one second of the stream, or as many as fit into the time. No device can do more than what
arrives: its rate is capped at 1M / slide, and where a slower device reaches that too, it is as good.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from penstock.bench.measures.windows.cases import QUERIES, Size
from penstock.bench.measures.windows.job import Job, Record
from penstock.bench.measures.windows.machine import Machine
from penstock.devices.registry import device

PROGRAM = "devices"
RATE_PER_S = 1_000_000
DEVICES = ("numpy", "numba", "numba-parallel")


def jobs(size: Size) -> Iterator[Job]:
    """Each device over each window and slide, the devices in turn."""
    for query in QUERIES:
        for length in size.device_lengths:
            for every in size.device_slides:
                for name in DEVICES:
                    yield _job(query, length, every, name)


def _job(query: str, length: int, every: int, name: str) -> Job:
    about = {"program": PROGRAM, "query": query, "length": length, "every": every, "device": name}
    return Job(about, lambda machine: _measure(machine, query, length, every, name))


def _measure(machine: Machine, query: str, length: int, every: int, name: str) -> Record:
    columns = QUERIES[query].arrays(length + RATE_PER_S)
    program = device(name).load(QUERIES[query].kernel, QUERIES[query].dtypes, ())
    lo = np.arange(0, RATE_PER_S, every, dtype=np.int64)

    def timed(windows: int) -> float:
        began_s = time.perf_counter()
        program(columns, lo[:windows], lo[:windows] + length)
        return time.perf_counter() - began_s

    # The first call may load or compile; interpreted, one window is enough to know.
    if name != "numpy":
        timed(1)
    window_s = timed(min(len(lo), 1 if name == "numpy" else 8)) / min(len(lo), 1 if name == "numpy" else 8)
    windows = int(min(max(machine.size.peer_s / window_s, 1), len(lo)))
    seconds = timed(windows)
    return {"windows_per_s": windows / seconds, "windows": windows}
