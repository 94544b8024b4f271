"""Where a change of B and n takes effect, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.devices.kernel import kernel
from penstock.errors import BadInputError, UnsupportedError
from penstock.plan import NO_PLAN, Plan
from penstock.spark.windows.change import changed
from penstock.spark.windows.operator import LOWEST, OPERATOR, Operator, remember
from penstock.stages.windows.blocks import Shape
from penstock.stages.windows.schedule import Epoch, Schedule
from penstock.stages.windows.spec import WindowSpec

SPEC = WindowSpec(100, 10)


def defined(schedule: Schedule | None) -> Operator:
    first = kernel("first double", name="first")(lambda x: x[0])
    return remember(Operator(SPEC, Shape(("float64",)), first, (), "numba", "fail", schedule))


@pytest.fixture
def echoed() -> dict[str, float]:
    operator = defined(Schedule(SPEC, (Epoch(0, batch=5, replicas=2),)))
    return {OPERATOR: operator.number, "row": 1_000.0}


def change(plan: Plan, echoed: dict[str, float], rows: float | None = 200, **what: Any) -> Any:
    return changed(plan, echoed, rows, **{"batch": None, "replicas": None, "protocol": "hard", **what})


def test_a_change_begins_beyond_the_batches_that_may_be_planned_after_the_last_row_that_was_told(
    echoed: dict[str, float],
) -> None:
    found, parts = change(NO_PLAN, echoed, batch=7)
    assert found.switch >= 1_000 + 2 * 200
    wider, _ = change(NO_PLAN, {**echoed, "row-advance": 5_000.0}, batch=7)
    assert wider.switch >= 1_000 + 2 * 5_000
    assert found.switch % (5 * 2 * 10) == 0
    assert parts["windows"]["epochs"] == [[0, 5, 2], [found.switch // 10, 7, 2]]


def test_a_change_that_has_not_begun_is_replaced_by_the_next_one(echoed: dict[str, float]) -> None:
    _, parts = change(NO_PLAN, echoed, batch=7, replicas=3, protocol="soft")
    found, again = change(Plan(1, parts), echoed, batch=4, replicas=1)
    assert again["windows"]["epochs"] == [[0, 5, 2], [found.switch // 10, 4, 1]]


def test_epochs_that_are_over_leave_the_plan_and_those_a_missing_row_may_hold_back_stay(
    echoed: dict[str, float],
) -> None:
    _, parts = change(NO_PLAN, echoed, batch=7)
    second = parts["windows"]["epochs"][1]
    _, later = change(Plan(1, parts), {**echoed, "row": 500_000.0}, batch=4)
    assert [0, 5, 2] in later["windows"]["epochs"]
    _, still = change(Plan(1, parts), {**echoed, "row": 1_500_000.0}, batch=4)
    assert [0, 5, 2] in still["windows"]["epochs"], "each of two replicas has half of the rows"
    _, much_later = change(Plan(1, parts), {**echoed, "row": 5_000_000.0}, batch=4)
    assert much_later["windows"]["epochs"][0] == second


def test_what_cannot_be_changed_is_refused_with_the_reason(echoed: dict[str, float]) -> None:
    with pytest.raises(UnsupportedError, match="no batch of this query has computed windows yet"):
        change(NO_PLAN, {}, batch=2)
    with pytest.raises(UnsupportedError, match="without a limit in rows"):
        change(NO_PLAN, echoed, None, batch=2)
    with pytest.raises(UnsupportedError, match="with a key are computed by buckets"):
        change(NO_PLAN, {OPERATOR: defined(None).number, "row": 1.0}, batch=2)
    with pytest.raises(UnsupportedError, match="computes windows in two places"):
        change(NO_PLAN, {**echoed, LOWEST: -1.0}, batch=2)
    with pytest.raises(BadInputError, match=r"batch = 2.5: not a whole number"):
        change(NO_PLAN, echoed, batch=2.5)
    with pytest.raises(BadInputError, match="no such protocol"):
        change(NO_PLAN, echoed, batch=2, protocol="gentle")
    with pytest.raises(BadInputError, match="a sliding batch has windows"):
        change(NO_PLAN, echoed, batch=-1)
