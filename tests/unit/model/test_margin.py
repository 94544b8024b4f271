"""A bound is kept with a margin from the machine's own noise, and the margin is no excuse for throughput."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from penstock.control import registry
from penstock.control.percentile import Percentile
from penstock.control.predictive import Predictive
from penstock.control.wrappers import Wrapper
from penstock.model.margin import Margin
from penstock.sim.plant import Plant, load_plant, plant_fields
from penstock.sim.run import SimRun, SimSpec, simulate
from penstock.slo import Slo

P95 = "p95 <= 1 s"
COST = "wave:min=500,max=3k,period=150k"
ITEMS = 150_000


def test_the_margin_grows_with_the_spread_and_with_the_share_that_is_asked_for() -> None:
    goals = [Margin(Slo.parse(f"{name} <= 1 s")).goal(0.1) for name in ("p50", "p90", "p95", "p99")]
    assert goals == sorted(goals, reverse=True)
    assert goals[0] == 1.0
    assert Margin(Slo.parse(P95)).goal(0.2) < goals[2]


def test_a_bound_without_a_percentile_is_kept_as_p95_is() -> None:
    assert Margin(Slo.parse("<= 1 s")).goal(0.1) == Margin(Slo.parse(P95)).goal(0.1)


def test_a_miss_takes_as_much_as_nineteen_hits_give_back() -> None:
    margin = Margin(Slo.parse(P95))
    before = margin.goal(0.1)
    margin.learn(1.01)
    assert margin.goal(0.1) < before
    for _ in range(19):
        margin.learn(1.0)
    assert margin.goal(0.1) == pytest.approx(before)


def test_no_noise_and_no_burst_of_misses_takes_more_than_two_fifths_of_the_bound() -> None:
    margin = Margin(Slo.parse("p99.9 <= 2 s"))
    for _ in range(1000):
        margin.learn(9.0)
    assert margin.goal(0.0) > 0.6 * 2.0
    assert margin.goal(3.0) == pytest.approx(0.6 * 2.0)


def wrappers(controller: object) -> list[type]:
    found = [type(controller)]
    while isinstance(controller, Wrapper):
        controller = controller.inner
        found.append(type(controller))
    return found


def test_a_controller_that_keeps_percentiles_itself_gets_no_second_margin() -> None:
    slo = Slo.parse(P95)
    controller = registry.create("predictive", slo, 100, live=True)
    assert Percentile not in wrappers(controller)
    while isinstance(controller, Wrapper):
        controller = controller.inner
    assert isinstance(controller, Predictive)
    assert controller.slo == slo
    assert Percentile in wrappers(registry.create("predictive", Slo.parse("p95 <= 1 s end-to-end"), 100, live=True))
    assert Percentile in wrappers(registry.create("pmbaf", slo, 100, live=True))


def runs(plant: str, slo: str, seeds: int, controller: str = "predictive", size: float = 1000.0) -> list[SimRun]:
    specs = (SimSpec(plant, controller, slo=slo, items=ITEMS, cost=COST, size=size, seed=seed) for seed in range(seeds))
    return [simulate(spec) for spec in specs]


def drained_s(some: list[SimRun]) -> float:
    return float(np.mean([run.ended_s[-1] for run in some]))


def kept(some: list[SimRun]) -> float:
    return float(np.mean(np.concatenate([run.ended_s - run.began_s for run in some]) <= 1.0))


def test_p95_is_kept_while_the_cost_of_items_swings_six_to_one() -> None:
    ours = runs("spark", P95, seeds=12)
    assert kept(ours) >= 0.95
    # A batch of 1 s has 0.27 s of fixed time there: at the bound itself the factor would be 1.4.
    assert drained_s(ours) < 1.65 * drained_s(runs("spark", "<= 1 h", 6, "fixed", size=1e9))


def test_on_a_busy_machine_p95_costs_hardly_more_throughput_than_its_fixed_time_does(tmp_path: Path) -> None:
    spark, path = load_plant("spark"), tmp_path / "busy.json"
    costs = {"an_item_s": spark.an_item_s, "volume_s": spark.volume_s}
    busy = Plant("busy", a_batch_s=0.4, noise=0.3, memory=0.5, stall_share=0.1, stall=1.0, **costs)
    path.write_text(json.dumps({"plant": plant_fields(busy)}))
    ours = runs(str(path), P95, seeds=6)
    # With 0.4 s of 1 s fixed, a batch at the bound takes 1.7 times as long for its items as plain Spark does.
    assert drained_s(ours) < 3.6 * drained_s(runs(str(path), "<= 1 h", 6, "fixed", size=1e9))
    assert kept(ours) >= 0.92
