"""What Spark runs for each group in each batch: one kept value a group, read and written once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from penstock.spark.plans.echo import Task
from penstock.spark.plans.in_force import plan_in_force
from penstock.spark.windows.group import Groups
from penstock.spark.windows.operator import RESULT_KEY, Operator
from penstock.spark.windows.pack import BLOCK
from penstock.spark.windows.tasks import tell
from penstock.stages.windows.results import Found, Results

_MICROSECONDS = 1000


class WindowProcessor(StatefulProcessor):
    """The groups of a task; Spark makes one for each task and batch."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Spark begins a task; on the driver too, once, to learn what is kept."""
        self._handle = handle
        self._kept = handle.getValueState("kept", "value binary")
        self._task = Task(plan_in_force(self._operator.plan))
        self._groups: Groups | None = None
        self._stepped: set[int] = set()

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        """A group has rows in this batch."""
        blocks = [block for frame in rows for block in frame[BLOCK]]
        return self._step(key, blocks, timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803
        """The watermark has passed the end of a window."""
        # Its rows have closed what the watermark has passed.
        return iter([]) if int(key[0]) in self._stepped else self._step(key, [], timerValues)

    def close(self) -> None:
        """The task is over."""
        tell(self._operator, self._task)

    def _step(self, key: Any, blocks: list[bytes], timer_values: Any) -> Iterator[Any]:
        if self._groups is None:
            self._groups = Groups(self._operator, self._task)
        self._stepped.add(int(key[0]))
        with self._task.stage("state"):
            value = self._kept.get()
        watermark_us = timer_values.getCurrentWatermarkInMs() * _MICROSECONDS
        found = self._groups.step(int(key[0]), None if value is None else bytes(value[0]), blocks, watermark_us)
        with self._task.stage("state"):
            self._keep(found)
        return iter([frame(self._operator, found.results)])

    def _keep(self, found: Found) -> None:
        self._kept.update((found.value,))
        if found.wake_us is not None:
            self._handle.registerTimer(-(-found.wake_us // _MICROSECONDS))


def frame(operator: Operator, results: Results) -> pd.DataFrame:
    """Results as Spark takes them: the outputs of failed windows are null, and NaN stays NaN."""
    columns: dict[str, Any] = {}
    if operator.shape.key is not None:
        columns[RESULT_KEY] = pd.arrays.ArrowExtensionArray(results.keys)
    columns |= {"window": results.window, "start": results.start, "end": results.end}
    for output, values in zip(operator.kernel.outputs, results.outputs, strict=True):
        # Of plain columns Spark would make NaN null.
        columns[output.name] = pd.arrays.ArrowExtensionArray(pa.array(values, mask=results.failed))
    return pd.DataFrame(columns)
