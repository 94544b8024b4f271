from __future__ import annotations

import math
from typing import Any

import pytest

from penstock.errors import BadInputError
from penstock.sample import BatchSample, Decision, Status, longest_wait_s


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.OK])
def test_only_ok_batches_are_usable(status: Status) -> None:
    assert BatchSample(0, 10, 10, 1.0).usable
    assert not BatchSample(0, 10, 10, 1.0, status=status).usable


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_a_size_or_time_that_cannot_be_is_not_usable(bad: float) -> None:
    assert not BatchSample(0, bad, 10, 1.0).usable
    assert not BatchSample(0, 10, 10, bad).usable


def test_what_is_not_known_is_none_and_not_zero() -> None:
    sample = BatchSample(0, 10, 10, 0.0)
    assert sample.end_to_end_s is None
    assert sample.throughput_per_s is None
    assert BatchSample(0, 10, 30, 2.0, wait_s=0.5).throughput_per_s == 15.0
    assert BatchSample(0, 10, 30, 2.0, wait_s=0.5).end_to_end_s == 2.5


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"size": 0.0}, "size"),
        ({"size": -1.0}, "size"),
        ({"size": math.nan}, "size"),
        ({"size": math.inf}, "size"),
        ({"min_size": 11.0, "max_wait_s": 1.0}, "min_size"),
        ({"min_size": -1.0, "max_wait_s": 1.0}, "min_size"),
        ({"min_size": math.nan, "max_wait_s": 1.0}, "min_size"),
        ({"min_size": 5.0}, "max_wait_s"),
        ({"max_wait_s": -0.1}, "max_wait_s"),
        ({"max_wait_s": math.nan}, "max_wait_s"),
        ({"max_wait_s": 1.0, "item_s": -0.1}, "item_s"),
        ({"max_wait_s": 1.0, "item_s": math.nan}, "item_s"),
        ({"max_wait_s": 1.0, "item_s": math.inf}, "item_s"),
        ({"item_s": 0.1}, "item_s"),
    ],
)
def test_a_decision_that_no_gate_could_apply_is_refused(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(BadInputError) as caught:
        Decision(**{"size": 10.0, "reason": "test", **fields})
    assert caught.value.field == field


def test_a_minimum_of_the_whole_size_with_a_longest_wait_is_fine() -> None:
    assert Decision(10.0, "fill up", min_size=10.0, max_wait_s=0.0).min_size == 10.0


@pytest.mark.parametrize(
    ("queued", "min_size", "max_wait_s", "item_s", "longest_s"),
    [
        (10, None, None, 0.0, 0.0),
        (10, None, 5.0, 0.1, 0.0),
        (10, 11, 5.0, 0.0, 5.0),
        (11, 11, 5.0, 0.0, 0.0),
        (10, 11, 5.0, 0.1, 4.0),
        (10, 11, 5.0, 0.6, 0.0),
        (10, 11, None, 0.0, 0.0),
    ],
)
def test_a_batch_waits_for_its_minimum_or_until_wait_and_items_reach_the_longest_wait(
    queued: float, min_size: float | None, max_wait_s: float | None, item_s: float, longest_s: float
) -> None:
    assert longest_wait_s(queued, min_size, max_wait_s, item_s) == pytest.approx(longest_s)
