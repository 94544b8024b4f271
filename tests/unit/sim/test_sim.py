"""The simulator: the kernel, its two executions, the plants and the oracles."""

from __future__ import annotations

import hashlib
import json
import statistics
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from penstock.control import registry
from penstock.errors import BadInputError, UnsupportedError
from penstock.sample import BatchSample
from penstock.sim import kernel
from penstock.sim.form import KERNEL_ORACLES, ORACLES, form_of
from penstock.sim.plant import Plant, load_plant, plant_of
from penstock.sim.reported import ReportedOracle
from penstock.sim.run import SimRun, SimSpec, prepare, simulate
from penstock.sim.thesis import latency_s
from penstock.slo import Slo

QUICK = SimSpec(controller="pmbaf", items=20_000)
SPARK = SimSpec(plant="spark", controller="pmbaf", slo="1 s ± 10%", items=300_000)
IN_KERNEL = [
    ("fixed", {}),
    ("faf", {"step": 5}),
    ("pbaf", {"step": 10, "sample": 5}),
    ("pbaf", {"step": "20%", "lower": "linear"}),
    ("pbaf-wt", {"step": 5}),
    ("mbaf", {"step": 5}),
    ("pmbaf", {"step": 10}),
    ("pmbaf", {"step": 10, "lower": "linear", "sample": 3}),
    ("pid", {}),
    ("pid", {"kp": 0, "ki": 5, "kd": 0.5}),
]


def same(one: SimRun, other: SimRun) -> bool:
    return np.array_equal(one.items, other.items) and np.array_equal(one.ended_s, other.ended_s)


@pytest.mark.parametrize(("name", "settings"), IN_KERNEL)
@pytest.mark.parametrize("delay", [0, 3])
def test_the_kernel_decides_as_the_controller_does(name: str, settings: dict[str, object], delay: int):
    spec = replace(QUICK, controller=name, settings=settings, delay=delay)
    assert prepare(spec).form is not None
    by_controller = simulate(spec, watch=lambda number, sample, decision: None)
    assert same(simulate(spec), by_controller)


def test_the_kernel_decides_as_the_controller_does_on_waiting_items_and_an_end_to_end_objective():
    spec = SimSpec(
        controller="pmbaf", slo="4 ms ± 10% end-to-end", items=5_000, arrivals="wave:min=2k,max=60k,period=0.1s"
    )
    assert same(simulate(spec), simulate(spec, watch=lambda number, sample, decision: None))


def test_compiled_and_interpreted_agree_to_the_last_bit():
    pytest.importorskip("numba")
    specs = [replace(QUICK, controller=name, settings=settings, delay=1) for name, settings in IN_KERNEL]
    specs += [replace(QUICK, controller=name) for name in KERNEL_ORACLES]
    specs += [replace(QUICK, controller="oracle", slo="4 ms ± 10% e2e", arrivals="constant:rate=30k/s")]
    for spec in specs:
        assert same(simulate(spec), simulate(spec, compiled=True)), spec


def test_a_controller_that_the_kernel_does_not_know_runs_itself():
    slo = Slo.parse("1 s ± 10%")
    for name, settings in (("pid", {"kp": "10%", "ki": "20%", "kd": "0%"}), ("faf", {"max_size": 50}), ("das", {})):
        assert form_of(registry.create(name, slo, 10, **settings), slo) is None
    faf = registry.create("faf", slo, 10)
    assert form_of(type("Faf2", (type(faf),), {})(slo, 10), slo) is None
    assert form_of(faf, Slo.parse(">= 5k/s")) is None


@pytest.mark.parametrize("spec", [QUICK, SPARK, replace(QUICK, controller="das"), replace(SPARK, controller="oracle")])
def test_a_seed_repeats_and_another_differs(spec: SimSpec):
    assert same(simulate(spec), simulate(spec))
    assert not same(simulate(spec), simulate(replace(spec, seed=2)))


@pytest.mark.parametrize("controller", ["fixed", "pmbaf", "das", "oracle", "oracle-causal", "oracle-reported"])
@pytest.mark.parametrize("arrivals", ["saturated", "binary:min=2k,max=40k,period=2s"])
def test_every_item_is_processed_once_and_never_before_it_arrived(controller: str, arrivals: str):
    run = simulate(replace(SPARK, controller=controller, arrivals=arrivals))
    assert run.items.sum() == run.load.costs.size
    assert run.items.min() >= 1
    assert (run.ended_s > run.began_s).all()
    assert (np.diff(run.began_s) >= 0).all()
    assert (run.wait_s >= 0).all()
    if arrivals != "saturated":
        assert (run.began_s >= run.arrival[run.stops - 1]).all()


def test_one_stage_does_one_batch_at_a_time():
    run = simulate(SPARK)
    assert (run.began_s[1:] >= run.ended_s[:-1]).all()


def test_the_pipeline_follows_a_hand_computed_example():
    # Two stages of 1 s and 3 s with one place between them; three batches.
    leave, starts, shares, quiet = [0.0, 0.0], [0.0, 0.0], (0.25, 0.75), [1.0]
    ends = []
    for batch in range(4):
        began_s = leave[0]
        ends.append((began_s, kernel.pass_through(leave, starts, batch, began_s, 4.0, shares, quiet)))
    # Batch 1 waits in the queue from 2 to 4; batch 2 leaves stage one at 4, when batch 1 starts; batch 3 at 7.
    assert ends == [(0.0, 4.0), (1.0, 7.0), (2.0, 10.0), (4.0, 13.0)]


def test_late_feedback_is_late():
    first_size = simulate(replace(SPARK, controller="faf", size=1000)).items
    late = simulate(replace(SPARK, controller="faf", size=1000, delay=4)).items
    assert first_size[1] != 1000
    assert (late[:5] == 1000).all()
    assert late[5] != 1000


def test_the_thesis_plant_has_the_published_facts_when_it_runs():
    plant = load_plant("thesis")

    def fixed(size: int, cost: str = "thesis", items: int = 200_000) -> SimRun:
        return simulate(SimSpec(controller="fixed", size=size, items=items, cost=cost))

    def rate(run: SimRun) -> float:
        return float(run.items.sum() / run.ended_s[-1])

    # Under its own noise and stalls: a light item, 300 of them, and a heavy one.
    assert np.median(fixed(1, f"constant:value={plant.low_cost}", 20_000).values) == pytest.approx(0.15e-3, rel=0.02)
    assert np.median(fixed(300, f"constant:value={plant.low_cost}", 600_000).values) == pytest.approx(3e-3, rel=0.02)
    assert np.median(fixed(1, f"constant:value={plant.high_cost}", 20_000).values) == pytest.approx(3e-3, rel=0.02)
    single, at_115, at_500 = fixed(1), fixed(115), fixed(500)
    # Up to 25 times the throughput of single items; beyond 115, where the knee is, at most a sixth is left to gain.
    assert rate(at_500) / rate(single) == pytest.approx(25, rel=0.05)
    assert 0.83 < rate(at_115) / rate(at_500) < 1.0
    # Single items are seen to take up to about 5 ms, one in a thousand left out.
    assert np.quantile(single.values, 0.999) == pytest.approx(5e-3, rel=0.1)
    # Feedback is late because several batches are in flight.
    at_100 = fixed(100)
    in_flight = at_100.values.mean() * at_100.items.size / at_100.ended_s[-1]
    assert in_flight == pytest.approx(8, abs=0.5)


def test_the_steady_state_of_the_pipeline_is_the_formula_of_its_latency():
    plant = replace(load_plant("thesis"), noise=0.0, stall_share=0.0)
    leave, starts = [0.0] * len(plant.shares), [0.0] * (len(plant.shares) * plant.places)
    for batch in range(50):
        began_s = leave[0]
        ended_s = kernel.pass_through(leave, starts, batch, began_s, plant.ideal_s(20, 3.0), plant.shares, [1.0])
    assert ended_s - began_s == pytest.approx(latency_s(plant, 20, 3.0))


@pytest.mark.parametrize("spec", [replace(QUICK, items=50_000), replace(SPARK, items=1_500_000)])
def test_no_controller_beats_the_oracles_it_should_not_beat(spec: SimSpec):
    def hits(controller: str) -> NDArray[np.float64]:
        runs = [simulate(replace(spec, controller=controller, seed=seed)) for seed in (1, 2, 3)]
        return np.array([sum(run.metrics(tolerance).i_slh or 0.0 for run in runs) for tolerance in (0.05, 0.2)])

    oracle, causal = hits("oracle"), hits("oracle-causal")
    assert (oracle > causal).all()
    for name in registry.names():
        assert (hits(name) < causal).all(), name


def test_without_noise_the_oracle_hits_wherever_a_batch_can():
    run = simulate(replace(SPARK, controller="oracle", noise=0.0))
    # All but the first batches, before anything is known, and the last, which takes what is left.
    assert (np.abs(run.values[2:-1] - 1.0) < 0.01).mean() > 0.99


@pytest.mark.parametrize("controller", ["oracle-causal", "oracle-reported"])
def test_these_oracles_know_nothing_of_costs_to_come(controller: str):
    quiet = replace(SPARK, controller=controller, noise=0.0, cost="binary:min=500,max=5k,period=400k")
    run = simulate(quiet)
    jump = int(np.searchsorted(run.stops, 200_000))
    assert run.values[jump - 1] == pytest.approx(1.0, rel=0.01)
    assert run.values[jump] > 1.5
    assert run.values[jump + 2] == pytest.approx(1.0, rel=0.01)


def test_the_oracle_of_reports_lives_with_a_plant_whose_items_cost_nothing():
    oracle = ReportedOracle(Slo.parse("1 s ± 10%"), 10, Plant("fixed", a_batch_s=0.5))
    assert np.isfinite(oracle.decide(BatchSample(0, 10, 10, 0.5, load=1.0)).size)


@pytest.mark.parametrize("delay", [0, 3])
def test_where_nothing_overlaps_the_oracle_of_reports_is_as_good_as_the_causal_one(delay: int):
    steady = replace(SPARK, cost="constant:value=500", items=5_000_000, delay=delay)
    reported, causal = (simulate(replace(steady, controller=name)) for name in ("oracle-reported", "oracle-causal"))
    assert reported.metrics().i_slh == pytest.approx(causal.metrics().i_slh, abs=2.0)


@pytest.mark.parametrize("controller", ORACLES)
def test_an_oracle_has_no_settings_and_needs_a_latency_to_hold(controller: str):
    with pytest.raises(BadInputError, match="no settings"):
        prepare(replace(SPARK, controller=controller, settings={"step": 5}))
    with pytest.raises(UnsupportedError, match="to hold"):
        prepare(replace(SPARK, controller=controller, slo="<= 1 s"))


def test_noise_can_be_doubled_and_switched_off():
    def spread(noise: float) -> float:
        run = simulate(replace(SPARK, controller="fixed", size=2000, noise=noise, cost="constant:value=500"))
        return float(np.log(run.values[:-1]).std())

    assert spread(0.0) == pytest.approx(0.0, abs=1e-9)
    assert spread(2.0) > 1.5 * spread(1.0)


def test_a_lasting_noise_lasts_and_its_median_is_one():
    noise, drifts = Plant("p", a_batch_s=1.0, noise=0.1, memory=0.6).noise_of(seed=3)
    logs = np.log(drifts)
    assert np.corrcoef(logs[1:], logs[:-1])[0, 1] == pytest.approx(0.6, abs=0.01)
    assert logs.std() == pytest.approx(0.1, rel=0.02)
    assert np.median(noise) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"plant": "moon"}, "plant"),
        ({"plant": "nowhere.json"}, "plant"),
        ({"items": 0}, "items"),
        ({"delay": -1}, "delay"),
        ({"noise": -1.0}, "noise"),
        ({"noise": float("nan")}, "noise"),
        ({"seed": -1}, "seed"),
        ({"size": 0.5}, "size"),
        ({"cost": "constant:value=0"}, "cost"),
        ({"controller": "pmbuf"}, "controller"),
        ({"controller": "oracle", "settings": {"step": 1}}, "controller"),
        ({"arrivals": "trace:x"}, ""),
        ({"slo": "soon"}, "slo"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(change: dict[str, object], field: str):
    with pytest.raises(BadInputError) as caught:
        simulate(replace(QUICK, **change))  # type: ignore[arg-type]
    assert field in str(caught.value)


@pytest.mark.parametrize("slo", [">= 5k/s", "5k/s ± 10%", "<= 3 ms"])
def test_an_oracle_is_refused_where_it_would_limit_nobody(slo: str):
    with pytest.raises(UnsupportedError, match="latency"):
        simulate(replace(QUICK, controller="oracle", slo=slo))


def test_a_limit_that_grows_without_bound_is_held_where_the_controller_holds_it():
    spec = replace(QUICK, controller="faf", settings={"step": "20%"}, items=8_000, arrivals="constant:rate=1k/s")
    assert same(simulate(spec), simulate(spec, watch=lambda number, sample, decision: None))


def test_the_oracle_chooses_as_a_search_of_all_sizes_would():
    spec = SimSpec("spark", "oracle", slo="1 s ± 10%", items=40_000, noise=0.0)
    prepared, run = prepare(spec), simulate(spec)
    depth, times = prepared.load.depth, prepared.plant.times
    for start, items in zip((run.stops - run.items)[:-1].tolist(), run.items[:-1].tolist(), strict=True):
        sizes = np.arange(1, run.load.costs.size - start + 1)
        took_s = times[0] + times[1] * sizes + times[3] * (depth[start + sizes] - depth[start])
        assert sizes[np.abs(took_s - 1.0).argmin()] == items


def test_a_throughput_objective_runs():
    assert simulate(replace(SPARK, controller="pmbaf", slo=">= 5k/s")).metrics().i_slh is not None


def test_the_committed_plant_says_from_what_and_when_it_was_fitted():
    from importlib import resources

    fields = json.loads(resources.files("penstock.sim").joinpath("spark.json").read_text())
    assert fields["batches"] > 300
    assert fields["fitted"] >= fields["measured"][-1]
    # Frozen: a change of any parameter is a new plant, and needs a new name.
    assert plant_of(fields, "spark.json") == load_plant("spark")
    assert hashlib.sha256(json.dumps(fields["plant"], sort_keys=True).encode()).hexdigest()[:16] == "18ec7a12661a8399"


@pytest.mark.parametrize("delay", [0, 2])
@pytest.mark.parametrize("controller", ["pmbaf", "pid"])
def test_the_simulator_agrees_with_the_loop_written_naively(controller: str, delay: int):
    from penstock.bench.measures.naive_sim import naive_run

    prepared = prepare(replace(QUICK, controller=controller, delay=delay))
    noise, _ = prepared.plant.noise_of(prepared.spec.seed)
    naive = naive_run(prepared.controller(), prepared.plant, prepared.load.costs.tolist(), noise.tolist(), delay)
    run = simulate(prepared.spec)
    assert [items for items, _, _ in naive] == run.items.tolist()
    assert [ended_s for _, _, ended_s in naive] == pytest.approx(run.ended_s.tolist(), rel=1e-9)


def test_admitted_by_cost_a_change_of_load_is_met_in_the_batch_where_it_happens() -> None:
    by_rows = replace(SPARK, controller="predictive", cost="binary:min=256,max=7525,period=100k", items=600_000)
    hits, distances = {}, {}
    for admit in ("rows", "cost"):
        runs = [simulate(replace(by_rows, admit=admit, seed=seed)).metrics() for seed in range(1, 7)]
        hits[admit] = statistics.mean(run.i_slh or 0.0 for run in runs)
        distances[admit] = statistics.mean(run.mad_d or 0.0 for run in runs)
    assert hits["cost"] > hits["rows"] + 15
    assert distances["cost"] < distances["rows"] / 2


def test_every_item_is_admitted_once_by_cost_too() -> None:
    spec = replace(SPARK, admit="cost", arrivals="wave:min=2k,max=9k,period=30s", items=60_000)
    assert simulate(spec).items.sum() == 60_000
    assert simulate(replace(spec, slo="<= 5 s end-to-end")).items.sum() == 60_000


def test_a_fixed_cost_admits_as_many_items_as_fit_and_at_least_one() -> None:
    spec = replace(SPARK, controller="fixed", cost="binary:min=256,max=7525,period=10k", items=20_000, admit="cost")
    plant = load_plant("spark")
    declared = 256 + plant.an_item_s / plant.volume_s
    run = simulate(replace(spec, size=10.5))
    assert run.items[0] == 10
    assert simulate(replace(spec, size=1.0)).items.max() == 1
    assert run.loads[0] * run.items[0] + 10 * (declared - 256) == pytest.approx(10 * declared)


def test_admission_in_another_unit_is_refused() -> None:
    with pytest.raises(BadInputError, match="write rows or cost"):
        simulate(replace(SPARK, admit="bytes"))
    with pytest.raises(BadInputError, match="oracle has no settings"):
        simulate(replace(SPARK, controller="oracle", admit="cost"))
