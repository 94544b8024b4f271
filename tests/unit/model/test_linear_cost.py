"""How long the next batch will take, and how far off that may be."""

from __future__ import annotations

import random

import pytest

from penstock.model.linear_cost import LinearCost


def learned(*batches: tuple[float, float]) -> LinearCost:
    cost = LinearCost()
    for size, processing_s in batches:
        cost.learn(size, processing_s)
    return cost


def test_nothing_is_known_before_the_first_batch() -> None:
    assert not LinearCost().known


def test_one_size_alone_gives_proportion() -> None:
    cost = learned((1000, 0.3), (1000, 0.3))
    assert not cost.shaped
    assert (cost.line.fixed_s, cost.line.at(2000)) == (0.0, pytest.approx(0.6))


def test_two_sizes_give_the_fixed_part() -> None:
    line = learned((1000, 0.3), (4000, 0.6)).line
    assert (line.fixed_s, line.per_item_s) == (pytest.approx(0.2), pytest.approx(1e-4))


def test_batches_that_are_all_alike_do_not_redraw_the_line() -> None:
    source = random.Random(1)
    cost = learned((1000, 0.3), (4000, 0.6))
    for _ in range(200):
        size = source.uniform(3980, 4020)
        cost.learn(size, (0.2 + 1e-4 * size) * source.gauss(1, 0.1))
    assert cost.line.fixed_s == pytest.approx(0.2, rel=0.25)


def test_the_level_follows_a_slower_machine_within_three_batches() -> None:
    cost = learned((1000, 0.3), (4000, 0.6), (4000, 0.6), (4000, 0.6), (4000, 0.6))
    for _ in range(3):
        cost.learn(4000, 1.2)
    assert cost.line.at(4000) == pytest.approx(1.2)
    assert cost.line.fixed_s == pytest.approx(0.4, rel=0.3)


def test_a_stall_moves_neither_line_nor_level() -> None:
    source = random.Random(2)
    sizes = [source.uniform(1000, 5000) for _ in range(40)]
    cost = learned(*((size, 0.2 + 1e-4 * size) for size in sizes))
    before = cost.line
    cost.learn(5000, 7.0)
    assert cost.line == pytest.approx(before)


def test_the_margin_is_the_worst_of_the_last_64_errors() -> None:
    cost = learned((1000, 0.3), (4000, 0.6))
    assert cost.margin == 0.5
    cost.learn(4000, 1.2)
    assert cost.margin == pytest.approx(1.0)
    for _ in range(63):
        cost.learn(4000, 0.6)
    assert cost.margin == pytest.approx(1.0)
    cost.learn(4000, 0.6)
    assert cost.margin == pytest.approx(0.0, abs=1e-9)


def test_a_late_start_counts_as_an_error() -> None:
    cost = learned((1000, 0.3), (4000, 0.6))
    cost.learn(4000, 0.6, late_s=0.6)
    assert cost.margin == pytest.approx(1.0)


def test_what_proportion_got_wrong_is_forgotten_with_the_first_line() -> None:
    cost = learned((1000, 0.3), (20, 0.2))
    assert cost.shaped
    assert cost.margin == 0.5


@pytest.mark.parametrize(("small_s", "large_s", "fixed_share"), [(0.5, 0.4, 0.95), (0.1, 0.9, 0.0)])
def test_a_line_that_cannot_be_is_brought_to_the_nearest_that_can(
    small_s: float, large_s: float, fixed_share: float
) -> None:
    line = learned((1000, small_s), (4000, large_s)).line
    assert line.fixed_s / line.at(2500) == pytest.approx(fixed_share)
    assert line.per_item_s > 0
