"""A backlog is no reason to shrink."""

from __future__ import annotations

import pytest

from penstock.control import registry
from penstock.control.draining import Draining
from penstock.control.fixed import Fixed
from penstock.control.pmbaf import Pmbaf
from penstock.sample import BatchSample, Decision, Status
from penstock.slo import Slo
from penstock.testing.contract import Check, breach, contract_checks
from penstock.testing.fakes import LinearPlant
from penstock.testing.queueing import queue_loop

SLO = Slo.parse("<= 5 s end-to-end")


class Recorder(Fixed):
    """Keeps the waits it was shown."""

    def __init__(self) -> None:
        super().__init__(SLO, 100)
        self.seen: list[float | None] = []

    def decide(self, sample: BatchSample) -> Decision:
        self.seen.append(sample.wait_s)
        return super().decide(sample)


def shown(*batches: tuple[float | None, float | None], status: Status = Status.OK) -> list[float | None]:
    """The waits that reach the inner controller, for batches of 2 s with these waits and backlogs."""
    inner = Recorder()
    controller = Draining(inner)
    for number, (wait_s, backlog) in enumerate(batches):
        controller.decide(BatchSample(number, 100, 100, 2.0, wait_s=wait_s, backlog=backlog, status=status))
    return inner.seen


def test_the_wait_of_a_batch_that_left_little_counts_as_that_for_its_predecessor() -> None:
    assert shown((60.0, 50)) == [2.0]


def test_behind_a_long_backlog_the_whole_bound_is_for_processing() -> None:
    assert shown((60.0, 1000)) == [0.0]


def test_a_shorter_wait_stays_as_it_is() -> None:
    assert shown((1.5, 50)) == [1.5]
    assert shown((1.5, 1000)) == [0.0]


def test_the_last_batch_of_a_backlog_waited_for_the_others_and_the_one_after_it_did_not() -> None:
    assert shown((60.0, 1000), (58.0, 0), (3.0, 0)) == [0.0, 2.0, 3.0]


def test_without_a_backlog_a_long_wait_is_the_controllers_business() -> None:
    assert shown((4.0, 0), (4.0, None), (None, 1000)) == [4.0, 4.0, None]


def test_an_ignored_batch_is_passed_on_and_leaves_no_trace() -> None:
    assert shown((60.0, 1000), status=Status.WARM_UP) == [60.0]
    inner = Recorder()
    controller = Draining(inner)
    controller.decide(BatchSample(0, 100, 100, 2.0, wait_s=60.0, backlog=1000, status=Status.FAILED))
    controller.decide(BatchSample(1, 100, 100, 2.0, wait_s=6.0, backlog=0))
    assert inner.seen == [60.0, 6.0]


def test_the_reason_says_whose_wait_it_was() -> None:
    reason = Draining(Fixed(SLO, 100)).decide(BatchSample(0, 100, 100, 2.0, wait_s=60.0, backlog=9)).reason
    assert reason.endswith("; its wait of 60 s is the backlog's and counts as 2 s")


@pytest.mark.parametrize("name", ["pmbaf", "pid", "das", "least-squares", "predictive"])
def test_after_an_outage_no_batch_shrinks_and_the_backlog_drains(name: str) -> None:
    # Two minutes of items wait when the query comes back; a batch of 4,000 takes a second.
    arrivals_s = [index / 1000 for index in range(240_000)]
    controller = registry.create(name, SLO, 4000, live=True, waits=False)
    batches = queue_loop(controller, LinearPlant(0.2, 0.0002, noise=0.05), arrivals_s, starts_s=120.0)
    draining = [batch for batch in batches if batch.backlog]
    assert min(batch.items for batch in draining) >= 4000
    late = [batch for batch in batches if batch.started_s is not None and batch.started_s > 180]
    assert all((batch.end_to_end_s or 0) <= 5.0 for batch in late)


def test_without_it_the_same_outage_makes_batches_tiny() -> None:
    arrivals_s = [index / 20 for index in range(4800)]
    batches = queue_loop(Pmbaf(SLO, 400, step="50%"), LinearPlant(0.2, 0.01), arrivals_s, starts_s=120.0)
    assert min(batch.items for batch in batches[:20]) == 1


def test_it_is_there_for_every_live_end_to_end_objective_and_no_other() -> None:
    assert isinstance(registry.create("pmbaf", SLO, 100, live=True), Draining)
    assert isinstance(registry.create("pmbaf", Slo.parse("5 s ± 10% end-to-end"), 100, live=True), Draining)
    assert not isinstance(registry.create("pmbaf", Slo.parse("<= 5 s"), 100, live=True), Draining)
    assert not isinstance(registry.create("pmbaf", SLO, 100), Draining)


@pytest.mark.parametrize("check", contract_checks(), ids=lambda check: check.__name__)
def test_contract(check: Check) -> None:
    assert breach(check, lambda slo, size: Draining(Pmbaf(slo, size))) is None


@pytest.mark.parametrize("name", ["predictive", "pmbaf", "pid", "das", "faf"])
def test_where_no_size_keeps_the_bound_the_backlog_is_not_made_to_grow(name: str) -> None:
    # The fixed cost alone, waited for and processed, is beyond the bound; a batch of 2,000 keeps up with what comes.
    bound = Slo.parse("<= 2.5 s end-to-end")
    arrivals_s = [index / 1000 for index in range(240_000)]
    controller = registry.create(name, bound, 1000, live=True, waits=False)
    batches = queue_loop(controller, LinearPlant(1.4, 0.0002, noise=0.05), arrivals_s)
    assert max(batch.backlog or 0 for batch in batches[len(batches) // 2 :]) < 10_000


def test_a_size_that_was_seen_to_drain_slowly_is_not_taken_again_while_there_is_a_backlog() -> None:
    inner = Recorder()
    controller = Draining(inner)
    for number, (size, processing_s) in enumerate(((1000, 1.0), (400, 0.9))):
        inner.size = 300.0
        decision = controller.decide(BatchSample(number, size, size, processing_s, wait_s=60.0, backlog=9000))
    assert (decision.size, inner.size) == (1000, 1000)
    assert decision.reason.endswith("but that drains too slowly: 1,000")
    inner.size = 300.0
    assert controller.decide(BatchSample(2, 400, 400, 0.9, wait_s=60.0, backlog=0)).size == 300
