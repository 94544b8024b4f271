"""The right answers without Spark: the same queries in NumPy, over panes instead of windows.

A pane is as long as the slide, so that a window is a whole number of panes: rows are aggregated once into panes, and
panes into every window they lie in. Spark puts each row into each of its windows, so both do not share a mistake.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.apps.digest import Digest
from penstock.apps.lmstream.digest import row_digest
from penstock.apps.lmstream.queries import SLOW, Query
from penstock.apps.lmstream.stream import CLOSING_S, MICROS
from penstock.apps.lmstream.tasks import SCHEDULED
from penstock.errors import BadInputError
from penstock.progress import Progress
from penstock.workloads.workload import Workload

_CHUNK = 50_000

Table: TypeAlias = dict[str, NDArray[Any]]


def reference_digest(query: Query, workload: Workload, progress: Progress | None = None) -> Digest:
    """The digest of a query's results over a whole workload."""
    if workload.items is None:
        raise BadInputError("items", None, "an endless workload has no digest", "give a number of items")
    wanted = _ANSWERS[query.kind][0]
    parts: list[Table] = []
    for start in range(0, workload.items, _CHUNK):
        stop = min(start + _CHUNK, workload.items)
        columns = workload.columns(start, stop)
        parts.append({name: np.asarray(columns[name]) for name in wanted})
        if progress is not None:
            progress(stop, workload.items)
    rows = {name: np.concatenate([part[name] for part in parts]) for name in wanted}
    open_windows = rows["timestamp"] >= CLOSING_S * MICROS
    return _ANSWERS[query.kind][1](query, {name: column[~open_windows] for name, column in rows.items()})


def _same_vehicle(query: Query, rows: Table) -> Digest:
    """In each of its windows a row comes out as often as its vehicle has rows there."""
    ones = np.ones(len(rows["vehicle"]), dtype=np.int64)
    panes = _grouped(_panes(query, rows), rows["vehicle"].astype(np.int64), ones)
    windows = _windows(query, panes)
    # A pane lies in as many windows as there are slides in the range: one after another in `windows.group`.
    times = windows.totals[windows.group].reshape(-1, len(panes.first)).sum(axis=0)
    return row_digest(rows, query.output, times[panes.group])


def _slow_segments(query: Query, rows: Table) -> Digest:
    keys = (rows["highway"].astype(np.int64) * 2 + rows["direction"]) * 10_000 + rows["segment"]
    start, key, speeds, count = _sums(query, rows, keys, rows["speed"].astype(np.float64))
    answer = {
        "timestamp": start,
        "highway": key // 20_000,
        "direction": key // 10_000 % 2,
        "segment": key % 10_000,
        "avgSpeed": speeds / count,
    }
    slow = answer["avgSpeed"] < SLOW
    return row_digest({name: column[slow] for name, column in answer.items()}, query.output)


def _cpu_of_categories(query: Query, rows: Table) -> Digest:
    start, category, cpu, _ = _sums(query, rows, rows["category"].astype(np.int64), rows["cpu"])
    return row_digest({"timestamp": start, "category": category, "totalCpu": cpu}, query.output)


def _cpu_of_jobs(query: Query, rows: Table) -> Digest:
    scheduled = rows["eventType"] == SCHEDULED
    rows = {name: column[scheduled] for name, column in rows.items()}
    _, job, cpu, count = _sums(query, rows, rows["jobId"], rows["cpu"])
    return row_digest({"jobId": job, "avgCpu": cpu / count}, query.output)


_ANSWERS: dict[str, tuple[tuple[str, ...], Callable[[Query, Table], Digest]]] = {
    "same-vehicle": (
        ("timestamp", "vehicle", "speed", "highway", "lane", "direction", "segment"),
        _same_vehicle,
    ),
    "slow-segments": (("timestamp", "speed", "highway", "direction", "segment"), _slow_segments),
    "cpu-of-categories": (("timestamp", "category", "cpu"), _cpu_of_categories),
    "cpu-of-jobs": (("timestamp", "jobId", "eventType", "cpu"), _cpu_of_jobs),
}


def _sums(
    query: Query, rows: Table, keys: NDArray[np.int64], values: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Where each window begins, its key, the sum of its values and how many they are."""
    panes = _grouped(_panes(query, rows), keys, np.ones(len(keys), dtype=np.int64))
    windows = _windows(query, panes)
    in_pane = np.bincount(panes.group, weights=values, minlength=len(panes.first))
    repeated = np.tile(in_pane, query.range_s // query.slide_s)
    sums: NDArray[Any] = np.bincount(windows.group, weights=repeated, minlength=len(windows.first))
    return windows.first * query.slide_s * MICROS, windows.second, sums, windows.totals


def _panes(query: Query, rows: Table) -> NDArray[np.int64]:
    panes: NDArray[np.int64] = rows["timestamp"] // (query.slide_s * MICROS)
    return panes


class _Groups(NamedTuple):
    """Pairs of numbers, grouped: the group of each pair given, and for each group its pair and its summed weight."""

    group: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    totals: NDArray[np.int64]


def _grouped(first: NDArray[np.int64], second: NDArray[np.int64], weights: NDArray[np.int64]) -> _Groups:
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    fresh = np.ones(len(order), dtype=np.bool_)
    fresh[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    group = np.empty(len(order), dtype=np.int64)
    group[order] = np.cumsum(fresh) - 1
    totals = np.bincount(group, weights=weights).astype(np.int64)
    return _Groups(group, first[fresh], second[fresh], totals)


def _windows(query: Query, panes: _Groups) -> _Groups:
    """Panes and keys by the windows they lie in: those that begin at the pane, one pane before it, and so on."""
    slides = query.range_s // query.slide_s
    starts = np.concatenate([panes.first - back for back in range(slides)])
    return _grouped(starts, np.tile(panes.second, slides), np.tile(panes.totals, slides))
