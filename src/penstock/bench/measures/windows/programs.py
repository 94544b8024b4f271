"""All programs over windows, in one order."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.bench.measures.windows import aggregates, black_box, devices, latency, planner, plumbing, rates
from penstock.bench.measures.windows.cases import Size
from penstock.bench.measures.windows.job import Job


def all_jobs(size: Size, flink: bool = False) -> Iterator[Job]:
    """The quick ones first; Flink only where it is asked for."""
    yield from black_box.jobs(size)
    yield from devices.jobs(size)
    yield from planner.jobs(size)
    yield from plumbing.jobs(size)
    yield from aggregates.jobs(size)
    yield from latency.jobs(size)
    yield from rates.jobs(size, flink)
