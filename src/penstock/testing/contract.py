"""The contract that every controller keeps, as checks to run on one's own.

In a plug-in's tests:

    @pytest.mark.parametrize("check", contract_checks(), ids=lambda check: check.__name__)
    @pytest.mark.parametrize("spec", controllers_under_test())
    def test_contract(spec, check):
        check(factory(spec))

A check takes a factory, called with an SLO and a size, and raises `ContractError` where the contract is broken.
All randomness is seeded, so a failure repeats.
"""

from __future__ import annotations

import gc
import json
import math
import random
import re
import tracemalloc
from collections.abc import Callable, Iterable, Iterator

from penstock.control.memory import from_json, restore_to, snapshot_of, to_json
from penstock.control.protocol import Adapts, Change, Controller, tell_change
from penstock.control.registry import create, names, parse_spec
from penstock.control.wrappers import Bounded
from penstock.sample import BatchSample, Decision, Status, longest_wait_s
from penstock.size import LARGEST, SMALLEST
from penstock.slo import Slo
from penstock.testing.fakes import LinearPlant, closed_loop, sample_of

Factory = Callable[[Slo, float], Controller]
Check = Callable[[Factory], None]

OBJECTIVES = tuple(
    Slo.parse(text) for text in ("1 s ± 10%", "3 ms ± 5%", "<= 2 s", "<= 2 s end-to-end", ">= 50k/s", "200/s ± 10%")
)
_HOLD = OBJECTIVES[0]
_BOUND = OBJECTIVES[3]
_START = 1000.0
# Far less than one float a sample over the stretch that is measured, far more than what caches may take.
_LEAK_BYTES = 16_384
_LEAK_SAMPLES = 3_000
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


class ContractError(AssertionError):
    """A controller breaks the contract; the text says how."""


def controllers_under_test() -> list[str]:
    """Every registered controller, as a spec for `factory`."""
    return names()


def factory(spec: str) -> Factory:
    """How to make a registered controller, from its name or a spec as `pmbaf:step=5%`."""
    name, settings = parse_spec(spec)
    return lambda slo, size: create(name, slo, size, **settings)


def breach(check: Check, make: Factory) -> str | None:
    """How a controller breaks the contract, in words, or None where it keeps it."""
    try:
        check(make)
    except ContractError as error:
        return str(error)
    return None


def contract_checks() -> list[Check]:
    """All checks; each one's `__name__` says what it proves."""
    return [
        stays_in_bounds,
        does_not_wind_up_at_a_bound,
        survives_absurd_values,
        ignored_batches_train_nobody,
        works_with_late_and_missing_samples,
        repeats_itself,
        goes_back_to_a_snapshot,
        forgets_what_a_change_made_untrue,
        every_reason_is_one_line_of_text,
        every_reason_starts_with_what_was_decided,
        memory_does_not_grow,
        steers_the_right_way_for_every_objective,
        holds_no_batch_past_a_bound,
        honours_an_assigned_size,
    ]


def stays_in_bounds(make: Factory) -> None:
    """Every size is finite and at least 1, is the size in force, and obeys the bounds of a wrapper."""
    for slo in OBJECTIVES:
        controller = make(slo, _START)
        for sample in random_samples(slo, 300):
            _decide(controller, sample)
        bounded = Bounded(make(slo, _START), min_size=50, max_size=2000)
        for sample in random_samples(slo, 300):
            decision = _decide(bounded, sample)
            _require(50 <= decision.size <= 2000, f"{decision.size} is outside the bounds 50 and 2000")


def does_not_wind_up_at_a_bound(make: Factory) -> None:
    """After a long time at a maximum, the size comes down as soon as after a short one."""
    for slo in (_HOLD, OBJECTIVES[2]):
        waits = []
        for held in (20, 2000):
            controller = Bounded(make(slo, _START), max_size=2000)
            for index in range(held):
                _decide(controller, sample_of(slo, 0.5 * slo.aim, index))
            stayed = 0
            while stayed < 100 and _decide(controller, sample_of(slo, 2 * slo.aim)).size >= 2000:
                stayed += 1
            waits.append(stayed)
        short, long = waits
        _require(long <= short + 5, f"held at a maximum it needs {long} decisions to come down, not {short}: wound up")


def survives_absurd_values(make: Factory) -> None:
    """NaN, infinite, zero and negative measures change nothing; extreme ones give a size that a gate can apply."""
    for slo in OBJECTIVES:
        controller = make(slo, _START)
        for batch_id, value in enumerate((math.nan, math.inf, -math.inf, 0.0, -1.0)):
            before = controller.size
            absurd = BatchSample(batch_id=batch_id, size=100, items=100, processing_s=value, wait_s=0.0)
            decision = _decide(controller, absurd)
            _require(decision.size == before, f"a latency of {value} changed the size to {decision.size}")
        for value in (1e-300, 1e300, 1e-9, 1e9, 1e-300, slo.aim):
            _decide(controller, sample_of(slo, value))
        for size in (1, 10**15):
            _decide(controller, sample_of(slo, slo.aim, size=size))


def ignored_batches_train_nobody(make: Factory) -> None:
    """Warm-up, empty, failed and replayed batches in between leave every other decision as it was."""
    for slo in OBJECTIVES:
        samples = list(random_samples(slo, 100))
        plain = _sizes(make(slo, _START), samples)
        for status in (status for status in Status if status is not Status.OK):
            controller = make(slo, _START)
            for index, sample in enumerate(samples):
                before = controller.size
                ignored = sample_of(slo, slo.aim * (0.1 if index % 2 else 5), index, status=status)
                _require(_decide(controller, ignored).size == before, f"a batch marked {status} changed the size")
                after = _decide(controller, sample).size
                _require(after == plain[index], f"a batch marked {status} changed the decision on the one after it")


def works_with_late_and_missing_samples(make: Factory) -> None:
    """Samples that come 0 to 5 batches late, or never, bring no error and no impossible size."""
    for delay in range(6):
        for missing in (0.0, 0.3):
            plant = LinearPlant(overhead_s=0.1, per_item_s=0.0009, noise=0.05, seed=delay)
            controller = make(_HOLD, _START)
            for _, decision in closed_loop(controller, plant, 100, delay, missing):
                _require(decision is None or _possible(decision.size), f"size {decision and decision.size}")


def repeats_itself(make: Factory) -> None:
    """Two controllers made alike decide alike, also while both are at work."""
    for slo in OBJECTIVES:
        samples = list(random_samples(slo, 200))
        alone = _sizes(make(slo, _START), samples)
        first, second = make(slo, _START), make(slo, _START)
        for index, sample in enumerate(samples):
            together = (_decide(first, sample).size, _decide(second, sample).size)
            _require(together == (alone[index],) * 2, f"sample {index}: {together} now, {alone[index]} before")


def goes_back_to_a_snapshot(make: Factory) -> None:
    """Restored from a snapshot, also from one that was a file, it decides as it did then, whatever it saw since."""
    for slo in OBJECTIVES:
        samples = list(random_samples(slo, 150))
        controller = make(slo, _START)
        _sizes(controller, samples[:50])
        try:
            snapshot = snapshot_of(controller)
            kept = json.dumps(snapshot, default=to_json)
        except TypeError as error:
            raise ContractError(f"no snapshot of it can be kept: {error}") from error
        first = _sizes(controller, samples[50:100])
        _sizes(controller, samples[100:])
        restore_to(controller, snapshot)
        _require(_sizes(controller, samples[50:100]) == first, "restored from a snapshot it decides otherwise")
        other = make(slo, _START)
        restore_to(other, json.loads(kept, object_hook=from_json))
        _require(_sizes(other, samples[50:100]) == first, "restored from a file it decides otherwise")


def forgets_what_a_change_made_untrue(make: Factory) -> None:
    """After `changed` the size stays, and one that learns is soon where a new one is that begins with that size."""
    for slo in (_HOLD, OBJECTIVES[2]):
        controller = make(slo, _START)
        for sample, _ in closed_loop(controller, LinearPlant(overhead_s=0.1, per_item_s=0.004, noise=0.02), 60):
            _require(sample.size >= 1, "no batch")
        before = controller.size
        tell_change(controller, Change("width", "4", "a check of the contract"))
        _require(controller.size == before, f"a change moved the size from {before} to {controller.size}")
        if not isinstance(controller, Adapts):
            continue
        fresh, other = make(slo, before), LinearPlant(overhead_s=0.2, per_item_s=0.001)
        for each in (controller, fresh):
            for _ in closed_loop(each, other, 12):
                pass
        ratio = controller.size / fresh.size
        _require(2 / 3 < ratio < 3 / 2, f"12 batches after a change the size is {ratio:.2f} of that of a new one")


def every_reason_is_one_line_of_text(make: Factory) -> None:
    """Each decision says why in one short line, also where nothing changes."""
    for slo in OBJECTIVES:
        controller = make(slo, _START)
        samples = [*random_samples(slo, 50), sample_of(slo, slo.aim), sample_of(slo, slo.aim, status=Status.EMPTY)]
        for sample in samples:
            reason: object = _decide(controller, sample).reason
            one_line = isinstance(reason, str) and reason.strip() and "\n" not in reason and len(reason) <= 300
            _require(bool(one_line), f"no reason in one line of text: {reason!r}")


def every_reason_starts_with_what_was_decided(make: Factory) -> None:
    """The size comes before the first colon, to 1% or better, or "no limit"; why it was decided comes after it."""
    for slo in OBJECTIVES:
        controller = make(slo, _START)
        samples = [*random_samples(slo, 50), sample_of(slo, slo.aim), sample_of(slo, slo.aim, status=Status.EMPTY)]
        for sample in samples:
            decision = _decide(controller, sample)
            decided, _, why = decision.reason.partition(": ")
            numbers = [float(number.replace(",", "")) for number in _NUMBER.findall(decided)]
            named = any(math.isclose(number, decision.size, rel_tol=0.01) for number in numbers)
            unlimited = decision.size >= LARGEST and "no limit" in decided
            _require(bool(why), f"no 'what was decided: why' in {decision.reason!r}")
            _require(named or unlimited, f"decided {decision.size:g}, but the reason starts with {decided!r}")


def memory_does_not_grow(make: Factory) -> None:
    """What a controller keeps is bounded: once its windows are full, more samples take no more memory."""
    controller = make(_HOLD, _START)
    was_tracing = tracemalloc.is_tracing()
    _feed(controller, 2 * _LEAK_SAMPLES, seed=1)
    if not was_tracing:
        tracemalloc.start()
    try:
        # What was there before is not traced, and seems to grow while it is replaced.
        _feed(controller, _LEAK_SAMPLES // 2, seed=2)
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        _feed(controller, _LEAK_SAMPLES, seed=3)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        if not was_tracing:
            tracemalloc.stop()
    grown = after - before
    _require(grown <= _LEAK_BYTES, f"{_LEAK_SAMPLES} samples took {grown} bytes that were not given back")


def steers_the_right_way_for_every_objective(make: Factory) -> None:
    """A value that stays far below the aim never ends with a smaller size than one that stays far above.

    Under a bound on the end-to-end latency the same goes for how long a batch is held back.
    """
    for slo in OBJECTIVES:
        ends = []
        for share in (0.3, 3.0):
            controller = make(slo, _START)
            for index in range(200):
                decision = _decide(controller, sample_of(slo, share * slo.aim, index))
            ends.append((controller.size, _held_s(decision)))
        (below, held_below_s), (above, held_above_s) = ends
        _require(below >= above, f"at {slo}: {below:g} after low values, {above:g} after high ones")
        waits = f"at {slo}: waits {held_below_s:g} s after low values, {held_above_s:g} s after high ones"
        _require(slo != _BOUND or held_below_s >= held_above_s, waits)


def holds_no_batch_past_a_bound(make: Factory) -> None:
    """Under a bound on the end-to-end latency, no decision lets even the first item wait for longer than the bound."""
    controller = make(_BOUND, _START)
    for sample in random_samples(_BOUND, 300):
        held_s = _held_s(_decide(controller, sample), queued=0.0)
        _require(held_s <= _BOUND.target, f"at {_BOUND}: a batch may be held back for {held_s:g} s")


def honours_an_assigned_size(make: Factory) -> None:
    """A size assigned from outside is in force at once, and the next decision starts from it."""
    for slo in OBJECTIVES:
        controller = make(slo, _START)
        _sizes(controller, random_samples(slo, 50))
        controller.size = assigned = 20_000.0
        _require(controller.size == assigned, f"assigned {assigned:g}, in force {controller.size:g}")
        kept = _decide(controller, sample_of(slo, slo.aim, status=Status.EMPTY)).size
        _require(kept == assigned, f"assigned {assigned:g}, decided {kept:g} on an ignored batch")
        near = _decide(controller, sample_of(slo, slo.aim, size=int(assigned))).size
        _require(0.9 * assigned <= near <= 1.1 * assigned, f"assigned {assigned:g}, then at the aim decided {near:g}")


def random_samples(slo: Slo, count: int, seed: int = 0) -> Iterator[BatchSample]:
    """Values from a hundredth of the aim to a hundred times it, most of them near it, in batches of 1 to 10,000."""
    source = random.Random(seed)
    for batch_id in range(count):
        spread = 4.6 if source.random() < 0.2 else 0.5
        value = slo.aim * math.exp(source.uniform(-spread, spread))
        yield sample_of(slo, value, batch_id, size=round(math.exp(source.uniform(0, 9.2))))


def _feed(controller: Controller, count: int, seed: int) -> None:
    for sample in random_samples(_HOLD, count, seed):
        controller.decide(sample)


def _sizes(controller: Controller, samples: Iterable[BatchSample]) -> list[float]:
    return [_decide(controller, sample).size for sample in samples]


def _decide(controller: Controller, sample: BatchSample) -> Decision:
    decision = controller.decide(sample)
    _require(_possible(decision.size), f"no batch can have the size {decision.size}")
    in_force = controller.size
    _require(in_force == decision.size, f"decided {decision.size:g}, but the size in force is {in_force:g}")
    return decision


def _held_s(decision: Decision, queued: float = 100.0) -> float:
    return longest_wait_s(queued, decision.min_size, decision.max_wait_s, decision.item_s)


def _possible(size: float) -> bool:
    return SMALLEST <= size <= LARGEST


def _require(kept: bool, otherwise: str) -> None:
    if not kept:
        raise ContractError(otherwise)
