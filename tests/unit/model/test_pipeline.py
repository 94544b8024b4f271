"""Batches on their way together in a pipeline: each is sized as it is admitted, for what is ahead of it."""

from __future__ import annotations

import copy
import itertools
import math
import random
from array import array
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from penstock.control.predictive import Predictive
from penstock.control.protocol import asked_at_admission
from penstock.control.wrappers import Bounded, Correcting, Filled, Sampled, Slewed
from penstock.model.lines import Lines
from penstock.model.queue import Queue
from penstock.sample import BatchSample, Status
from penstock.sim.kernel import pass_through
from penstock.sim.run import SimSpec, simulate
from penstock.slo import Slo

SLO = Slo.parse("1 s ± 10%")
SHARES = (0.1, 0.5, 0.25, 0.15)
PLACES = 5
LIGHT, EXTRA = 5e-4, 20

Service = Callable[[int, int], float]


def piped(
    controller: Predictive | Correcting | Filled,
    service_s: Service,
    batches: int,
    noise: Callable[[int, int], float] = lambda number, stage: 1.0,
    seen: Callable[[BatchSample], BatchSample | None] = lambda sample: sample,
) -> Iterator[BatchSample]:
    """Batches through a pipeline whose second stage is the slowest; each is decided on as it is admitted."""
    leave, starts = [0.0] * len(SHARES), [0.0] * len(SHARES) * PLACES
    waiting: deque[BatchSample] = deque()
    for number in range(batches):
        began_s = leave[0]
        while waiting and (waiting[0].started_s or 0.0) + waiting[0].processing_s <= began_s:
            if (sample := seen(waiting.popleft())) is not None:
                controller.decide(sample)
        controller.decide_at_admission(began_s, math.inf, False)
        items = max(round(controller.size), 1)
        noises = [noise(number, stage) for stage in range(len(SHARES))]
        left_s = pass_through(leave, starts, number, began_s, service_s(number, items), SHARES, noises)
        waiting.append(BatchSample(number, items, items, left_s - began_s, started_s=began_s))
        yield waiting[-1]


def steady(number: int, items: int) -> float:
    return (EXTRA + items) * LIGHT


def test_a_steady_load_is_held_within_a_few_percent_by_nearly_every_batch() -> None:
    source = random.Random(3)
    through = piped(Predictive(SLO, 10), steady, 400, lambda number, stage: math.exp(source.gauss(0.0, 0.03)))
    near = [abs(sample.processing_s - 1.0) < 0.06 for sample in through][150:]
    assert sum(near) > 0.97 * len(near)


def test_items_that_are_heavier_for_good_are_met_as_soon_as_those_ahead_are_through() -> None:
    through = piped(Predictive(SLO, 10), lambda number, items: steady(number, items) * (1 if number < 300 else 4), 400)
    samples = list(through)
    assert samples[310].size < 0.5 * samples[299].size
    assert all(SLO.holds(sample.processing_s) for sample in samples[330:])


@pytest.mark.parametrize("stage", [1, 2])
def test_one_stall_changes_no_level(stage: int) -> None:
    def noise(number: int, at: int) -> float:
        return 12.0 if (number, at) == (300, stage) else 1.0

    samples = list(piped(Predictive(SLO, 10), steady, 360, noise))
    usual = samples[295].size
    assert not SLO.holds(samples[300].processing_s)
    assert all(0.6 * usual < sample.size < 1.4 * usual for sample in samples[300:])
    assert all(SLO.holds(sample.processing_s) for sample in samples[320:])


def test_a_load_that_returns_is_met_at_once_and_without_a_climb() -> None:
    def jumping(number: int, items: int) -> float:
        return steady(number, items) * (12 if number // 100 % 2 else 1)

    samples = list(piped(Predictive(SLO, 10, cycles=False), jumping, 620))
    back = samples[600:620]
    usual = samples[590 - 100].size
    assert max(sample.size for sample in back) > usual
    late = next(number for number, sample in enumerate(back) if sample.size > 0.5 * usual)
    assert all(SLO.holds(sample.processing_s) for sample in back[late + 1 : late + 4])


def test_a_slow_ramp_is_foreseen_beyond_all_that_is_on_its_way() -> None:
    source = random.Random(7)

    def ramp(number: int, items: int) -> float:
        return (EXTRA + items) * 1e-4 * 1.01**number * math.exp(source.gauss(0.0, 0.03))

    times = [sample.processing_s for sample in piped(Predictive(SLO, 10), ramp, 300)]
    assert sum(times[-150:]) / 150 == pytest.approx(1.0, abs=0.02)


def test_a_bound_is_kept_by_nearly_all_batches_and_is_not_far_away() -> None:
    source = random.Random(5)
    through = piped(
        Predictive(Slo.parse("<= 1 s"), 10), steady, 400, lambda number, stage: math.exp(source.gauss(0, 0.03))
    )
    times = [sample.processing_s for sample in through][150:]
    assert sum(time <= 1.0 for time in times) > 0.95 * len(times)
    assert sum(times) / len(times) > 0.75


def test_a_bound_makes_no_batch_larger_than_what_it_gains() -> None:
    controller = Predictive(Slo.parse("<= 100 s"), 10)
    samples = list(piped(controller, steady, 400))
    assert samples[-1].size < 40 * EXTRA


def test_end_to_end_what_has_waited_is_taken_off_the_goal() -> None:
    controller = Predictive(Slo.parse("1 s ± 10% e2e"), 10)
    through = piped(controller, steady, 400, seen=lambda sample: replace(sample, wait_s=0.4))
    assert [sample.processing_s for sample in through][-1] == pytest.approx(0.6, abs=0.05)


def test_batches_that_teach_nothing_have_left_all_the_same() -> None:
    def seen(sample: BatchSample) -> BatchSample:
        if sample.batch_id % 5 == 1:
            return replace(sample, started_s=None)
        return replace(sample, status=Status.WARM_UP) if sample.batch_id % 5 == 0 else sample

    times = [sample.processing_s for sample in piped(Predictive(SLO, 10), steady, 300, seen=seen)]
    assert all(SLO.holds(time) for time in times[150:])


def test_samples_that_never_come_keep_nothing_out_of_step() -> None:
    def seen(sample: BatchSample) -> BatchSample | None:
        return None if sample.batch_id > 150 and sample.batch_id % 7 == 0 else sample

    times = [sample.processing_s for sample in piped(Predictive(SLO, 10), steady, 600, seen=seen)]
    assert all(SLO.holds(time) for time in times[300:])


def test_a_first_size_that_is_far_too_large_is_left_after_the_first_batches() -> None:
    samples = list(piped(Predictive(SLO, 50_000), steady, 200))
    assert samples[20].size < 5000
    assert all(SLO.holds(sample.processing_s) for sample in samples[100:])


def test_where_nothing_overlaps_being_asked_changes_nothing() -> None:
    asked, other = Predictive(SLO, 100), Predictive(SLO, 100)
    at_s = 0.0
    for number in range(60):
        assert asked.decide_at_admission(at_s, math.inf, False) is None
        size = round(asked.size)
        took_s = 0.2 + 0.001 * size
        sample = BatchSample(number, size, size, took_s, started_s=at_s)
        assert asked.decide(sample) == other.decide(sample)
        at_s += took_s


def test_bounds_and_slew_hold_for_sizes_that_are_decided_at_admission() -> None:
    free = [sample.size for sample in piped(Predictive(SLO, 10), steady, 300)]
    assert max(free) > 150
    bounded = [sample.size for sample in piped(Bounded(Predictive(SLO, 10), 20, 60), steady, 300)]
    assert (min(bounded), max(bounded)) == (20, 60)
    slewed = [sample.size for sample in piped(Slewed(Predictive(SLO, 10), 1.2), steady, 300)]
    assert all(after <= 1.2 * before + 1 for before, after in itertools.pairwise(slewed))
    assert slewed[-1] == pytest.approx(free[-1], rel=0.1)


def test_a_size_that_a_bound_has_trimmed_is_what_is_known_to_be_on_its_way() -> None:
    for wrapped in (
        lambda inner: Bounded(inner, max_size=60),
        lambda inner: Slewed(inner, 1.2),
        lambda inner: Filled(inner, SLO),
    ):
        controller, on_their_way = Predictive(SLO, 2000), []
        for sample in piped(wrapped(controller), steady, 100):
            on_their_way.append(sample.size)
            assert controller._pipeline is not None
            known = controller._pipeline._queue._sizes.tolist()
            assert known == on_their_way[-len(known) :]


def test_wrappers_that_show_other_batches_than_there_were_are_not_asked_at_admission() -> None:
    assert asked_at_admission(Sampled(Predictive(SLO, 10), SLO, k=5)) is None
    assert asked_at_admission(Bounded(Sampled(Predictive(SLO, 10), SLO, k=5))) is not None
    assert Bounded(Sampled(Predictive(SLO, 10), SLO, k=5)).decide_at_admission(1.0, math.inf, False) is None


def test_the_reason_of_a_batch_that_has_left_says_what_is_believed() -> None:
    controller = Predictive(SLO, 10)
    for _ in piped(controller, steady, 100):
        pass
    reason = controller.decide(BatchSample(101, 10, 10, 1.0)).reason
    assert "an item in the slowest stage" in reason


def test_a_throughput_is_not_sized_at_admission() -> None:
    assert Predictive(Slo.parse(">= 5k/s"), 100).decide_at_admission(0.0, math.inf, False) is None


def test_a_copy_is_sized_on_its_own() -> None:
    controller = Predictive(SLO, 10)
    list(piped(controller, steady, 200))
    twin = copy.deepcopy(controller)
    first = twin.decide_at_admission(1e3, math.inf, False)
    assert first is not None
    twin.decide_at_admission(1e3, math.inf, False)
    assert controller.decide_at_admission(1e3, math.inf, False) == first


def test_memory_is_bounded_where_nothing_ever_leaves() -> None:
    queue = Queue()
    for number in range(1000):
        queue.admit(float(number), extra=0.0)
        queue.add(float(number), 10.0)
    assert len(queue.ahead) <= 256


def test_a_batch_that_leaves_before_the_admission_that_tells_is_through_but_not_clear() -> None:
    queue = Queue()
    for number in range(40):
        if number >= 3:
            queue.left(number - 0.5, 100.0)
        queue.admit(float(number), extra=0.0)
        queue.add(float(number), 100.0)
    # The next is admitted late: two leave before it.
    seen = queue.left(39.5, 100.0) + queue.left(40.5, 100.0)
    assert seen == [(100.0, None)]
    assert queue.admit(41.5, extra=0.0) == []


def test_right_behind_a_large_batch_an_admission_tells_nothing() -> None:
    queue = Queue()
    for number in range(40):
        if number >= 3:
            queue.left(number - 0.5, 100.0)
        queue.admit(float(number), extra=0.0)
        queue.add(float(number), 1000.0 if number == 39 else 100.0)
    queue.left(39.5, 100.0)
    assert queue.admit(40.0, extra=0.0) == []


@pytest.mark.parametrize("slope", [0.0, 0.03, -0.03])
def test_lines_foresee_a_steady_move_however_large_batches_are(slope: float) -> None:
    lines, source, place = Lines(), random.Random(1), 0.0
    for _ in range(80):
        size = source.uniform(50, 150)
        lines.learn(size, slope * (place + size / 2) / 100 + source.gauss(0.0, 0.02))
        place += size
    assert math.log(lines.item(700.0)) == pytest.approx(slope * (place + 700) / 100, abs=0.04)


def test_lines_leave_out_one_odd_batch_and_follow_two() -> None:
    lines = Lines()
    for _ in range(20):
        lines.learn(100.0, 0.0)
    assert not lines.learn(100.0, 2.0)
    assert lines.learn(100.0, 0.0)
    assert lines.item(0.0) == pytest.approx(1.0, rel=0.01)
    assert not lines.learn(100.0, 2.0)
    assert lines.learn(100.0, 2.0)
    assert math.log(lines.item(0.0)) == pytest.approx(2.0, abs=0.01)
    assert not lines.returned


def test_lines_know_a_level_that_comes_back_better_than_its_first_batch_does() -> None:
    lines = Lines()
    for level in (0.0, 2.0):
        for _ in range(20):
            lines.learn(100.0, level)
    for _ in range(2):
        lines.learn(1.0, -0.3)
    assert lines.returned
    assert math.log(lines.item(0.0)) == pytest.approx(0.0, abs=0.05)


def test_lines_that_learn_again_forget_how_it_looked_before() -> None:
    lines, again = Lines(), Lines()
    for each in range(10):
        lines.learn(100.0, 0.1 * each)
        again.learn(100.0, 0.5)
    lines.learn_again(array("d", [100.0] * 10), [0.5] * 10)
    assert lines.item(300.0) == pytest.approx(again.item(300.0), rel=1e-9)


def test_on_the_published_pipeline_a_steady_load_is_held_by_nearly_all_items() -> None:
    run = simulate(SimSpec(plant="thesis", slo="3 ms ± 5%", cost="constant:rate=4", items=60_000, seed=1003))
    held = abs(run.values - 0.003) <= 0.0003
    assert run.items[held].sum() > 0.9 * run.items.sum()


def test_on_the_published_pipeline_arrivals_that_come_and_go_make_no_size_run_away() -> None:
    arrivals = "binary:min=2k,max=200k,period=1s"
    run = simulate(SimSpec(plant="thesis", slo="3 ms ± 5%", cost="constant:rate=12", items=50_000, arrivals=arrivals))
    rushed = run.values[run.began_s > 0.55]
    assert np.median(rushed) == pytest.approx(0.003, rel=0.2)


def test_on_the_published_pipeline_a_percentile_is_kept_as_a_bound_is() -> None:
    spec = SimSpec(plant="thesis", slo="p95 <= 3 ms", cost="constant:rate=4", items=60_000)
    values = simulate(spec).values
    assert (values <= 0.003).mean() > 0.9
    assert np.median(values) > 0.002


def test_on_the_published_pipeline_scarce_arrivals_starve_nobody() -> None:
    run = simulate(
        SimSpec(plant="thesis", slo="3 ms ± 5%", cost="constant:rate=4", items=20_000, arrivals="constant:rate=20000")
    )
    assert run.items.sum() == 20_000
    assert run.ended_s[-1] < 1.3
