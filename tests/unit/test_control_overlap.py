"""Batches on their way together in a queue: what each tells, stalls that hold all of them up, queues that run empty."""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable, Iterator

import pytest

from penstock.control.forecast.overlap import Overlap
from penstock.control.predictive import Predictive
from penstock.sample import BatchSample
from penstock.sim.kernel import pass_through
from penstock.slo import Slo

SLO = Slo.parse("1 s ± 10%")
SHARES = (0.1, 0.5, 0.25, 0.15)
PLACES = 5


def piped(controller: Predictive, service_s: Callable[[int, int], float], batches: int) -> Iterator[BatchSample]:
    """Batches through a pipeline whose second stage is the slowest; each is decided on as it leaves."""
    leave, starts = [0.0] * len(SHARES), [0.0] * len(SHARES) * PLACES
    waiting: deque[BatchSample] = deque()
    for number in range(batches):
        began_s = leave[0]
        while waiting and (waiting[0].started_s or 0.0) + waiting[0].processing_s <= began_s:
            sample = waiting.popleft()
            controller.decide(sample)
            yield sample
        items = max(round(controller.size), 1)
        left_s = pass_through(leave, starts, number, began_s, service_s(number, items), SHARES, [1.0])
        waiting.append(BatchSample(number, items, items, left_s - began_s, started_s=began_s))


def test_small_overlapping_batches_make_up_for_what_rounding_leaves_out() -> None:
    controller = Predictive(SLO, 2)
    sizes: list[float] = []
    for number in range(200):
        # 0.8 s for each item of the mean of the last four batches: 1.25 items each would be right.
        items = round(controller.size)
        began_s, took_s = number * 0.25, 0.8 * sum([*sizes, items][-4:]) / 4
        controller.decide(BatchSample(number, items, items, max(took_s, 0.5), started_s=began_s))
        assert controller.size == round(controller.size)
        sizes.append(controller.size)
    assert sum(sizes[-100:]) / 100 == pytest.approx(1.25, abs=0.1)


def test_batches_that_overlap_count_as_large_as_those_around_them() -> None:
    controller = Predictive(SLO, 100)
    waiting: deque[BatchSample] = deque()
    left_s = began_s = 0.0
    for number in range(400):
        size = max(round(controller.size), 1)
        left_s = max(left_s, began_s) + 0.02 + size * 1e-4
        waiting.append(BatchSample(number, size, size, left_s - began_s, started_s=began_s))
        if len(waiting) >= 5:
            done = waiting.popleft()
            began_s = (done.started_s or 0.0) + done.processing_s
            controller.decide(done)
    assert waiting[-1].processing_s == pytest.approx(1.0, rel=0.1)


def test_in_a_queue_the_interval_between_departures_tells_the_time_of_a_batch() -> None:
    overlap, ends = Overlap(), [0.0]
    for number in range(200):
        size = 40 if number == 199 else 10
        began_s = ends[max(number - 7, 0)]
        ends.append(ends[-1] + 0.1 * size)
        overlap.learn(BatchSample(number, size, size, ends[-1] - began_s, started_s=began_s), ends[-1] - began_s)
        if number == 198:
            usual = overlap.own(ends[-1] - began_s)
    assert overlap.count == 8
    assert overlap.own(ends[-1] - began_s) / usual == pytest.approx(4.0, rel=0.05)


def test_items_that_are_heavier_for_good_are_seen_in_one_batch() -> None:
    controller = Predictive(SLO, 100)
    sizes, times = [], []
    for sample in piped(controller, lambda number, items: (20 + items) * (5e-4 if number < 300 else 2e-3), 500):
        sizes.append(controller.size)
        times.append(sample.processing_s)
    assert sizes[301] < 0.7 * sizes[299]
    assert SLO.holds(times[-1])


def test_a_queue_that_runs_empty_makes_no_batch_too_large() -> None:
    controller = Predictive(SLO, 100)
    heavy = range(300, 312)
    through = piped(controller, lambda number, items: (20 + items) * (1e-2 if number in heavy else 5e-4), 600)
    sizes = [controller.size for _ in through]
    usual = sizes[299]
    assert min(sizes[300:]) < 0.3 * usual
    assert max(sizes[300:]) < 1.6 * usual
    assert sizes[-1] == pytest.approx(usual, rel=0.05)


def test_a_slow_ramp_is_foreseen_beyond_all_that_is_on_its_way() -> None:
    controller, source = Predictive(SLO, 100), random.Random(7)

    def service_s(number: int, items: int) -> float:
        return (20 + items) * 2e-4 * 1.006**number * math.exp(source.gauss(0.0, 0.03))

    times = [sample.processing_s for sample in piped(controller, service_s, 400)]
    assert sum(times[-200:]) / 200 == pytest.approx(1.0, abs=0.03)


def test_a_queue_of_another_length_is_the_usual_one_after_a_while() -> None:
    overlap, ends = Overlap(), [0.0]
    unusual = []
    for number in range(200):
        began_s = ends[max(number - (3 if number < 100 else 11), 0)]
        ends.append(ends[-1] + 1.0)
        overlap.learn(BatchSample(number, 10, 10, ends[-1] - began_s, started_s=began_s), ends[-1] - began_s)
        unusual.append(overlap.unusual)
    assert not any(unusual[30:100])
    assert any(unusual[100:120])
    assert not any(unusual[140:])
