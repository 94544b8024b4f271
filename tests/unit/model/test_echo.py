"""Slow cycles, foreseen as they were the last times; and what a batch in a queue has beside its items."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable

import pytest

from penstock.model.echo import Echo
from penstock.model.overhead import Overhead
from penstock.sim.run import SimSpec, simulate

PERIOD = 20_000.0
EXTRA = 20.0


def swing(place: float) -> float:
    """What an item takes at a place."""
    return math.exp(1.5 * math.sin(2 * math.pi * place / PERIOD))


def jumps(place: float) -> float:
    return 5.0 if place % PERIOD > PERIOD / 2 else 1.0


def spikes(place: float) -> float:
    return 8.0 if place % PERIOD > 0.97 * PERIOD else 1.0


def teach(
    echo: Echo,
    load: Callable[[float], float],
    first: float,
    last: float,
    extra: float = EXTRA,
    noise: float = 0.03,
    without: float = 0.2,
    look: bool = True,
) -> None:
    """Batches of about equal time; each is foreseen before it is learned."""
    source, place = random.Random(1), first
    while place < last:
        size = 100 / load(place)
        time = load(place + size / 2) * (size + EXTRA) * math.exp(source.gauss(0.0, noise))
        echo.foresee(0.0, size)
        echo.learn(size, time, extra, without, 1, look)
        place += size


def test_a_narrow_spike_that_comes_back_slowly_is_foreseen() -> None:
    echo = Echo()
    teach(echo, spikes, 0.0, 4.5 * PERIOD)
    assert echo.period == pytest.approx(PERIOD, rel=0.01)
    assert echo.size_for(800.0, 0.48 * PERIOD) < 0.5 * echo.size_for(800.0, 0.2 * PERIOD)


@pytest.mark.parametrize("load", [swing, jumps])
def test_a_slow_cycle_is_foreseen_within_a_percent_of_its_period(load: Callable[[float], float]) -> None:
    echo = Echo()
    teach(echo, load, 0.0, 4 * PERIOD)
    assert echo.trusted
    assert echo.period == pytest.approx(PERIOD, rel=0.01)
    for ahead in (0.1, 0.3, 0.6, 0.85):
        place = ahead * PERIOD
        work = 500 * load(place + 250)
        assert echo.size_for(work, place) == pytest.approx(500, rel=0.12)


def test_a_better_guess_of_what_batches_take_holds_for_all_of_the_past() -> None:
    changed, always = Echo(), Echo()
    teach(changed, swing, 0.0, 4 * PERIOD, extra=0.0)
    teach(always, swing, 0.0, 4 * PERIOD)
    for echo in (changed, always):
        teach(echo, swing, 4 * PERIOD, 4 * PERIOD + 200)
    assert changed.period == pytest.approx(always.period, rel=0.01)
    for ahead in (0.2, 0.7):
        sizes = [echo.size_for(100.0, ahead * PERIOD) for echo in (changed, always)]
        assert sizes[0] == pytest.approx(sizes[1], rel=0.1)


def test_a_cycle_that_has_ended_is_trusted_no_more() -> None:
    echo = Echo()
    teach(echo, swing, 0.0, 4 * PERIOD)
    assert echo.trusted
    teach(echo, lambda _: 1.0, 4 * PERIOD, 4.5 * PERIOD, without=0.03)
    assert not echo.trusted


@pytest.mark.parametrize("seed", range(3))
def test_noise_is_no_cycle(seed: int) -> None:
    source, echo = random.Random(seed), Echo()
    for _ in range(3000):
        time = 100 * math.exp(source.gauss(0.0, 0.14))
        echo.foresee(0.0, 100.0)
        echo.learn(100.0, time, 0.0, math.log(time / 100), 1)
    assert not echo.trusted


def test_where_samples_come_late_slow_swings_are_hit_more_often() -> None:
    def hit(cycles: bool, seed: int) -> float:
        wave = "wave:min=256,max=7525,period=1M"
        settings = {"cycles": cycles}
        spec = SimSpec("spark", "predictive", settings, "1 s ± 10%", 4_000_000, seed=seed, cost=wave, delay=5)
        return simulate(spec).metrics().i_slh or 0.0

    seeds = (1, 2, 3)
    assert sum(hit(True, seed) for seed in seeds) > 1.05 * sum(hit(False, seed) for seed in seeds)


@pytest.mark.parametrize("look", [True, False])
def test_no_slow_cycle_is_looked_for_where_nobody_wants_it(look: bool) -> None:
    echo = Echo()
    teach(echo, swing, 0.0, 4.5 * PERIOD, look=look)
    assert (echo.period is not None) is look


def test_a_known_period_is_followed_also_where_nobody_looks_for_one() -> None:
    echo = Echo()
    teach(echo, swing, 0.0, 4 * PERIOD)
    teach(echo, lambda place: swing((place - 4 * PERIOD) / 1.03), 4 * PERIOD, 9 * PERIOD, look=False)
    assert echo.period == pytest.approx(1.03 * PERIOD, rel=0.01)


def test_a_copy_learns_on_its_own() -> None:
    echo = Echo()
    teach(echo, swing, 0.0, 4 * PERIOD)
    before = echo.size_for(100.0, 0.0)
    teach(copy.deepcopy(echo), swing, 4 * PERIOD, 4.3 * PERIOD)
    assert echo.size_for(100.0, 0.0) == before


def test_in_a_queue_what_a_batch_has_beside_its_items_may_grow_with_them() -> None:
    overhead, source = Overhead(target=1.0, in_queue=True), random.Random(2)
    for number in range(4000):
        item = 10 ** math.sin(number / 300)
        size = max(round(30 / item * math.exp(source.gauss(0.0, 0.2))), 1)
        overhead.learn(size, item * (size + 8) * 0.01 * math.exp(source.gauss(0.0, 0.02)))
    assert overhead.fixed == 0.0
    assert 8 / 1.5 < overhead.extra < 8 * 1.5
