"""The controllers of others, against sums done by hand."""

from __future__ import annotations

import copy
import random

import pytest

from penstock.control import registry
from penstock.control.base import BaseController
from penstock.control.clipper import Clipper
from penstock.control.das import Das
from penstock.control.drizzle import Drizzle
from penstock.control.dstreams import Dstreams, RateEstimator
from penstock.control.dybbs import Dybbs, inverse, isotonic
from penstock.control.least_squares import LeastSquares
from penstock.errors import BadInputError
from penstock.model.linear_cost import fit
from penstock.model.past import Past
from penstock.sample import BatchSample, Decision
from penstock.slo import Slo
from penstock.testing.fakes import LinearPlant, closed_loop

SLO = Slo.parse("1 s ± 10%")
BOUND = Slo.parse("<= 1.1 s")
RATE = Slo.parse("500/s ± 10%")


def decision(controller: BaseController, size: float, latency_s: float) -> Decision:
    return controller.decide(BatchSample(0, size, max(round(size), 1), latency_s, wait_s=0.0))


def decide(controller: BaseController, size: float, latency_s: float) -> float:
    return decision(controller, size, latency_s).size


def test_das_divides_by_the_ratio_of_the_batch_that_was_measured() -> None:
    controller = Das(SLO, 100)
    assert decide(controller, 80, 0.5) == pytest.approx(160)
    assert decide(controller, 160, 1.28) == pytest.approx(125)


def test_das_aims_at_its_share_of_the_target() -> None:
    assert decide(Das(SLO, 100, rho=0.8), 100, 0.5) == pytest.approx(160)


def test_das_cuts_below_both_batches_where_time_grows_faster_than_size() -> None:
    controller = Das(SLO, 300)
    decide(controller, 200, 1.5)
    assert decide(controller, 150, 1.2) == pytest.approx(125), "the larger one was faster per item: not superlinear"
    controller = Das(SLO, 300)
    decide(controller, 150, 1.2)
    assert decide(controller, 200, 1.7) == pytest.approx(0.75 * 150)
    controller = Das(SLO, 300, reduction=0.5)
    decide(controller, 150, 1.2)
    assert decide(controller, 200, 1.7) == pytest.approx(0.5 * 150)


def test_das_needs_both_batches_over_the_band_and_of_two_sizes_to_cut() -> None:
    controller = Das(SLO, 300)
    decide(controller, 150, 1.05)
    assert decide(controller, 160, 1.28) == pytest.approx(125)
    controller = Das(SLO, 300)
    decide(controller, 160, 1.2)
    assert decide(controller, 160, 1.28) == pytest.approx(125)


def test_das_does_not_shrink_on_a_fast_batch_that_the_source_could_not_fill() -> None:
    assert decide(Das(SLO, 1000), 10, 0.2) == 1000
    assert decide(Das(SLO, 1000), 5000, 1.2) == 1000, "nor grow on a slow one from before the last cut"


def test_isotonic_levels_are_means_of_what_they_pool() -> None:
    points = [(1, 1.0), (2, 3.0), (3, 2.0), (4, 2.5), (5, 6.0), (6, 5.0)]
    assert isotonic(points) == [(1.0, 1.0), (3.0, 2.5), (5.5, 5.5)]


def test_equal_sizes_are_averaged_before_anything_is_pooled() -> None:
    assert isotonic([(90, 1.3), (100, 1.0), (100, 2.0)]) == [(90.0, 1.3), (100.0, 1.5)]


def test_isotonic_regression_agrees_with_scipy_where_there_is_one() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    if not hasattr(optimize, "isotonic_regression"):
        pytest.skip("this SciPy has none")
    for seed in range(50):
        source = random.Random(seed)
        values = [source.uniform(0.1, 3.0) for _ in range(source.randint(1, 40))]
        theirs = optimize.isotonic_regression(values).x
        levels = isotonic(enumerate(values))
        ours = [level for _, level in levels]
        assert ours == pytest.approx(sorted(set(theirs))), f"seed {seed}"


def test_an_inverse_is_straight_between_levels_and_proportional_beyond() -> None:
    blocks = [(100.0, 0.5), (300.0, 1.5)]
    assert inverse(blocks, 1.0) == pytest.approx(200)
    assert inverse(blocks, 0.25) == pytest.approx(50)
    assert inverse(blocks, 3.0) == pytest.approx(600)
    assert inverse(blocks[:1], 1.0) == pytest.approx(200)


def test_dybbs_reads_the_size_off_its_levels() -> None:
    controller = Dybbs(SLO, 100)
    assert decide(controller, 100, 0.4) == pytest.approx(250)
    assert decide(controller, 250, 0.8) == pytest.approx(312.5)
    assert decide(controller, 312.5, 1.2) == pytest.approx(281.25)
    # Between 0.8 at 250 and 1.15 at 281.25.
    fourth = decision(controller, 281.25, 1.15)
    assert fourth.size == pytest.approx(250 + 31.25 * 0.2 / 0.35)
    assert fourth.reason == "4 levels seen, 1 s at 268: latency 1.15 s is over 1.1 s: -4.8% to 268"


def test_dybbs_does_not_believe_levels_that_speak_against_the_batch() -> None:
    controller = Dybbs(SLO, 100)
    for _ in range(20):
        decide(controller, 100, 1.0)
    made_slower = decision(controller, 100, 2.0)
    assert made_slower.size == pytest.approx(100 * 1.0 / ((20 * 1.0 + 2.0) / 21))
    contrary = Dybbs(SLO, 100)
    for _ in range(20):
        decide(contrary, 100, 0.95)
    assert decide(contrary, 100, 1.6) == pytest.approx(62.5)


def test_dybbs_forgets_what_has_left_its_window() -> None:
    controller = Dybbs(SLO, 100, window=3)
    for latency_s in (5.0, 0.5, 0.5):
        decide(controller, 100, latency_s)
    assert decide(controller, 100, 0.5) == pytest.approx(200)


def test_drizzle_multiplies_up_and_subtracts_down() -> None:
    controller = Drizzle(SLO, 100, factor=1.5, step=20)
    assert decide(controller, 100, 0.8) == 150
    assert decide(controller, 150, 1.0) == 150
    assert decide(controller, 150, 5.0) == 130
    assert decide(Drizzle(SLO, 120, step="20%"), 120, 5.0) == pytest.approx(100)


def test_clipper_adds_up_and_multiplies_down() -> None:
    controller = Clipper(SLO, 100, step=7)
    assert decide(controller, 100, 0.8) == 107
    assert decide(controller, 107, 1.0) == 107
    assert decide(controller, 107, 5.0) == pytest.approx(96.3)
    assert decide(Clipper(SLO, 100, back_off=0.5), 100, 5.0) == 50


def test_clipper_never_rests_under_a_bound() -> None:
    controller = Clipper(BOUND, 100)
    assert decide(controller, 100, 1.0) == 110
    assert decide(controller, 110, 1.1) == 120
    assert decide(controller, 120, 1.11) == pytest.approx(108)


def test_clipper_rests_above_a_throughput_that_is_reached() -> None:
    controller = Clipper(Slo.parse(">= 450/s"), 100)
    assert decide(controller, 100, 100 / 500) == 100
    assert decide(controller, 100, 100 / 400) == 110


def test_a_rate_estimator_does_the_sum() -> None:
    estimator = RateEstimator(interval_s=2.0, kp=0.5, ki=0.1, kd=0.3, min_rate=10)
    assert estimator.compute(1000, 400, 1000, 0) is None
    assert estimator.rate == 400
    # error 400 - 300 = 100; overdue 500 ms * 300 / 2000 ms = 75; change (100 - 0) / 2 s = 50
    assert estimator.compute(3000, 600, 2000, 500) == pytest.approx(400 - 0.5 * 100 - 0.1 * 75 - 0.3 * 50)
    # error 327.5 - 200 = 127.5; change (127.5 - 100) / 1 s
    assert estimator.compute(4000, 200, 1000, 0) == pytest.approx(327.5 - 0.5 * 127.5 - 0.3 * 27.5)


@pytest.mark.parametrize(
    ("time_ms", "elements", "processing_ms"), [(1000, 10, 10), (999, 10, 10), (2000, 0, 10), (2000, 10, 0)]
)
def test_a_rate_estimator_takes_no_notice_of_an_invalid_batch(
    time_ms: float, elements: float, processing_ms: float
) -> None:
    estimator = RateEstimator(interval_s=1.0)
    estimator.compute(1000, 500, 1000, 0)
    untouched = copy.deepcopy(estimator)
    assert estimator.compute(time_ms, elements, processing_ms, 0) is None
    assert vars(estimator) == vars(untouched)


def test_a_rate_never_falls_below_its_minimum() -> None:
    estimator = RateEstimator(interval_s=1.0, min_rate=100)
    estimator.compute(1000, 500, 1000, 0)
    assert estimator.compute(2000, 10, 1000, 5000) == 100


def test_dstreams_lets_in_what_one_target_can_process_less_what_is_overdue() -> None:
    controller = Dstreams(Slo.parse("2 s ± 10%"), 1000)
    assert decide(controller, 1000, 2.5) == 1000, "the first batch only seeds"
    # 400/s, and the batch began 0.5 s late: 400 * (1 - 0.2 * 0.5 / 2) * 2 s
    assert decide(controller, 1000, 2.5) == pytest.approx(760)
    # Now 1 s late at 500/s.
    assert decide(controller, 760, 1.52) == pytest.approx(500 * (1 - 0.2 * 1.0 / 2) * 2)
    # 1 + 1.52 - 2 = 0.52 s late, at 450/s.
    assert decide(controller, 900, 2.0) == pytest.approx(450 * (1 - 0.2 * 0.52 / 2) * 2)


def test_dstreams_works_off_a_stall_in_five_intervals_not_in_a_hundred() -> None:
    controller = Dstreams(SLO, 1000)
    for latency_s in (1.0, 100.0):
        decide(controller, 1000, latency_s)
    sizes = [decide(controller, 100, 0.1) for _ in range(8)]
    assert sizes[0] == 100
    assert sizes[-1] == pytest.approx(1000)


def test_dstreams_begins_a_new_schedule_at_an_assigned_size() -> None:
    controller = Dstreams(SLO, 1000)
    for _ in range(5):
        decide(controller, 1000, 3.0)
    controller.size = 500.0
    assert decide(controller, 500, 1.25) == pytest.approx(400)


def test_dstreams_survives_gains_that_blow_the_estimator_up() -> None:
    controller = Dstreams(SLO, 1000, kd=1e308)
    for size, latency_s in ((1000, 1.0), (9000, 1.0), (10, 1.0), (9000, 0.1), (1000, 1.0), (500, 1.0)) * 3:
        assert 1 <= decide(controller, size, latency_s) < float("inf")


def test_a_line_is_found_again() -> None:
    past = Past(50)
    for size in (100, 250, 300, 720):
        past.add(size, 0.2 + 0.003 * size)
    line = fit(past)
    assert line is not None
    assert line == pytest.approx((0.003, 0.2))


@pytest.mark.parametrize(
    "points",
    [
        [(100, 0.5)],
        [(100, 0.5), (100, 0.7), (100, 0.6)],
        [(12345.678, 0.5)] * 7,
        [(100, 0.5), (200, 0.4)],
        [(100, 0.5), (101, 0.9)],
    ],
    ids=["one batch", "one size", "one odd size", "falling", "below nothing"],
)
def test_no_line_is_drawn_through_what_shows_none(points: list[tuple[float, float]]) -> None:
    past = Past(50)
    for size, duration_s in points:
        past.add(size, duration_s)
    assert fit(past) is None


def test_a_line_recovers_from_a_batch_that_dwarfed_all_others() -> None:
    past = Past(3)
    for size in (1e15, 100, 200, 300):
        past.add(size, 0.1 + 0.001 * size)
    assert fit(past) == pytest.approx((0.001, 0.1))


def test_least_squares_solves_its_line_for_the_target() -> None:
    controller = LeastSquares(SLO, 100)
    assert decide(controller, 100, 0.4) == pytest.approx(250)
    assert decide(controller, 250, 0.7) == pytest.approx((1 - 0.2) / 0.002)
    assert decide(controller, 400, 1.0) == pytest.approx(400)


def test_least_squares_solves_its_line_for_a_throughput() -> None:
    controller = LeastSquares(RATE, 100)
    decide(controller, 100, 0.1 + 0.001 * 100)
    controller = LeastSquares(RATE, 60)
    decide(controller, 20, 0.1 + 0.001 * 20)
    # n / (0.1 + 0.001 n) = 500 where 0.5 n = 50
    assert decide(controller, 60, 0.1 + 0.001 * 60) == pytest.approx(100)


def test_least_squares_stops_at_nine_tenths_of_a_throughput_that_no_size_gives() -> None:
    controller = LeastSquares(RATE, 60, limit=1000)
    decide(controller, 20, 0.1 + 0.004 * 20)
    # 0.9 of 250/s: n = 0.1 * 225 / (1 - 0.9)
    assert decide(controller, 60, 0.1 + 0.004 * 60) == pytest.approx(225)


def test_least_squares_counts_items_where_a_size_is_something_else() -> None:
    controller = LeastSquares(RATE, 6)
    for files in (2, 6):
        items = 10 * files
        size = controller.decide(BatchSample(0, files, items, 0.1 + 0.001 * items)).size
    assert size == pytest.approx(10)


def test_two_noisy_batches_cannot_fling_the_size() -> None:
    controller = LeastSquares(SLO, 1000)
    decide(controller, 1001, 0.501)
    assert decide(controller, 1000, 0.5) <= 4 * 4 * 1000
    controller = LeastSquares(SLO, 1000, limit=2)
    decide(controller, 1010, 1.5)
    assert decide(controller, 1000, 1.499) >= 250


def test_least_squares_steps_in_proportion_when_its_line_is_out_of_date() -> None:
    controller = LeastSquares(SLO, 100)
    for size in (100, 250, 400, 500, 400):
        decide(controller, size, 0.2 + 0.0018 * size)
    controller.size = 400.0
    slower = decision(controller, 400, 1.16)
    assert slower.size == pytest.approx(400 / 1.16)
    assert "no longer, in proportion" in slower.reason


@pytest.mark.parametrize("name", ["das", "dybbs", "dstreams", "least-squares"])
def test_a_learner_finds_a_linear_machine_in_a_few_batches(name: str) -> None:
    plant = LinearPlant(overhead_s=0.2, per_item_s=0.0004)
    controller = registry.create(name, SLO, 200)
    latencies_s = [sample.processing_s for sample, _ in closed_loop(controller, plant, 30)]
    assert all(SLO.holds(latency_s) for latency_s in latencies_s[8:])


@pytest.mark.parametrize("name", ["das", "dybbs", "drizzle", "clipper", "least-squares"])
def test_a_batch_within_the_band_at_the_target_moves_nothing(name: str) -> None:
    controller = registry.create(name, SLO, 1000)
    for _ in range(10):
        assert controller.decide(BatchSample(0, 1000, 1000, 1.0)).size == 1000


@pytest.mark.parametrize(
    "spec",
    [
        "das:rho=0",
        "das:reduction=1",
        "dybbs:window=1",
        "drizzle:factor=1",
        "drizzle:step=0",
        "clipper:back_off=0",
        "clipper:back_off=100%",
        "dstreams:ki=-1",
        "dstreams:min_rate=0",
        "least-squares:window=1",
        "least-squares:limit=1",
        "least-squares:window=2.5",
    ],
)
def test_impossible_settings_are_refused(spec: str) -> None:
    name, settings = registry.parse_spec(spec)
    with pytest.raises(BadInputError, match="="):
        registry.create(name, SLO, 100, **settings)
