"""Bootstrap intervals of a mean, and what may be said of two of them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from penstock.errors import BadInputError
from penstock.score import Interval, compare, interval_of


@pytest.mark.parametrize("count", [3, 5, 25])
def test_the_interval_covers_the_true_mean_about_as_often_as_its_level_says(count: int) -> None:
    draws = np.random.default_rng(7).normal(50.0, 5.0, size=(300, count))
    found = [interval_of(row.tolist(), level=0.9, resamples=400) for row in draws]
    covered = sum(each.low <= 50.0 <= each.high for each in found if each.low is not None and each.high is not None)
    assert 0.85 <= covered / 300 <= 0.95


@pytest.mark.parametrize("count", [3, 10])
def test_of_controllers_that_are_all_alike_few_are_called_worse_than_the_best(count: int) -> None:
    random = np.random.default_rng(11)
    worse = 0
    for _ in range(60):
        alike = [interval_of(random.normal(size=count).tolist(), resamples=400) for _ in range(14)]
        best = max(alike, key=lambda each: each.mean or 0.0)
        worse += sum(compare(each, best) == "below" for each in alike)
    assert worse / (60 * 13) < 0.05


def test_a_higher_level_gives_a_wider_interval() -> None:
    values = np.random.default_rng(3).normal(size=20).tolist()
    narrow, wide = interval_of(values, level=0.5), interval_of(values, level=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high  # type: ignore[operator]


def test_the_same_seed_gives_the_same_interval() -> None:
    assert interval_of([1.0, 2.0, 5.0, 9.0], seed=4) == interval_of([1.0, 2.0, 5.0, 9.0], seed=4)


def test_unknown_values_are_left_out() -> None:
    assert interval_of([1.0, None, math.nan, 3.0, math.inf]) == interval_of([1.0, 3.0])


def test_one_value_has_a_mean_and_no_interval_and_none_has_nothing() -> None:
    assert interval_of([4.0]) == Interval(4.0, None, None, (4.0,))
    assert interval_of([None]) == Interval(None, None, None, ())


def test_equal_values_leave_no_doubt() -> None:
    same = interval_of([2.0, 2.0, 2.0])
    assert (same.low, same.high) == (2.0, 2.0)


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ([9.0, 9.5, 10.0], [1.0, 1.5, 2.0], "above"),
        ([1.0, 1.5, 2.0], [9.0, 9.5, 10.0], "below"),
        ([1.0, 3.0], [3.0, 5.0], "cannot tell"),
        ([1.0], [9.0, 10.0], "cannot tell"),
        ([9.0, 10.0], [], "cannot tell"),
    ],
)
def test_two_intervals_are_told_apart_only_where_they_do_not_meet(a: list[float], b: list[float], said: str) -> None:
    assert compare(interval_of(a), interval_of(b)) == said


def test_json_keeps_everything() -> None:
    found = interval_of([1.0, 2.0, 4.0])
    assert Interval.from_json(json.loads(json.dumps(found.to_json()))) == found


@pytest.mark.parametrize("wrong", [{"level": 0.0}, {"level": 1.0}, {"resamples": 0}])
def test_what_makes_no_interval_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(BadInputError):
        interval_of([1.0, 2.0], **wrong)  # type: ignore[arg-type]
