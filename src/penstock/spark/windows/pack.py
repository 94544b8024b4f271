"""Rows into blocks, one for each group that needs them, before the shuffle: Spark then moves few large rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import PenstockError
from penstock.spark.plans.echo import Task
from penstock.spark.windows.groups import group_number
from penstock.spark.windows.notes import ROW
from penstock.spark.windows.operator import LOWEST, OPERATOR, Operator
from penstock.spark.windows.tasks import task_of
from penstock.stages.windows.blocks import AT, KEY, Rows
from penstock.stages.windows.schedule import NEVER

GROUP, BLOCK, LATEST = "group", "block", "latest"
BUCKET = "bucket"
PACKED_DDL = f"{GROUP} int, {BLOCK} binary"
TIMED_DDL = f"{PACKED_DDL}, {LATEST} timestamp"
# Rows of a task that become blocks together: large enough that a block's fixed bytes do not count, some 10 MB.
_ROWS_AT_ONCE = 262_144


def pack(operator: Operator, batches: Iterable[Any]) -> Iterator[Any]:
    """What `mapInArrow` runs: positions, keys and columns in, blocks out."""
    with task_of(operator) as task:
        task.reached(OPERATOR, operator.number)
        task.reached(LOWEST, -operator.number)
        for some in _gathered(batches):
            with task.stage("pack"):
                packed = _packed(operator, task, some)
            yield packed


def _gathered(batches: Iterable[Any]) -> Iterator[Any]:
    """Tables of many rows; Spark's batches have 10,000 at the most."""
    held: list[Any] = []
    for batch in batches:
        held.append(batch)
        if sum(each.num_rows for each in held) >= _ROWS_AT_ONCE:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


def _packed(operator: Operator, task: Task, table: Any) -> Any:
    null = table.column(AT).is_null()
    if operator.shape.key is not None:
        null = pc.or_(null, table.column(KEY).is_null())
    if nulls := pc.sum(null).as_py() or 0:
        table = table.filter(pc.invert(null))
        task.count("null_rows", nulls)
    rows = _rows(operator, table)
    task.count("rows", len(rows))
    if not len(rows):
        chosen: dict[int, Any] = {}
    else:
        # The first group always has a block: it then notices a restart with other buckets or replicas at once.
        chosen = {0: np.empty(0, np.int64), **dict(_groups(operator, task, table, rows))}
    blocks = [(group_number(group), rows.take(indices)) for group, indices in chosen.items()]
    task.count("copies", sum(len(some) for _, some in blocks))
    columns = [
        pa.array([number for number, _ in blocks], pa.int32()),
        pa.array([operator.shape.packed(some) for _, some in blocks], pa.binary()),
    ]
    names = [GROUP, BLOCK]
    if operator.spec.unit == "time":
        earliest = int(rows.at.min()) if len(rows) else 0
        columns.append(pa.array([int(some.at.max(initial=earliest)) for _, some in blocks], pa.timestamp("us", "UTC")))
        names.append(LATEST)
    return pa.RecordBatch.from_arrays(columns, names=names)


def _groups(operator: Operator, task: Task, table: Any, rows: Rows) -> Iterator[tuple[int, Any]]:
    """Each group with the indices of its rows: a sliding batch's replica, or a bucket of keys."""
    if operator.schedule is not None:
        least, most = int(rows.at.min()), int(rows.at.max())
        if least < 0:
            raise PenstockError(
                f"the order column has a row {-least:,} below its first number; "
                "write windows(..., first=) with the lowest one"
            )
        if most // operator.spec.every >= NEVER:
            raise PenstockError(
                f"the order column has a row {most:,} above its first number, which no stream reaches; number rows "
                "without holes, and write windows(..., first=) with the lowest number"
            )
        task.reached(ROW, most)
        yield from operator.scheduled(task.plan).destinations(rows.at).items()
        return
    buckets = table.column(BUCKET).to_numpy()
    order = np.argsort(buckets, kind="stable")
    for indices in np.split(order, np.flatnonzero(np.diff(buckets[order])) + 1):
        yield int(buckets[indices[0]]), indices


def _rows(operator: Operator, table: Any) -> Rows:
    columns = []
    for number, dtype in enumerate(operator.shape.dtypes):
        column = table.column(f"c{number}")
        if column.null_count and dtype != "float64":
            raise PenstockError(
                f"column {number + 1} of kernel {operator.kernel.name} is whole numbers, and has a null; "
                "cast it to double (a null is NaN then), or use coalesce"
            )
        columns.append(column.to_numpy())
    keys = table.column(KEY).combine_chunks() if operator.shape.key is not None else None
    return Rows(table.column(AT).to_numpy(), tuple(columns), keys)
