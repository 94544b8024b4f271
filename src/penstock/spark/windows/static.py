"""The same windows over a static DataFrame: every group has all its rows at once, and time has ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from penstock.spark.plans.echo import Task
from penstock.spark.windows.group import Groups
from penstock.spark.windows.operator import RESULT_KEY, Operator
from penstock.spark.windows.pack import BLOCK
from penstock.stages.windows.timed import END_OF_TIME_US


def whole_groups(operator: Operator) -> Callable[[tuple[Any, ...], pa.Table], pa.Table]:
    """What `applyInArrow` runs for each group."""
    names = [] if operator.shape.key is None else [RESULT_KEY]
    names += ["window", "start", "end", *(output.name for output in operator.kernel.outputs)]

    def whole_group(key: tuple[Any, ...], table: pa.Table) -> pa.Table:
        blocks = [block.as_py() for block in table.column(BLOCK)]
        # No further rows come, so that one which is missing now is missing.
        groups = Groups(operator, Task(operator.plan), ahead=0)
        found = groups.step(key[0].as_py(), None, blocks, END_OF_TIME_US).results
        arrays = [] if operator.shape.key is None else [found.keys]
        arrays += [pa.array(each) for each in (found.window, found.start, found.end)]
        arrays += [pa.array(values, mask=found.failed) for values in found.outputs]
        return pa.Table.from_arrays(arrays, names=names)

    return whole_group
