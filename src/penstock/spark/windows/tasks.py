"""A task of a windows operator, which may run in a batch of a stream or in a job of a static DataFrame."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.spark.plans.echo import Task
from penstock.spark.plans.in_force import plan_in_force
from penstock.spark.windows.operator import Operator


@contextmanager
def task_of(operator: Operator) -> Iterator[Task]:
    """The task with the plan in force; what it tells is echoed at its end."""
    # The plan of a stream that runs this job is not that of a static DataFrame inside its batch.
    task = Task(operator.plan if operator.echo is None else plan_in_force(operator.plan))
    yield task
    tell(operator, task)


def tell(operator: Operator, task: Task) -> None:
    """Echo what a task told; of a static DataFrame nobody listens."""
    if operator.echo is not None:
        operator.echo.tell(task.plan, task.seconds, task.highest, task.counts)
