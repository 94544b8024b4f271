"""The shape of a period: fitted to batches whose noise, size and period nobody told it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from penstock.model import cycle as cycle_module
from penstock.model import waves as module
from penstock.model.cycle import Cycle
from penstock.model.level import Level
from penstock.model.shape import Floats, Shape, sums
from penstock.model.steps import fit_steps
from penstock.model.waves import CELLS, Known, fit_waves

FIXED_S, PERIOD = 0.2, 1e6


def shape_of(heaviness: NDArray[np.float64]) -> Shape:
    """In cells of equal work."""
    return Shape(PERIOD, np.exp(-heaviness) / np.exp(-heaviness).sum(), heaviness)


def swing(item_s: float) -> Shape:
    return shape_of(np.log(item_s) + 1.2 * np.sin(2 * np.pi * np.arange(CELLS) / CELLS))


SWING = swing(2e-5)
STEPS = shape_of(np.log(np.repeat([1e-5, 2e-4], CELLS // 2)))
STEPS_RISE = PERIOD * 20 / 21


def batches(truth: Shape, periods: float, noise: float, seed: int = 1) -> tuple[NDArray[np.float64], ...]:
    """Where batches of about 0.8 s of work begin and end, and what each took beyond the fixed time."""
    random = np.random.default_rng(seed)
    places, works = [0.0], []
    while places[-1] < periods * PERIOD:
        size = truth.size_for(0.8 * float(np.exp(random.normal(0.0, 0.2))), places[-1])
        work = truth.work(places[-1], places[-1] + size)
        works.append((FIXED_S + work) * float(np.exp(random.normal(0.0, noise))) - FIXED_S)
        places.append(places[-1] + size)
    return np.array(places) - places[-1], np.array(works)


def found(answer: tuple[Shape, float] | None) -> tuple[Shape, float]:
    assert answer is not None
    return answer


@pytest.mark.parametrize("off", [0.97, 1.0, 1.03])
def test_a_swing_and_its_period_are_found_through_noise(off: float) -> None:
    edges, works = batches(SWING, 2.5, noise=0.1)
    shape, loss = found(fit_waves(edges, works, FIXED_S, off * PERIOD))
    assert loss < 2 * 0.1**2
    assert shape.period == pytest.approx(PERIOD, rel=0.01)
    # The next batches, which begin where the known ones ended.
    begin = -edges[0]
    errors = []
    for ahead in np.arange(0.0, PERIOD, 2e4):
        forecast, true = shape.work(ahead, ahead + 2e4), SWING.work(begin + ahead, begin + ahead + 2e4)
        errors.append(np.log(forecast / true))
    assert float(np.std(errors)) < 0.15


@pytest.mark.parametrize("off", [0.98, 1.0, 1.02])
def test_steps_are_found_to_about_a_batch(off: float) -> None:
    edges, works = batches(STEPS, 3.0, noise=0.05)
    shape, _ = found(fit_waves(edges, works, FIXED_S, off * PERIOD))
    assert shape.period == pytest.approx(PERIOD, rel=0.01)
    for place, cost in ((0.48 * PERIOD, 1e-5), (0.98 * PERIOD, 2e-4)):
        at = (place + edges[0]) % PERIOD
        assert shape.work(at, at + 100) / 100 == pytest.approx(cost, rel=0.5)


@pytest.mark.parametrize("off", [0.98, 1.0, 1.02])
def test_little_more_than_a_period_of_steps_does_not_carry_the_period_away(off: float) -> None:
    edges, works = batches(STEPS, 1.4, noise=0.05)
    shape, _ = found(fit_waves(edges, works, FIXED_S, off * PERIOD))
    assert shape.period == pytest.approx(PERIOD, rel=0.05)


@pytest.mark.parametrize("off", [0.97, 1.0, 1.03])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_jumps_are_found_within_a_batch(off: float, noise: float) -> None:
    edges, works = batches(STEPS, 2.5, noise)
    shape, loss = found(fit_steps(edges, works, FIXED_S, off * PERIOD))
    assert loss < 2 * noise**2 + 0.005
    assert shape.period == pytest.approx(PERIOD, rel=0.01)
    # Items of the light half are 20 times as many: a batch is a tenth of a period there, a two hundredth after it.
    rise = (STEPS_RISE + edges[0]) % PERIOD
    assert shape.work(rise - 0.1 * PERIOD, rise - 0.02 * PERIOD) / (0.08 * PERIOD) == pytest.approx(1e-5, rel=0.2)
    assert shape.work(rise + 0.01 * PERIOD, rise + 0.03 * PERIOD) / (0.02 * PERIOD) == pytest.approx(2e-4, rel=0.2)


def test_jumps_explain_jumps_better_and_waves_explain_a_swing_better() -> None:
    for truth, steps_are_better in ((STEPS, True), (SWING, False)):
        edges, works = batches(truth, 2.5, noise=0.05)
        swinging = found(fit_waves(edges, works, FIXED_S, PERIOD))[1]
        jumping = found(fit_steps(edges, works, FIXED_S, PERIOD))[1]
        assert (jumping < swinging) is steps_are_better
        assert (fit_steps(edges, works, FIXED_S, PERIOD, rival=swinging) is not None) is steps_are_better


def test_of_little_more_than_a_period_two_levels_are_not_believed() -> None:
    for periods, levels in ((1.3, False), (2.5, True)):
        edges, works = batches(STEPS, periods, noise=0.05)
        shape, _ = found(cycle_module._fitted(edges, works, FIXED_S, PERIOD, None))
        assert (len(shape._places) < CELLS) is levels


def test_a_fit_that_begins_with_what_is_known_comes_to_the_same_in_fewer_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    edges, works = batches(SWING, 3.3, noise=0.05)
    steps = []
    slopes = module._slopes
    monkeypatch.setattr(module, "_slopes", lambda *given: steps.append(1) or slopes(*given))
    cold, cold_loss = found(fit_waves(edges, works, FIXED_S, 1.03 * PERIOD))
    taken, steps[:] = len(steps), []
    warm, warm_loss = found(fit_waves(edges, works, FIXED_S, cold.period, cold.works))
    assert len(steps) < taken
    assert warm_loss == pytest.approx(cold_loss, rel=0.05)
    assert warm.period == pytest.approx(cold.period, rel=0.002)


def test_work_between_places_is_that_of_each_pair() -> None:
    shape = Shape(10.0, np.array([0.3, 0.7]), np.log([2.0, 5.0]))
    places = np.array([-13.0, -4.0, 0.0, 1.0, 3.5, 27.0])
    expected = [shape.work(begin, end) for begin, end in itertools.pairwise(places.tolist())]
    assert shape.works(places).tolist() == pytest.approx(expected)


def test_without_a_jump_up_and_a_jump_down_there_are_no_levels() -> None:
    edges = np.arange(-20.0, 1.0)
    assert fit_steps(edges, np.repeat([1.0, 5.0], 10), FIXED_S, 10.0) is None
    assert fit_steps(edges, np.ones(20), FIXED_S, 10.0) is None


def test_slopes_are_those_of_the_forecasts() -> None:
    edges, _ = batches(SWING, 2.3, noise=0.0)
    random = np.random.default_rng(2)
    widths = random.dirichlet(np.ones(CELLS))
    before = sums(widths)
    # The last one is the logarithm of the period's stretch.
    guess = np.append(random.normal(0.0, 0.2, module._BASIS.shape[0]), 0.0)

    def forecasts(number: int, step: float) -> NDArray[np.float64]:
        moved = guess.copy()
        moved[number] += step
        return module._slopes(edges, widths, before, moved, PERIOD)[0]

    slopes = module._slopes(edges, widths, before, guess, PERIOD)
    work = Shape(PERIOD, widths, module._heaviness(guess)).works(edges)
    np.testing.assert_allclose(slopes[0], work, rtol=1e-9)
    for number in range(guess.size):
        measured = (forecasts(number, 1e-6) - forecasts(number, -1e-6)) / 2e-6
        np.testing.assert_allclose(slopes[number], measured, rtol=1e-3, atol=1e-3 * np.abs(measured).max())


def test_a_size_and_its_work_belong_together() -> None:
    for begin in (0.0, 0.3 * PERIOD, 7.9 * PERIOD):
        for work in (0.01, 0.5, 3.0):
            size = SWING.size_for(work, begin)
            assert SWING.work(begin, begin + size) == pytest.approx(work)


def adopted(truth: Shape, periods: float, error_without: float = 0.3, noise: float = 0.0) -> Cycle:
    """A cycle that has seen so many periods of batches of equal work."""
    cycle, place, random = Cycle(), 0.0, np.random.default_rng(5)
    while place < periods * PERIOD:
        size = truth.size_for(0.8, place)
        took_s = (FIXED_S + truth.work(place, place + size)) * float(np.exp(random.normal(0.0, noise)))
        cycle.learn(size, took_s - FIXED_S, FIXED_S, error_without)
        place += size
    return cycle


def test_a_load_that_jumps_is_foreseen_to_the_jump() -> None:
    cycle = adopted(STEPS, 4.05)
    assert cycle.size_for(1.0, 0.2) == pytest.approx(0.8 / 1e-5, rel=0.15)
    # Half of the work is before the jump, and the other half needs few items.
    before = 0.4 / 1e-5
    across = cycle.size_for(1.0, 0.2, ahead=4 * PERIOD + STEPS_RISE - before - cycle._place)
    assert across == pytest.approx(before + 0.4 / 2e-4, rel=0.15)


def test_a_trusted_cycle_begins_its_next_fit_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []

    def fit(
        edges: Floats, works: Floats, fixed: float, period: float, known: Known | None
    ) -> tuple[Shape, float] | None:
        if known is not None:
            begun.append(known(edges) / works)
        return fit_waves(edges, works, fixed, period, known)

    monkeypatch.setattr(cycle_module, "fit_waves", fit)
    adopted(SWING, 5.0)
    assert begun
    # What is known is that of the very batches that are fitted.
    assert np.abs(np.log(np.concatenate(begun))).max() < 0.1


def test_two_ups_and_two_downs_are_enough() -> None:
    cycle = adopted(SWING, 2.2)
    assert cycle.trusted
    assert cycle.period == pytest.approx(PERIOD, rel=0.02)


def test_a_period_of_many_batches_is_found_too() -> None:
    slow = swing(2e-4)
    assert 170 < slow.work(0.0, PERIOD) / 0.8 < 190
    cycle = adopted(slow, 4.0, noise=0.05)
    assert cycle.trusted
    assert cycle.period == pytest.approx(PERIOD, rel=0.03)


def test_a_period_longer_than_the_history_is_not_invented() -> None:
    assert adopted(swing(9e-4), 4.0).period is None


def test_intervals_that_differ_are_no_cycle() -> None:
    cycle, level = Cycle(), Level()
    random = np.random.default_rng(4)
    size, trusted, batches = 8e4, 0, 0
    for _ in range(40):
        for cost in (1e-5, 2e-4):
            for _ in range(int(np.exp(random.uniform(0.0, 4.0)))):
                work = size * cost
                level.learn(size, FIXED_S + work, FIXED_S)
                cycle.learn(size, work, FIXED_S, level.error)
                size = level.size_for(1.0, FIXED_S)
                trusted, batches = trusted + cycle.trusted, batches + 1
    assert trusted < 0.05 * batches


def test_a_cycle_that_has_ended_is_not_trusted_for_long() -> None:
    cycle = adopted(SWING, 4.0)
    assert cycle.trusted
    after = 0
    # A load a hundred times lighter, whose batches are longer than several periods.
    while cycle.trusted and after < 50:
        cycle.learn(4e6, 0.8, FIXED_S, 0.01)
        after += 1
    assert after <= 3


def test_a_lasting_error_becomes_one_of_the_whole_period() -> None:
    heavier = swing(1.2 * 2e-5)
    cycle = adopted(SWING, 3.0)
    before = cycle.size_for(1.0, 0.2)
    place = 3.0 * PERIOD
    for _ in range(5):
        size = heavier.size_for(0.8, place)
        cycle.learn(size, heavier.work(place, place + size), FIXED_S, 0.3)
        place += size
    assert cycle.size_for(1.0, 0.2, ahead=4 * PERIOD - place) < 0.95 * before


def disturbed(memory: float) -> Cycle:
    """A cycle that has seen noise of 10%, of which so much lasts; its last batch took 20% too long."""
    cycle, place, noise, random = Cycle(), 0.0, 0.0, np.random.default_rng(8)
    while place < 12 * PERIOD or noise != 0.2:
        last = place >= 12 * PERIOD
        noise = 0.2 if last else memory * noise + float(random.normal(0.0, 0.1 * np.sqrt(1 - memory**2)))
        size = SWING.size_for(0.8, place)
        took_s = (FIXED_S + SWING.work(place, place + size)) * float(np.exp(noise))
        cycle.learn(size, max(took_s - FIXED_S, 0.1), FIXED_S, 0.3, 0.1)
        place += size
    return cycle


def test_half_of_the_last_noise_is_taken_out_of_the_next_batch_where_noise_lasts() -> None:
    for memory, share in ((0.7, 0.5), (0.0, 0.0)):
        cycle = disturbed(memory)
        next_one, much_later = (cycle.size_for(1.0, FIXED_S, batches=batches) for batches in (1, 50))
        place = cycle._place
        took_s = [FIXED_S + SWING.work(place, place + size) for size in (next_one, much_later)]
        assert took_s[0] / took_s[1] == pytest.approx(np.exp(-share * cycle._noise), rel=0.02)
        assert cycle._noise == pytest.approx(0.2, abs=0.1)


def test_one_batch_of_three_times_its_time_ends_the_trust_in_a_cycle() -> None:
    cycle = adopted(SWING, 4.0, error_without=0.25)
    assert cycle.trusted
    size = cycle.size_for(1.0, FIXED_S)
    cycle.learn(size, 4.0, FIXED_S, error_without=0.1)
    assert not cycle.trusted


def test_one_batch_that_no_forecast_met_ends_no_trust() -> None:
    cycle = adopted(SWING, 4.0, error_without=0.25)
    cycle.learn(cycle.size_for(1.0, FIXED_S), 4.0, FIXED_S, error_without=1.3)
    assert cycle.trusted
