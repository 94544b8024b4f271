"""The plan: a small versioned value that says the same after any journey."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadInputError
from penstock.plan import MOST_CHARACTERS, NO_PLAN, Plan

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(st.integers(0, 10**9), st.dictionaries(st.text(min_size=1), values, max_size=4))
def test_a_plan_reads_back_from_its_text_on_one_line(version: int, parts: dict[str, Any]) -> None:
    plan = Plan(version, parts)
    assert Plan.from_text(plan.to_text()) == plan
    assert "\n" not in plan.to_text()


def test_each_change_is_one_version_more_and_no_change_is_none() -> None:
    first = NO_PLAN.changed({"composition": "a | b", "devices": ["numba"]})
    second = first.changed({"composition": "a + b"})
    assert (first.version, second.version) == (1, 2)
    assert second.parts == {"composition": "a + b", "devices": ["numba"]}
    assert second.changed({"composition": "a + b"}) is second
    assert second.changed({"devices": None}).parts == {"composition": "a + b"}


def test_a_part_that_nobody_knows_is_kept_by_a_change_of_others() -> None:
    plan = Plan.from_text('{"format":1,"version":4,"parts":{"from_the_future":{"x":[1]}},"also":"ignored"}')
    assert plan.changed({"devices": []}) == Plan(5, {"from_the_future": {"x": [1]}, "devices": []})


def test_a_plan_does_not_change_with_the_value_it_was_made_of() -> None:
    devices = ["numba"]
    plan = Plan(1, {"devices": devices, "epochs": ((0, 5),)})
    devices.append("cuda")
    assert plan.parts == {"devices": ["numba"], "epochs": [[0, 5]]}


def test_an_unknown_format_is_refused_in_one_line_with_the_remedy() -> None:
    with pytest.raises(BadInputError, match=r"format 2.*reads format 1 only; run the release that wrote it") as refused:
        Plan.from_text('{"format":2,"version":1,"parts":{}}')
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Plan(-1), "version"),
        (lambda: Plan(True), "version"),
        (lambda: Plan(1.0), "version"),
        (lambda: Plan(1, [1]), "parts"),
        (lambda: Plan(1, {"": 1}), "parts"),
        (lambda: Plan(1, {3: 1}), "parts"),
        (lambda: Plan(1, {"x": float("nan")}), "parts"),
        (lambda: Plan(1, {"x": object()}), "parts"),
        (lambda: Plan(1, {"x": "x" * MOST_CHARACTERS}), "parts"),
        (lambda: NO_PLAN.changed("devices"), "parts"),
        (lambda: Plan.from_text("{"), "plan"),
        (lambda: Plan.from_text("[]"), "plan"),
        (lambda: Plan.from_text("{}"), "plan"),
        (lambda: Plan.from_text('{"format":1}'), "version"),
        (lambda: Plan.from_text('{"format":1,"version":1,"parts":null}'), "parts"),
    ],
)
def test_what_cannot_be_a_plan_is_refused_with_its_field(make: Any, field: str) -> None:
    with pytest.raises(BadInputError) as refused:
        make()
    assert refused.value.field == field
