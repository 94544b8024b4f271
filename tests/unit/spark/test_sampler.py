from __future__ import annotations

import math

import pytest

from penstock.clock import ManualClock
from penstock.sample import Status
from penstock.spark.observe.report import BatchReport, SourceRange
from penstock.spark.observe.sampler import Admitted, Sampler

SOURCES = (SourceRange("0", "100"),)


class Meter:
    def __init__(self, *sizes: float) -> None:
        self.sizes = list(sizes)

    def admitted(self, sources: tuple[SourceRange, ...]) -> Admitted:
        return Admitted(self.sizes.pop(0) if len(self.sizes) > 1 else self.sizes[0], wait_s=0.5, backlog=7)


def job(batch_id: int = 0, ended_s: float = 11.0, **fields: object) -> BatchReport:
    known = {"query_id": "q", "batch_id": batch_id, "started_s": 10.0, "sources": SOURCES}
    return BatchReport(**{**known, "took_s": ended_s - 10.0, **fields})


def progress(batch_id: int = 0, **fields: object) -> BatchReport:
    known = {"query_id": "q", "batch_id": batch_id, "started_s": 10.0, "took_s": 1.2, "confirmed": True}
    return BatchReport(**{**known, "items": 100, "sources": SOURCES, **fields})


def sampler(*sizes: float, warm_up: int = 0, clock: ManualClock | None = None) -> Sampler:
    return Sampler(Meter(*(sizes or (100.0,))), warm_up, clock or ManualClock())


def test_an_estimate_is_the_time_since_the_trigger_plus_the_usual_tail():
    samples = sampler()
    first = samples.sample(job())
    assert first is not None
    assert (first.confirmed, first.size, first.wait_s, first.backlog) == (False, 100, 0.5, 7)
    assert first.processing_s == pytest.approx(1.03)


def test_the_tail_is_learned_from_confirmed_batches():
    samples = sampler()
    for batch_id in range(40):
        estimate = samples.sample(job(batch_id))
        samples.sample(progress(batch_id))
    assert estimate is not None
    assert estimate.processing_s == pytest.approx(1.2, abs=1e-3)


def test_a_later_job_of_the_batch_refines_its_estimate_but_not_its_size():
    samples = sampler(100.0, 5.0)
    samples.sample(job(ended_s=10.5))
    refined = samples.sample(job(ended_s=12.0))
    assert refined is not None
    assert (refined.size, refined.processing_s) == (100, pytest.approx(2.03))


def test_progress_confirms_with_the_size_of_its_own_batch():
    samples = sampler(100.0, 300.0)
    samples.sample(job(0))
    samples.sample(job(1))
    late = samples.sample(progress(0))
    assert late is not None
    assert (late.confirmed, late.batch_id, late.size, late.items, late.processing_s) == (True, 0, 100, 100, 1.2)


def test_items_are_estimated_from_rows_per_unit_of_the_last_batch():
    samples = sampler(4.0)
    samples.sample(progress(0, items=1000))
    estimate = samples.sample(job(1))
    assert estimate is not None
    assert estimate.items == 1000


def test_a_job_that_cannot_tell_gives_no_estimate():
    assert sampler().sample(job(executed=False)) is None


def test_a_trigger_that_ran_no_batch_gives_no_sample():
    assert sampler().sample(progress(executed=False)) is None


def test_the_first_batches_are_warm_up_until_so_many_are_confirmed():
    samples = sampler(warm_up=2)
    seen = []
    for batch_id in range(4):
        estimate, confirmed = samples.sample(job(batch_id)), samples.sample(progress(batch_id))
        assert estimate is not None
        assert confirmed is not None
        seen.append((estimate.status, confirmed.status))
    assert seen == [(Status.WARM_UP,) * 2] * 2 + [(Status.OK,) * 2] * 2


@pytest.mark.parametrize(
    ("sample", "status"),
    [
        (sampler().sample(job(failed=True)), Status.FAILED),
        (sampler().sample(job(planned=False)), Status.REPLAYED),
        (sampler().sample(progress(planned=False)), Status.REPLAYED),
        (sampler().sample(progress(items=0)), Status.EMPTY),
        (sampler(0.0).sample(job()), Status.EMPTY),
        (sampler(warm_up=1).sample(progress(planned=False)), Status.REPLAYED),
    ],
)
def test_a_batch_that_trains_nobody_says_why(sample, status: Status):
    assert sample.status is status
    assert not sample.usable


def test_a_replayed_batch_stays_replayed_when_only_its_job_knew():
    samples = sampler()
    samples.sample(job(planned=False))
    confirmed = samples.sample(progress(planned=True))
    assert confirmed is not None
    assert confirmed.status is Status.REPLAYED


def test_a_size_that_nobody_could_tell_is_not_usable_and_spoils_no_estimate():
    samples = sampler(math.nan, 50.0)
    unknown = samples.sample(progress(0))
    assert unknown is not None
    assert not unknown.usable
    estimate = samples.sample(job(1))
    assert estimate is not None
    assert (estimate.items, estimate.usable) == (50, True)


def test_a_size_that_the_job_could_not_tell_is_taken_from_the_progress():
    samples = sampler(math.nan, 50.0)
    samples.sample(job(0))
    confirmed = samples.sample(progress(0))
    assert confirmed is not None
    assert (confirmed.size, confirmed.usable) == (50, True)


@pytest.mark.parametrize("step_s", [-3600.0, 3600.0])
def test_a_batch_in_which_the_clock_was_set_is_marked_and_the_next_is_not(step_s: float):
    clock = ManualClock()
    samples = sampler(clock=clock)
    samples.sample(progress(0))
    clock.step_wall(step_s)
    estimate, confirmed = samples.sample(job(1)), samples.sample(progress(1))
    assert estimate is not None
    assert confirmed is not None
    assert (estimate.status, confirmed.status) == (Status.CLOCK_STEP, Status.CLOCK_STEP)
    clock.advance(60)
    following = samples.sample(progress(2))
    assert following is not None
    assert following.status is Status.OK


def test_memory_is_bounded():
    samples = sampler()
    for batch_id in range(1000):
        samples.sample(job(batch_id))
    assert len(samples._batches) <= 64
