"""The plan in force, as a task sees it: in mapInArrow, mapInPandas, transformWithStateInPandas, UDFs and sources."""

from __future__ import annotations

from functools import lru_cache

from pyspark import TaskContext

from penstock.errors import BadInputError
from penstock.plan import NO_PLAN, Plan

SETTING = "spark.penstock.plan"
"""What carries the plan: set on the session of a stream, copied into the local properties of each of its jobs."""
BATCH_ID = "streaming.sql.batchId"
QUERY_ID = "sql.streaming.queryId"


def plan_in_force(default: Plan = NO_PLAN) -> Plan:
    """The plan that this task runs with; `default` outside a task, and in one that no plan was carried to.

    It is the same for the whole task, and for all tasks of its batch.

    >>> plan_in_force(Plan(1, {"composition": "a | b"})).parts["composition"]
    'a | b'
    """
    context = TaskContext.get()
    text = None if context is None else context.getLocalProperty(SETTING)
    if context is None or not text:
        return default
    first, plan, before = carried(text)
    batch_id = context.getLocalProperty(BATCH_ID)
    if batch_id is None or int(batch_id) >= first:
        return plan
    return default if before is None else before


def as_carried(plan: Plan, first: int = 0) -> str:
    """The setting's value: the first batch of the plan, the plan, and the one of the batches before, a line each.

    `Plans.java` writes the same for a query that runs.
    """
    return f"{first}\n{plan.to_text()}\n"


@lru_cache(maxsize=8)
def carried(text: str) -> tuple[int, Plan, Plan | None]:
    """The parts of the setting's value.

    >>> carried(as_carried(Plan(2), first=7))
    (7, Plan(version=2, parts={}), None)
    """
    lines = text.split("\n")
    if len(lines) != 3 or not lines[0].lstrip("-").isdecimal():
        raise BadInputError(SETTING, text, "Penstock has not set this", "leave it to handle.set_plan")
    return int(lines[0]), Plan.from_text(lines[1]), Plan.from_text(lines[2]) if lines[2] else None
