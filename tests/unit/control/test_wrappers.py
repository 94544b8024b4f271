"""What wrappers do to the decisions of the controller inside."""

from __future__ import annotations

import math

import pytest

from penstock.control.faf import Faf
from penstock.control.fixed import Fixed
from penstock.control.pid import Pid
from penstock.control.slow_start import SlowStart
from penstock.control.wrappers import Bounded, Sampled, Slewed
from penstock.errors import BadInputError
from penstock.sample import BatchSample, Decision, Status
from penstock.size import LARGEST
from penstock.slo import Slo
from penstock.testing.fakes import LinearPlant, closed_loop, sample_of

SLO = Slo.parse("1 s ± 10%")


class Recorder:
    """Keeps what it was shown."""

    def __init__(self) -> None:
        self.size = 100.0
        self.seen: list[BatchSample] = []

    def decide(self, sample: BatchSample) -> Decision:
        self.seen.append(sample)
        self.size = 100.0
        return Decision(self.size, "seen", min_size=90.0, max_wait_s=1.0)


def test_sampled_passes_the_mean_of_k_new_samples() -> None:
    inner = Recorder()
    controller = Sampled(inner, SLO, k=3)
    for batch_id, (size, latency_s) in enumerate([(10, 1.0), (20, 2.0), (60, 6.0), (10, 5.0), (10, 5.0), (10, 5.0)]):
        controller.decide(
            BatchSample(batch_id=batch_id, size=size, items=size, processing_s=latency_s, wait_s=latency_s / 2)
        )
    first, second = inner.seen
    assert (first.size, first.items, first.processing_s, first.wait_s) == (30, 30, 3.0, 1.5)
    assert (second.batch_id, second.size, second.processing_s) == (5, 10, 5.0)


def test_sampled_counts_no_unusable_sample() -> None:
    inner = Recorder()
    controller = Sampled(inner, SLO, k=2)
    controller.decide(sample_of(SLO, 0.5))
    controller.decide(sample_of(SLO, 9.0, status=Status.WARM_UP))
    controller.decide(sample_of(SLO, math.nan))
    assert not inner.seen
    controller.decide(sample_of(SLO, 0.7))
    assert [sample.processing_s for sample in inner.seen] == [pytest.approx(0.6)]


def test_sampled_does_not_invent_a_wait() -> None:
    inner = Recorder()
    controller = Sampled(inner, SLO, k=2)
    for wait_s in (None, 1.0, 1.0, 3.0):
        controller.decide(BatchSample(batch_id=0, size=10, items=10, processing_s=1.0, wait_s=wait_s))
    assert [sample.wait_s for sample in inner.seen] == [None, 2.0]


def test_bounded_writes_back_so_that_the_way_down_starts_at_the_bound() -> None:
    controller = Bounded(Faf(SLO, 100), max_size=125)
    for _ in range(50):
        controller.decide(sample_of(SLO, 0.5))
    assert controller.inner.size == 125
    assert controller.decide(sample_of(SLO, 1.5)).size == 115


def test_bounded_pid_leaves_the_bound_at_once() -> None:
    controller = Bounded(Pid(SLO, 100), max_size=50)
    for _ in range(500):
        controller.decide(sample_of(SLO, 0.2))
    assert controller.size == 50
    assert controller.decide(sample_of(SLO, 1.5)).size < 50


def test_bounded_brings_the_first_size_and_an_assigned_one_within() -> None:
    controller = Bounded(Fixed(SLO, 10), min_size=20, max_size=30)
    assert controller.size == 20
    controller.size = 1000
    assert controller.size == 30


def test_bounded_says_which_bound_it_held() -> None:
    low = Bounded(Faf(SLO, 100), min_size=95).decide(sample_of(SLO, 2.0))
    assert (low.size, low.reason) == (95, "latency 2 s is over 1.1 s: -10% to 90; held at the minimum of 95")


def test_a_corrected_decision_keeps_its_other_terms_possible() -> None:
    decision = Bounded(Recorder(), max_size=50).decide(sample_of(SLO, 1.0))
    assert (decision.size, decision.min_size, decision.max_wait_s) == (50, 50, 1.0)


@pytest.mark.parametrize(("factor", "up", "down"), [(2, 20, 5), ("100%", 20, 5), ("1.25", 12.5, 8), ("25%", 12.5, 8)])
def test_slewed_limits_both_ways_and_writes_back(factor: float | str, up: float, down: float) -> None:
    for latency_s, expected in ((0.1, up), (5.0, down)):
        inner = Faf(SLO, 10, step=500)
        assert Slewed(inner, factor).decide(sample_of(SLO, latency_s)).size == pytest.approx(expected)
        assert inner.size == pytest.approx(expected)


def test_slewed_leaves_small_changes_alone() -> None:
    assert Slewed(Faf(SLO, 100), 2).decide(sample_of(SLO, 0.5)).reason.endswith("+10% to 110")


def test_ramp_up_nears_the_target_in_a_few_batches_without_overshoot() -> None:
    plant = LinearPlant(overhead_s=0.05, per_item_s=0.00001)
    controller = SlowStart(Faf(SLO, 100, step="1%"), SLO)
    samples = [sample for sample, _ in closed_loop(controller, plant, 15)]
    assert not controller.ramping
    assert max(sample.processing_s for sample in samples) <= SLO.high
    assert samples[-1].processing_s >= 0.7


@pytest.mark.parametrize("delay", range(6))
def test_ramp_up_does_not_overshoot_when_samples_come_late(delay: int) -> None:
    plant = LinearPlant(overhead_s=0.05, per_item_s=0.00001)
    controller = SlowStart(Fixed(SLO, 100), SLO)
    samples = [sample for sample, _ in closed_loop(controller, plant, 60, delay)]
    assert not controller.ramping
    assert max(sample.processing_s for sample in samples) <= SLO.high


def test_ramp_up_hands_over_for_good() -> None:
    controller = SlowStart(Faf(SLO, 100), SLO)
    assert controller.decide(sample_of(SLO, 0.75)).size == 110
    assert controller.decide(sample_of(SLO, 0.01)).size == 120


def test_ramp_up_does_not_run_away_when_the_source_is_short_of_data() -> None:
    controller = SlowStart(Fixed(SLO, 100), SLO)
    for _ in range(100):
        controller.decide(sample_of(SLO, 0.1, size=50))
    assert controller.size == 500


def test_ramp_up_ends_when_throughput_grows_no_more() -> None:
    slo = Slo.parse(">= 10k/s")
    controller = SlowStart(Fixed(slo, 100), slo)
    for value in (1000, 2000, 3000, 3000, 3000, 3000):
        controller.decide(sample_of(slo, value, size=round(controller.size)))
    assert not controller.ramping
    assert controller.size == pytest.approx(1600 * slo.aim / 3000)


def test_ramp_up_is_not_ended_by_an_ignored_batch() -> None:
    controller = SlowStart(Fixed(SLO, 100), SLO)
    assert controller.decide(sample_of(SLO, 5.0, status=Status.FAILED)).size == 100
    assert controller.ramping


def test_ramp_up_into_pid_continues_from_the_size_reached() -> None:
    controller = SlowStart(Pid(SLO, 100), SLO)
    for latency_s in (0.1, 0.2, 0.4):
        controller.decide(sample_of(SLO, latency_s, size=round(controller.size)))
    assert controller.size == 4000
    assert controller.decide(sample_of(SLO, 0.9, size=4000)).size == pytest.approx(4000, rel=0.01)


def test_impossible_settings_are_refused() -> None:
    inner = Fixed(SLO, 100)
    for make in (
        lambda: Sampled(inner, SLO, 0),
        lambda: Bounded(inner, min_size=10, max_size=5),
        lambda: Bounded(inner, min_size=0),
        lambda: Bounded(inner, max_size=2 * LARGEST),
        lambda: Slewed(inner, 1),
        lambda: Slewed(inner, "0%"),
        lambda: Slewed(inner, math.nan),
        lambda: SlowStart(inner, SLO, below=1),
        lambda: SlowStart(inner, SLO, factor=1),
    ):
        with pytest.raises(BadInputError):
            make()
