"""Cluster monitoring: events of tasks on a large cluster, with the fields of the Google trace of 2011."""

from __future__ import annotations

import base64
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from penstock.apps.lmstream.stream import Indices, Stream, exact
from penstock.apps.lmstream.trace_rows import Field, read_int, read_long, read_number, read_second
from penstock.patterns.base import FloatArray
from penstock.patterns.hashing import hashed, uniform
from penstock.workloads.workload import Columns

SCHEDULED = 1

_USERS = 74
_MACHINES = 12_500
_TASKS_A_JOB = 2000
# Jobs at work at a time; as many new ones begin every 20 s as an old one needs to become the most active one.
_ACTIVE_JOBS = 160
_NEW_JOBS = 16
_NEW_JOBS_S = 20

# How often each kind of event, category and priority is in the trace.
_EVENTS = {0: 0.33, SCHEDULED: 0.32, 4: 0.27, 5: 0.06, 2: 0.015, 3: 0.005}
_CATEGORIES = {0: 0.81, 2: 0.15, 1: 0.035, 3: 0.005}
_PRIORITIES = {2: 0.73, 0: 0.24, 9: 0.015, 1: 0.01, 8: 0.004, 10: 0.001}
_CPU = {0.025: 0.63, 0.016: 0.12, 0.013: 0.09, 0.009: 0.06, 0.063: 0.04, 0.031: 0.03, 0.125: 0.02, 0.25: 0.01}
_RAM = {0.033: 0.57, 0.016: 0.2, 0.08: 0.08, 0.01: 0.08, 0.025: 0.05, 0.25: 0.02}
_DISK = {0.0: 0.9, 0.001: 0.05, 0.002: 0.05}
_EVENT_STREAM, _JOB_STREAM, _TASK_STREAM, _MACHINE_STREAM, _PICK_STREAM = range(301, 306)
_CATEGORY_STREAM, _PRIORITY_STREAM, _CPU_STREAM, _RAM_STREAM, _DISK_STREAM, _DETAIL_STREAM = range(306, 312)

DDL = (
    "timestamp bigint, missingInfo int, jobId bigint, taskId bigint, machineId bigint, eventType int, userId string, "
    "category int, priority int, cpu double, ram double, disk double, constraints int"
)


def make(indices: Indices, seconds: Indices, seed: int, rows: int) -> Columns:
    """Task events. A few jobs have most of the tasks; user, category, priority and requests are those of the job.

    A task that was only submitted (event 0) is on no machine yet: -1, as in the trace. Requests are odd multiples of
    2**-20, so that sums of them are exact.
    """
    pick = uniform(indices, seed, _PICK_STREAM)
    jobs = seconds // _NEW_JOBS_S * _NEW_JOBS + (_ACTIVE_JOBS * pick**3).astype(np.int64)
    job = hashed(jobs, seed, _JOB_STREAM)
    task = uniform(indices, seed, _TASK_STREAM)
    event = _drawn(_EVENTS, indices, seed, _EVENT_STREAM).astype(np.int32)
    machine = hashed(indices, seed, _MACHINE_STREAM) % np.uint64(_MACHINES)
    return {
        "missingInfo": np.zeros(len(indices), dtype=np.int32),
        "jobId": _ten_digits(job),
        "taskId": (_TASKS_A_JOB * task**2).astype(np.int64),
        "machineId": np.where(event == 0, -1, _ten_digits(hashed(machine, seed))),
        "eventType": event,
        "userId": _users()[(job >> np.uint64(40)) % np.uint64(_USERS)],
        "category": _drawn(_CATEGORIES, jobs, seed, _CATEGORY_STREAM).astype(np.int32),
        "priority": _drawn(_PRIORITIES, jobs, seed, _PRIORITY_STREAM).astype(np.int32),
        "cpu": _request(_CPU, jobs, seed, _CPU_STREAM),
        "ram": _request(_RAM, jobs, seed, _RAM_STREAM),
        "disk": _request(_DISK, jobs, seed, _DISK_STREAM),
        "constraints": (task < 0.64).astype(np.int32),
    }


def complete(fields: Columns) -> Columns:
    """The columns of a trace's fields; requests are rounded to 2**-20, far below their own precision."""
    columns = {name: np.asarray(column) for name, column in fields.items()}
    columns |= {name: exact(columns[name]) for name in ("cpu", "ram", "disk")}
    timestamp = columns.pop("timestamp")
    return {"timestamp": timestamp, "missingInfo": np.zeros(len(timestamp), dtype=np.int32), **columns}


def _drawn(shares: dict[int, float] | dict[float, float], numbers: Indices, seed: int, stream: int) -> FloatArray:
    """One of the keys for each number, as often as its share says."""
    edges = np.cumsum(list(shares.values()))[:-1]
    return np.array(list(shares), dtype=np.float64)[np.searchsorted(edges, uniform(numbers, seed, stream), "right")]


def _request(levels: dict[float, float], jobs: Indices, seed: int, stream: int) -> FloatArray:
    detail = hashed(jobs, seed, _DETAIL_STREAM + stream) % np.uint64(512) * np.uint64(2) + np.uint64(1)
    return exact(_drawn(levels, jobs, seed, stream)) + detail.astype(np.float64) / 2**20


def _ten_digits(bits: NDArray[np.uint64]) -> NDArray[np.int64]:
    return (np.uint64(10**9) + bits % np.uint64(9 * 10**9)).astype(np.int64)


@lru_cache(maxsize=1)
def _users() -> NDArray[np.str_]:
    """Hashed names of users: 32 bytes in base 64, as in the original trace."""
    names = [hashed(np.arange(4), user).tobytes() for user in range(_USERS)]
    return np.array([base64.b64encode(name).decode() for name in names])


TASKS = Stream(
    name="cluster task events",
    schema_ddl=DDL,
    row_bytes=158.2,
    make=make,
    fields=(
        Field("timestamp", read_second, "int64"),
        *(Field(name, read_long, "int64") for name in ("jobId", "taskId", "machineId")),
        Field("eventType", read_int, "int32"),
        Field("userId", str, "str"),
        *(Field(name, read_int, "int32") for name in ("category", "priority")),
        *(Field(name, read_number, "float64") for name in ("cpu", "ram", "disk")),
        Field("constraints", read_int, "int32"),
    ),
    complete=complete,
    # Of all columns only this one is filtered by, and a filter comes before the watermark sees a row.
    closing={"eventType": SCHEDULED},
)
