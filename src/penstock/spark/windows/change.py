"""B and n of a query that runs: where a change takes effect, and the plan that makes it so.

The new epoch begins beyond every row that a batch may have been planned with by then: the last row that workers echoed,
and four times what a batch takes. So rows are always routed by the schedule that they belong to, also in a batch that
is run again, and no window is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.errors import UnsupportedError
from penstock.plan import Plan
from penstock.spark.windows.notes import ADVANCE, ROW
from penstock.spark.windows.operator import LOWEST, OPERATOR, PART, Operator, defined
from penstock.stages.windows.numbered import MOST_ROWS_AHEAD
from penstock.stages.windows.schedule import Schedule
from penstock.stages.windows.switch import Switch, switch

# Batches that may be planned, running or not yet told of while a change is put in force: two as a rule, and a margin.
_BATCHES_AHEAD = 4


def changed(
    plan: Plan,
    echoed: Mapping[str, float],
    batch_rows: float | None,
    *,
    batch: int | None,
    replicas: int | None,
    protocol: str,
) -> tuple[Switch, dict[str, Any]]:
    """The switch to another B and n, and the part of the plan with its schedule.

    `echoed` has the highest values that workers told so far, `batch_rows` how many rows a batch admits at the most, or
    None where nothing limits it.
    """
    operator = _operator(echoed)
    if operator.schedule is None:
        raise UnsupportedError("windows with a key are computed by buckets, whose number the checkpoint keeps")
    if batch_rows is None:
        raise UnsupportedError(
            "without a limit in rows it is not known how far the next batches go; attach with an objective, on a "
            "source that is limited in rows"
        )
    schedule = operator.scheduled(plan)
    # What comes before windows may make several rows of one that is admitted.
    advance = max(batch_rows, echoed.get(ADVANCE, 0.0))
    asked = int(echoed[ROW]) + _BATCHES_AHEAD * (int(advance) + 1)
    last = schedule.last
    schedule = _needed(schedule, int(echoed[ROW]), asked)
    found = switch(
        schedule,
        asked,
        last.batch if batch is None else batch,
        last.replicas if replicas is None else replicas,
        protocol,
    )
    return found, {PART: schedule.followed_by(found.epoch).to_part()}


def _operator(echoed: Mapping[str, float]) -> Operator:
    number = echoed.get(OPERATOR)
    if number is not None and number != -echoed.get(LOWEST, -number):
        raise UnsupportedError("this query computes windows in two places; a change of one would be taken by both")
    operator = None if number is None else defined(int(number))
    if operator is None or (operator.schedule is not None and ROW not in echoed):
        raise UnsupportedError("no batch of this query has computed windows yet; wait for its first one")
    return operator


def _needed(schedule: Schedule, row: int, asked: int) -> Schedule:
    """Without the epochs that have not begun, which the change replaces, and those that are over.

    One is over when its windows are computed, even where a row was missing for as long as is waited: until a replica
    has so many rows of its own, of which it gets one in as many as there are replicas.
    """
    spec = schedule.spec
    waited = MOST_ROWS_AHEAD * max(epoch.replicas for epoch in schedule.epochs)
    epochs = tuple(epoch for epoch in schedule.epochs if epoch.first * spec.every < max(asked, 1))
    while len(epochs) > 1 and epochs[1].first * spec.every + spec.length + waited < row:
        epochs = epochs[1:]
    return Schedule(spec, epochs)
