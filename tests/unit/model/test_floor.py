"""Where the fixed time of a batch is about the objective: how many items it has for hardly any time."""

from __future__ import annotations

import math
import random

import pytest

from penstock.control import registry
from penstock.control.out_of_reach import OutOfReach
from penstock.control.predictive import Predictive
from penstock.sample import BatchSample
from penstock.slo import Slo

SLO = Slo.parse("1 s ± 10%")


@pytest.mark.parametrize("text", ["400 ms ± 20%", "<= 400 ms"])
@pytest.mark.parametrize("fixed_s", [0.35, 0.4, 0.45, 0.5])
@pytest.mark.parametrize("noise", [0.05, 0.15, 0.3])
def test_no_noise_locks_batches_at_one_where_the_fixed_time_is_about_the_target(
    text: str, fixed_s: float, noise: float
) -> None:
    for seed in range(3):
        source, lasting = random.Random(seed), 0.0
        controller = registry.create("predictive", Slo.parse(text), 1000, live=True)
        sizes = []
        for number in range(500):
            # Half of the noise lasts to the next batch, as on a busy machine.
            lasting = 0.5 * lasting + 0.87 * source.gauss(0.0, 1.0)
            size = max(round(controller.size), 1)
            took_s = (fixed_s + size * 1e-5) * math.exp(noise * lasting)
            controller.decide(BatchSample(number, size, size, took_s))
            sizes.append(size)
        # Even a thousand items would take 10 ms only.
        assert sum(sizes[-200:]) / 200 > 20


@pytest.mark.parametrize(("row", "least"), [(200, 1), (1, 5)])
def test_nor_in_bytes_nor_above_a_least_size(row: int, least: int) -> None:
    controller = registry.create("predictive", Slo.parse("400 ms ± 20%"), 1000 * row, live=True, min_size=least)
    source, rows = random.Random(4), []
    for number in range(500):
        count = max(round(controller.size / row), 1)
        took_s = (0.45 + count * 1e-5) * math.exp(source.gauss(0.0, 0.15))
        controller.decide(BatchSample(number, count * row, count, took_s))
        rows.append(count)
    assert sum(rows[-200:]) / 200 > 50


def test_what_was_tried_is_forgotten_when_the_load_no_longer_needs_it() -> None:
    controller = Predictive(SLO, 1000)
    sizes = []
    for number in range(500):
        size = max(round(controller.size), 1)
        fixed_s, item_s = (1.3, 1e-4) if number < 100 else (0.2, 1e-4) if number < 480 else (0.2, 1e-2)
        controller.decide(BatchSample(number, size, size, fixed_s + size * item_s))
        sizes.append(size)
    # Heavy items are met at once, by one batch that nobody could foresee.
    assert max(sizes[481:]) < 200


def test_a_stream_that_was_quiet_comes_back_within_the_objective() -> None:
    late = 0
    for seed in range(5):
        source = random.Random(seed)
        controller = registry.create("predictive", SLO, 100, live=True)
        for number in range(300):
            waiting = 1 if 60 <= number < 85 else 10**6
            size = min(max(round(controller.size), 1), waiting)
            took_s = (0.85 + size * 1e-3) * math.exp(source.gauss(0.0, 0.05))
            controller.decide(BatchSample(number, size, size, took_s, backlog=float(waiting - size)))
            late += number >= 85 and took_s > 1.4
    # Of 1,075 batches.
    assert late <= 6


@pytest.mark.parametrize("fixed_s", [0.5, 3.0])
def test_who_only_observes_large_batches_says_nothing_about_small_ones(fixed_s: float) -> None:
    controller, reach, source = Predictive(SLO, 10_000), OutOfReach(SLO), random.Random(6)
    for number in range(60):
        controller.size = 10_000.0
        took_s = (fixed_s + 10_000 * 2e-4) * math.exp(source.gauss(0.0, 0.05))
        sample = BatchSample(number, 10_000, 10_000, took_s)
        assert controller.decide(sample).size < 10_000
        assert reach.see(sample) is None


def test_sizes_that_somebody_else_has_raised_are_no_floor() -> None:
    controller = Predictive(SLO, 1000)
    for number in range(80):
        size = max(round(controller.size), 1)
        took_s = 0.2 + size * 1e-3
        controller.decide(BatchSample(number, size, size, took_s))
        if 20 <= number < 50:
            controller.size = 5000.0
    assert SLO.holds(took_s)
