"""One group in a worker: blocks and what it kept in, results and what it keeps out; the same for stream and static."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.spark.plans.echo import Task
from penstock.spark.windows.groups import group_of
from penstock.spark.windows.kernels import kernel_of
from penstock.spark.windows.operator import Operator
from penstock.stages.windows.counted import Counted
from penstock.stages.windows.numbered import MOST_ROWS_AHEAD, Numbered
from penstock.stages.windows.results import Found
from penstock.stages.windows.timed import Timed

KERNEL = "kernel"


class Groups:
    """Runs the groups of a task, one after another, and counts what they do."""

    def __init__(self, operator: Operator, task: Task, ahead: int = MOST_ROWS_AHEAD) -> None:
        self._operator, self._task, self._ahead = operator, task, ahead
        self._kernel = kernel_of(operator)
        self._schedule = None if operator.schedule is None else operator.scheduled(task.plan)

    def step(self, number: int, value: bytes | None, blocks: list[bytes], watermark_us: int) -> Found:
        """Let the group with this key take its blocks; `watermark_us` is for windows in time."""
        operator = self._operator
        before_s = self._task.seconds.get(KERNEL, 0.0)
        with self._task.stage("group"):
            if self._schedule is not None:
                numbered = Numbered(operator.shape, operator.missing, self._ahead, operator.fixed)
                found = numbered.step(value, blocks, self._schedule, group_of(number), self._run)
            elif operator.spec.unit == "time":
                timed = Timed(operator.shape, operator.spec, operator.fixed)
                found = timed.step(value, blocks, watermark_us, self._run)
            else:
                found = Counted(operator.shape, operator.spec, operator.fixed).step(value, blocks, self._run)
        self._task.seconds["group"] -= self._task.seconds.get(KERNEL, 0.0) - before_s
        self._task.count("windows", len(found.results))
        self._task.count("kept_bytes", len(found.value))
        for name, many in found.counts.items():
            if many:
                self._task.count(name, many)
        return found

    def _run(
        self, columns: Sequence[NDArray[Any]], lo: NDArray[np.int64], hi: NDArray[np.int64]
    ) -> tuple[Sequence[NDArray[Any]], NDArray[np.bool_] | None]:
        began_s = time.perf_counter()
        devices = len(self._kernel.devices)
        (outputs, failed), ran = self._kernel.run(columns, lo, hi)
        task, took_s = self._task, time.perf_counter() - began_s
        # What it took to measure other devices is the kernel's too, and no device's.
        for name, seconds in ((KERNEL, took_s), (f"{KERNEL}:{ran.device}", ran.seconds)):
            task.seconds[name] = task.seconds.get(name, 0.0) + seconds
        if lost := devices - len(self._kernel.devices):
            task.count("lost_devices", lost)
        task.count(f"calls:{ran.device}", 1)
        task.count(f"work:{ran.device}", ran.work)
        task.reached("kernel_s", task.seconds[KERNEL])
        if not failed.any():
            return outputs, None
        task.count("failed_windows", int(np.count_nonzero(failed)))
        return outputs, failed
