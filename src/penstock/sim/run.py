"""One simulation: a controller, or an oracle, against a plant in virtual time."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.control import registry
from penstock.control.protocol import Controller, asked_at_admission
from penstock.control.sample_value import begin
from penstock.errors import BadInputError
from penstock.patterns.arrivals import Saturated, parse_arrivals
from penstock.patterns.base import FloatArray
from penstock.sample import BatchSample, Decision
from penstock.score import SloMetrics
from penstock.sim import kernel
from penstock.sim.form import KERNEL_ORACLES, ORACLES, check_oracle, form_of, oracle_form
from penstock.sim.load import Load, load_of
from penstock.sim.plant import Plant, load_plant
from penstock.sim.reported import REPORTED, ReportedOracle
from penstock.slo import Metric, Slo

FIRST_SIZE = {"thesis": 10.0}
DEFAULT_SLO = {"thesis": "3 ms ± 5%"}
LIVE_SLO = "1 s ± 10%"
_FIRST_LIVE = 1000.0
MOST_DELAY = 1000

OnDecision = Callable[[int, BatchSample, Decision], None]
"""Called with the batch's number, its sample and the decision on it."""


@dataclass(frozen=True)
class SimSpec:
    """What to simulate. `size` is the first size in items; `noise` a multiple of the plant's; `delay` in batches.

    `admit` is what a size counts: rows, or the declared cost of items, which a source may know before they are
    processed.
    """

    plant: str = "thesis"
    controller: str = registry.DEFAULT
    settings: Mapping[str, Any] = field(default_factory=dict)
    slo: str = DEFAULT_SLO["thesis"]
    items: int | None = None
    seed: int = 1
    delay: int = 0
    noise: float = 1.0
    arrivals: str = "saturated"
    cost: str = "thesis"
    size: float | None = None
    admit: str = "rows"

    @property
    def live(self) -> bool:
        """Whether controllers have the defaults and wrappers of a live query: on every plant but the thesis' own."""
        return self.plant != "thesis"


@dataclass(frozen=True)
class PreparedSim:
    """The parts of a simulation, found good."""

    spec: SimSpec
    slo: Slo
    plant: Plant
    load: Load
    arrival: FloatArray
    size: float

    def controller(self) -> Controller:
        """A new controller."""
        name, settings = self.spec.controller, self.spec.settings
        if name == REPORTED:
            check_oracle(name, self.slo)
            return ReportedOracle(self.slo, self.size, self.plant, self.spec.delay)
        size = self.size if self.sums is None else self.sums[min(int(self.size), len(self.sums) - 1)]
        return registry.create(name, self.slo, size, live=self.spec.live, waits=True, **settings)

    @property
    def sums(self) -> list[float] | None:
        """Running sums of what items are declared to cost; None where rows are counted."""
        return None if self.spec.admit == "rows" else _declared(self.load, self.plant)

    @property
    def form(self) -> list[float] | None:
        """What the kernel needs to know of the controller; None where it does not know it."""
        if self.spec.controller in KERNEL_ORACLES:
            return oracle_form(self.spec.controller, self.slo)
        if self.spec.admit != "rows":
            return None
        return form_of(self.controller(), self.slo)


@dataclass(frozen=True, eq=False)
class SimRun:
    """What came out: one value a batch in each array; times in virtual seconds."""

    slo: Slo
    load: Load
    items: NDArray[np.int64]
    began_s: FloatArray
    ended_s: FloatArray
    arrival: FloatArray

    @cached_property
    def stops(self) -> NDArray[np.int64]:
        """The item after the last one of each batch."""
        return np.cumsum(self.items)

    @cached_property
    def wait_s(self) -> FloatArray:
        """The age of the oldest item of each batch when it was admitted; zero where all items wait from the start."""
        if not self.arrival.size:
            return np.zeros(self.items.size)
        oldest_s: FloatArray = self.arrival[self.stops - self.items]
        return self.began_s - oldest_s

    @cached_property
    def values(self) -> FloatArray:
        """The SLO's measure of each batch."""
        took_s = self.ended_s - self.began_s
        if self.slo.metric is Metric.THROUGHPUT:
            return self.items / took_s
        return took_s + self.wait_s if self.slo.metric is Metric.END_TO_END else took_s

    @cached_property
    def loads(self) -> FloatArray:
        """The mean cost of each batch's items."""
        depth = self.load.depth
        cost: FloatArray = depth[self.stops] - depth[self.stops - self.items]
        return cost / self.items

    @cached_property
    def parts(self) -> NDArray[np.intp]:
        """The number of the part that the middle of each batch is in."""
        return self.load.part_of(self.stops - (self.items + 1) // 2)

    def metrics(self, tolerance: float | None = None, part: str | None = None) -> SloMetrics:
        """Hits and distances of all batches, or of those in a part."""
        values, items = self.values, self.items.astype(np.float64)
        if part is not None:
            here = self.parts == self.load.names.index(part)
            values, items = values[here], items[here]
        return SloMetrics.of(values, items, self.slo, tolerance)

    def samples(self) -> list[BatchSample]:
        """The batches as a journal has them."""
        names = self.load.names
        parts: list[str | None] = [names[part] for part in self.parts] if names else [None] * self.items.size
        columns = (self.items, self.ended_s - self.began_s, self.wait_s, self.began_s, self.loads)
        rows = zip(*(column.tolist() for column in columns), parts, strict=True)
        return [
            BatchSample(number, float(items), items, took_s, wait_s=wait_s, started_s=began_s, load=load, part=part)
            for number, (items, took_s, wait_s, began_s, load, part) in enumerate(rows)
        ]


def prepare(spec: SimSpec) -> PreparedSim:
    """Check a spec and make its parts."""
    slo = Slo.parse(spec.slo)
    plant = load_plant(spec.plant).noisier(spec.noise)
    if not 0 <= spec.delay <= MOST_DELAY:
        raise BadInputError("delay", spec.delay, "not a number of batches", f"give 0 to {MOST_DELAY}")
    if spec.admit not in ("rows", "cost"):
        raise BadInputError("admit", spec.admit, "not a unit of a workload", "write rows or cost")
    if spec.seed < 0:
        raise BadInputError("seed", spec.seed, "not a seed", "give 0 or more")
    load = load_of(load_plant(spec.plant), slo, spec.items, spec.cost)
    size = spec.size if spec.size is not None else FIRST_SIZE.get(spec.plant, _FIRST_LIVE)
    if not (math.isfinite(size) and size >= 1):
        raise BadInputError("size", spec.size, "a batch has at least one item", "give 1 or more")
    arrival = _arrival_s(spec.arrivals, load.costs.size)
    prepared = PreparedSim(spec, slo, plant, load, arrival, float(size))
    if spec.controller in ORACLES and (spec.settings or spec.admit != "rows"):
        raise BadInputError("controller", spec.controller, "an oracle has no settings", f"write {spec.controller}")
    if prepared.form is None:
        prepared.controller()
    return prepared


def simulate(spec: SimSpec, watch: OnDecision | None = None, compiled: bool = False) -> SimRun:
    """Run a spec. With `watch` every decision is told, which only the controller itself can do, and takes longer.

    `compiled` pays from some dozens of runs on: compiling takes a few seconds, once a process.

    >>> run = simulate(SimSpec(controller="faf", items=20_000))
    >>> int(run.items.sum()), run.metrics().i_slh == simulate(SimSpec(controller="faf", items=20_000)).metrics().i_slh
    (20000, True)
    """
    prepared = prepare(spec)
    form = None if watch is not None and spec.controller not in KERNEL_ORACLES else prepared.form
    if form is None:
        with registry.blaming(spec.controller):
            counts, begins, ends = _run_controller(prepared, watch)
    else:
        counts, begins, ends = _run_kernel(prepared, form, compiled)
    return SimRun(
        prepared.slo, prepared.load, np.array(counts, np.int64), np.array(begins), np.array(ends), prepared.arrival
    )


def _run_kernel(prepared: PreparedSim, form: list[float], compiled: bool) -> tuple[Any, Any, Any]:
    plant, load = prepared.plant, prepared.load
    noise, drifts = plant.noise_of(prepared.spec.seed)
    fixed = (prepared.size, prepared.spec.delay)
    if not compiled:
        columns = (*load.lists, prepared.arrival.tolist())
        return kernel.run_batches(
            form, *fixed, *columns, plant.times, plant.shares, plant.places, *_lists(plant, prepared.spec.seed)
        )
    from penstock.sim.compiled import compiled_kernel

    run_batches = compiled_kernel().run_batches
    numbers = np.array(form), *fixed, load.depth, load.volume, prepared.arrival, np.array(plant.times)
    answer: tuple[Any, Any, Any] = run_batches(*numbers, np.array(plant.shares), plant.places, noise, drifts)
    return answer


def _run_controller(prepared: PreparedSim, watch: OnDecision | None) -> tuple[list[int], list[float], list[float]]:
    """The kernel's loop around any controller: each sample is a `BatchSample`, each answer a `Decision`."""
    plant, load, delay = prepared.plant, prepared.load, prepared.spec.delay
    depth, volume = load.lists
    arrival = prepared.arrival.tolist()
    noise, _ = _lists(plant, prepared.spec.seed)
    times, shares = plant.times, plant.shares
    leave, starts = [0.0] * len(shares), [0.0] * (len(shares) * plant.places)
    controller = prepared.controller()
    # A pipeline's source asks as it admits a batch; a query on Spark obeys what was decided before.
    ask = asked_at_admission(controller) if len(shares) > 1 else None
    decision = begin(controller.size)
    samples: list[BatchSample] = []
    counts: list[int] = []
    begins: list[float] = []
    ends: list[float] = []
    sums = prepared.sums
    at, learned, seen, total = 0, 0, 0, load.costs.size
    while at < total:
        now_s = max(leave[0], arrival[at]) if arrival else leave[0]
        while learned < len(samples) - delay and ends[learned] <= now_s:
            decision = controller.decide(samples[learned])
            if watch is not None:
                watch(learned, samples[learned], decision)
            learned += 1
        seen_to = total
        if arrival:
            now_s = max(now_s, _held_until_s(decision, arrival, at, sums))
            while seen < total and arrival[seen] <= now_s:
                seen += 1
            seen_to = seen
        if ask is not None:
            waiting = float(seen_to - at) if sums is None else sums[seen_to] - sums[at]
            decision = ask(now_s, waiting, now_s > leave[0]) or decision
        items = int(decision.size + 0.5) if sums is None else _within(sums, at, decision.size)
        items = min(max(items, 1), seen_to - at)
        cost = depth[at + items] - depth[at]
        work_s = kernel.service(times, items, cost, volume[at + items] - volume[at])
        ends.append(kernel.pass_through(leave, starts, len(counts), now_s, work_s, shares, noise))
        sample = BatchSample(
            batch_id=len(counts),
            size=float(items) if sums is None else sums[at + items] - sums[at],
            items=items,
            processing_s=ends[-1] - now_s,
            wait_s=now_s - arrival[at] if arrival else 0.0,
            started_s=now_s,
            backlog=float(seen_to - at - items),
            load=cost / items,
            part=load.names[bisect_right(load.ends, at + items // 2)] if load.names else None,
        )
        samples.append(sample)
        begins.append(now_s)
        counts.append(items)
        at += items
    return counts, begins, ends


def _within(sums: list[float], at: int, budget: float) -> int:
    """How many items, from `at` on, cost no more than the budget together."""
    return bisect_right(sums, sums[at] + budget, lo=at) - 1 - at


def _held_until_s(decision: Decision, arrival: list[float], at: int, sums: list[float] | None = None) -> float:
    """Until when a batch is held back because it is too small yet: `longest_wait_s`, solved for the time."""
    if not decision.min_size or decision.max_wait_s is None:
        return 0.0
    least = math.ceil(decision.min_size) if sums is None else bisect_left(sums, sums[at] + decision.min_size) - at
    last = min(at + least, len(arrival)) - 1
    due_s, item_s = arrival[at] + decision.max_wait_s, decision.item_s
    if sums is not None:
        item_s *= (sums[last + 1] - sums[at]) / (last + 1 - at)
    # With every arrival the wait and what it counts for grow: the first item whose arrival makes it due, if any does,
    # unless what was queued before it became due by waiting.
    first = bisect_left(range(at, last), due_s, key=lambda index: arrival[index] + item_s * (index + 1 - at))
    return min(arrival[at + first], due_s - item_s * first)


@lru_cache(maxsize=4)
def _declared(load: Load, plant: Plant) -> list[float]:
    # What any item takes on top of its cost is declared with it, as our own source does.
    an_item = plant.an_item_s / plant.volume_s if plant.volume_s else 0.0
    sums: list[float] = (load.depth + an_item * np.arange(load.depth.size)).tolist()
    return sums


@lru_cache(maxsize=4)
def _lists(plant: Plant, seed: int) -> tuple[list[float], list[float]]:
    noise, drifts = plant.noise_of(seed)
    return noise.tolist(), drifts.tolist()


@lru_cache(maxsize=4)
def _arrival_s(arrivals: str, items: int) -> FloatArray:
    parsed = parse_arrivals(arrivals)
    if isinstance(parsed, Saturated):
        return np.empty(0)
    at_s = parsed.arrival_s(np.arange(items))
    if not np.isfinite(at_s[-1]):
        reason = f"the {items} items would never all arrive"
        raise BadInputError("arrivals", arrivals, reason, "let the rate stay above 0")
    return at_s
