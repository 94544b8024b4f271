"""Every registered controller keeps the contract, and every check of the contract catches one that does not."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable

import pytest

from penstock.control.base import BaseController
from penstock.control.faf import Faf
from penstock.control.loop import Gate
from penstock.sample import BatchSample, Decision
from penstock.slo import Slo
from penstock.testing import contract
from penstock.testing.contract import (
    Check,
    breach,
    contract_checks,
    controllers_under_test,
    factory,
    random_samples,
)
from penstock.testing.fakes import FakeGate, LinearPlant, closed_loop
from penstock.testing.settling import measure_settling

SLO = Slo.parse("1 s ± 10%")
WRAPPED = [
    "pid:kp=40%:ki=20%:kd=5%",
    "pbaf:lower=linear:step=10%:sample=3",
    "pmbaf:step=10%:slew=2:warm_up=true:min_size=1:max_size=1M",
]


@pytest.mark.parametrize("check", contract_checks(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("spec", [*controllers_under_test(), *WRAPPED])
def test_contract(spec: str, check: Check) -> None:
    assert breach(check, factory(spec)) is None


class Vanishing(Faf):
    """Goes below one item."""

    def decide(self, sample: BatchSample) -> Decision:
        super().decide(sample)
        self.size = 0.5
        return Decision(0.5, "smaller is better")


class WoundUp(BaseController):
    """Sums errors and never hears that its size was corrected."""

    def __init__(self, slo: Slo, size: float) -> None:
        super().__init__(slo, size)
        self.sum = size

    def plan(self, ratio: float) -> float:
        self.sum += 100 * (1 - ratio)
        return self.sum


class Gullible(Faf):
    """Takes any number for a measure."""

    def decide(self, sample: BatchSample) -> Decision:
        self.size = max(self.size - 10, 1.0) if sample.usable else self.size + 1
        return Decision(self.size, "believed")


class LearnsFromAll(Faf):
    """Keeps the size on an ignored batch, but is changed by it."""

    seen = 0

    def decide(self, sample: BatchSample) -> Decision:
        self.seen += 1
        if sample.usable:
            self.size = 100.0 + self.seen
        return Decision(self.size, "learned")


class NeedsEveryBatch(Faf):
    """Divides by the gap to the batch it expects."""

    expected = 0

    def decide(self, sample: BatchSample) -> Decision:
        gap = sample.batch_id - self.expected
        self.expected += 1
        return super().decide(sample) if gap == 0 else Decision(0.5 / gap, "lost count")


class Moody(Faf):
    """Rolls dice that nobody seeded."""

    def plan(self, ratio: float) -> float:
        return self.size + random.random()


class Shares(Faf):
    """Keeps its past where its copies keep theirs, too."""

    def __init__(self, slo: Slo, size: float) -> None:
        super().__init__(slo, size)
        past = [0.0]

        def count() -> float:
            past[0] += 1
            return past[0]

        # A function is not copied by a deep copy, so what it closes over is shared.
        self.count = count

    def plan(self, ratio: float) -> float:
        return 100 + self.count()


class Silent(Faf):
    """Gives no reason."""

    def decide(self, sample: BatchSample) -> Decision:
        return Decision(super().decide(sample).size, " ")


class Hoarder(Faf):
    """Forgets nothing."""

    def __init__(self, slo: Slo, size: float) -> None:
        super().__init__(slo, size)
        self.past: list[float] = []

    def plan(self, ratio: float) -> float:
        self.past.append(ratio)
        return self.size


class Backwards(Faf):
    """Grows when it should shrink."""

    def plan(self, ratio: float) -> float:
        return self.size * ratio


class Overdue(Faf):
    """Waits longer than the bound."""

    def decide(self, sample: BatchSample) -> Decision:
        decision = super().decide(sample)
        return Decision(decision.size, decision.reason, min_size=decision.size, max_wait_s=2 * self.slo.target)


class WaitsForTheLate(Faf):
    """Holds batches back for longer, the later they are."""

    def decide(self, sample: BatchSample) -> Decision:
        self.size = max(super().decide(sample).size, 200.0)
        return Decision(self.size, "later", min_size=self.size, max_wait_s=0.1 * sample.processing_s)


class Deaf(Faf):
    """Has a size of its own that no assignment reaches."""

    def __init__(self, slo: Slo, size: float) -> None:
        super().__init__(slo, size)
        self.own = size

    def plan(self, ratio: float) -> float:
        return self.own


BROKEN: dict[Callable[[contract.Factory], None], type[Faf] | type[BaseController]] = {
    contract.stays_in_bounds: Vanishing,
    contract.does_not_wind_up_at_a_bound: WoundUp,
    contract.survives_absurd_values: Gullible,
    contract.ignored_batches_train_nobody: LearnsFromAll,
    contract.works_with_late_and_missing_samples: NeedsEveryBatch,
    contract.repeats_itself: Moody,
    contract.copies_are_independent: Shares,
    contract.every_reason_is_one_line_of_text: Silent,
    contract.memory_does_not_grow: Hoarder,
    contract.steers_the_right_way_for_every_objective: Backwards,
    contract.holds_no_batch_past_a_bound: Overdue,
    contract.honours_an_assigned_size: Deaf,
}


@pytest.mark.parametrize("check", contract_checks(), ids=lambda check: check.__name__)
def test_no_check_is_hollow(check: Check) -> None:
    assert breach(check, BROKEN[check])


def test_waiting_longer_when_late_is_the_wrong_way() -> None:
    found = breach(contract.steers_the_right_way_for_every_objective, WaitsForTheLate)
    assert found is not None
    assert found.startswith("at <= 2 s end-to-end: waits")


@pytest.mark.parametrize("spec", controllers_under_test())
def test_a_hundred_thousand_samples_leave_a_controller_as_small_as_a_thousand(spec: str) -> None:
    controller = factory(spec)(SLO, 1000.0)
    samples = list(random_samples(SLO, 1000, seed=1))
    for sample in samples:
        controller.decide(sample)
    before = len(pickle.dumps(controller))
    for _ in range(99):
        for sample in samples:
            controller.decide(sample)
    # What looks for slow cycles has windows that fill slowly; a byte a sample would still be more than that.
    allowed = 80_000 if spec == "predictive" else before + 64
    assert len(pickle.dumps(controller)) <= allowed


def test_settling_is_measured_for_every_controller_and_delay() -> None:
    runs = [measure_settling(spec, delay) for spec in controllers_under_test() for delay in range(6)]
    settled = {(run["controller"], run["delay"]) for run in runs if run["settled_after"] is not None}
    assert {("pmbaf", 0), ("pid", 0), ("pbaf", 0)} <= settled
    assert ("fixed", 0) not in settled


def test_settling_tells_a_calm_controller_from_one_that_swings() -> None:
    calm, swinging = measure_settling("faf", delay=0), measure_settling("faf", delay=5)
    assert calm["settled_after"] == 8
    assert calm["swing"] == 0
    assert swinging["settled_after"] is None
    assert swinging["swing"] > 0.3
    assert swinging["overshoot"] > calm["overshoot"]


def test_a_plant_repeats_itself_by_seed() -> None:
    first, again, other = (LinearPlant(0.1, 0.001, noise=0.1, seed=seed) for seed in (1, 1, 2))
    runs = [[plant.run(100).processing_s for _ in range(20)] for plant in (first, again, other)]
    assert runs[0] == runs[1] != runs[2]
    assert all(0.01 < processing_s <= 0.4 for processing_s in runs[0])


def test_a_loop_loses_the_share_of_samples_it_was_told_to() -> None:
    controller = Faf(Slo.parse("1 s"), 100)
    decisions = [decision for _, decision in closed_loop(controller, LinearPlant(0.1, 0.009), 500, missing=0.3)]
    assert 100 < decisions.count(None) < 200


def test_a_fake_gate_remembers_in_order() -> None:
    gate = FakeGate()
    as_the_loop_sees_it: Gate = gate
    assert gate.size is None
    gate.apply(Decision(10, "first"))
    gate.apply(Decision(20, "second"))
    assert gate.size == 20
    assert [decision.reason for decision in gate.applied] == ["first", "second"]
    as_the_loop_sees_it.restore()
    assert gate.restored
