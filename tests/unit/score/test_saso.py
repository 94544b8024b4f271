from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import BadInputError
from penstock.sample import BatchSample, Status
from penstock.score import load_changes, responses
from penstock.slo import Slo

SECOND = Slo.parse("1 s ± 10%")


def step(*seconds: float, **other: Any) -> list[BatchSample]:
    before = [BatchSample(index, 10, 10, 1.0, load=1.0) for index in range(3)]
    return before + [
        BatchSample(index, 10, 10, value, load=2.0, **other) for index, value in enumerate(seconds, start=3)
    ]


def test_a_load_step_that_settles_by_hand() -> None:
    (response,) = responses(step(1.8, 1.3, 0.8, 1.0, 1.05, 0.95, 1.0), SECOND)
    assert (response.batch_id, response.batches) == (3, 7)
    assert response.settling_batches == 3
    assert response.settling_s == pytest.approx(1.8 + 1.3 + 0.8)
    assert response.overshoot == pytest.approx(80.0)
    assert response.accuracy == pytest.approx((0 + 5 + 5 + 0) / 4)
    assert response.stable


def test_a_loop_that_never_left_the_band_settled_at_once() -> None:
    (response,) = responses(step(1.0, 1.1, 0.9), SECOND)
    assert (response.settling_batches, response.settling_s, response.overshoot, response.stable) == (0, 0.0, 0.0, True)


def test_an_oscillating_loop_never_settles() -> None:
    (response,) = responses(step(*[1.0, 1.5] * 5), SECOND)
    assert (response.settling_batches, response.settling_s, response.accuracy) == (None, None, None)
    assert response.overshoot == pytest.approx(50.0)
    assert not response.stable


def test_settling_and_then_leaving_again_is_not_stable() -> None:
    (response,) = responses(step(1.0, 1.0, 1.0, 1.5, 1.5), SECOND)
    assert (response.settling_batches, response.stable) == (0, False)


def test_settling_needs_as_many_batches_as_asked() -> None:
    run = step(1.5, 1.0, 1.0, 1.5, 1.0, 1.0, 1.0, 1.0)
    assert [responses(run, SECOND, held=held)[0].settling_batches for held in (2, 3, 4, 5)] == [1, 4, 4, None]
    with pytest.raises(BadInputError, match="held = 0"):
        responses(run, SECOND, held=0)


def test_settling_time_includes_the_waits_where_starts_are_known() -> None:
    run = [BatchSample(0, 1, 1, 1.0, part="a", started_s=0.0)]
    run += [
        BatchSample(i, 1, 1, seconds, part="b", started_s=100.0 + 5 * i)
        for i, seconds in enumerate((2.0, 1.0, 1.0, 1.0), start=1)
    ]
    assert responses(run, SECOND)[0].settling_s == 5.0


def test_too_fast_is_no_overshoot_and_for_a_throughput_too_slow_is() -> None:
    (response,) = responses(step(0.5, 1.0, 1.0, 1.0), SECOND)
    assert (response.settling_batches, response.overshoot) == (1, 0.0)
    (slow,) = responses(step(2.0, 1.0, 1.0, 1.0), Slo.parse(">= 10/s"))
    assert (slow.settling_batches, slow.overshoot, slow.accuracy) == (1, 50.0, 0.0)


def test_changes_are_new_parts_and_jumps_over_the_threshold_only() -> None:
    loads = [100.0, 125.0, 125.0, 157.0, 117.0, 0.0, 0.0, 1.0]
    run = [BatchSample(i, 1, 1, 1.0, load=load) for i, load in enumerate(loads)]
    assert load_changes(run) == [3, 4, 5, 7]
    assert load_changes(run, jump=0.5) == [5, 7]
    parts = [BatchSample(i, 1, 1, 1.0, part=part) for i, part in enumerate(["a", "a", "b", None])]
    assert load_changes(parts) == [2, 3]
    assert load_changes([]) == []
    with pytest.raises(BadInputError, match="jump"):
        load_changes(run, jump=0.0)


def test_each_change_has_its_own_response_and_ignored_batches_are_passed_over() -> None:
    run = [
        BatchSample(i, 1, 1, seconds, part=part, status=status)
        for i, (seconds, part, status) in enumerate(
            [
                (1.0, "a", Status.OK),
                (1.6, "b", Status.OK),
                (9.0, "b", Status.FAILED),
                (1.0, "b", Status.OK),
                (1.0, "b", Status.OK),
                (1.0, "b", Status.OK),
                (1.3, "c", Status.OK),
            ]
        )
    ]
    first, second = responses(run, SECOND)
    assert (first.part, first.settling_batches, first.overshoot) == ("b", 1, pytest.approx(60.0))
    assert (second.part, second.batches, second.stable) == ("c", 1, False)


def test_no_load_change_has_no_response() -> None:
    assert responses([], SECOND) == []
    assert responses([BatchSample(i, 1, 1, 1.0) for i in range(5)], SECOND) == []
