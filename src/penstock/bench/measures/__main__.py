"""`make bench`: what Penstock costs and gains on this machine, each ratio measured side by side in one run.

Prints a line for each measure and writes `bench.json`: name -> {ours, peer, ratio, unit, command}. A new measure is a
function that returns `Measure`s, and a line in `MEASURES`. Windows take most of the time; `--only` leaves out the rest,
and `--quick` makes of them a first look.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from penstock.bench.measures import fixed_cost
from penstock.bench.measures.measure import Measure
from penstock.bench.run import RunSpec, prepare, run
from penstock.bench.session import session
from penstock.json_file import write_json

COMMAND = "make bench"


def fixed_costs() -> Iterator[Measure]:
    """The fixed cost of a batch: `fast`, also with its opt-in, against default Spark; more settings against `fast`."""
    medians = fixed_cost.compare(["default", "fast", fixed_cost.RAW, *fixed_cost.EXTRAS], rounds=2, progress=_say)
    yield Measure("batch_fixed_cost", medians["fast"], medians["default"], "ms", "profile fast / default Spark")
    raw = f"fast with {fixed_cost.RAW} / default Spark"
    yield Measure(f"batch_fixed_cost.{fixed_cost.RAW}", medians[fixed_cost.RAW], medians["default"], "ms", raw)
    for name in fixed_cost.EXTRAS:
        yield Measure(f"batch_fixed_cost.{name}", medians[name], medians["fast"], "ms", f"fast + {name} / fast")


def control_cost() -> Iterator[Measure]:
    """Penstock's own work in a batch of 1 s: monitor, controller, gate and journal."""
    _say("a run of Military Server, class test, for the cost of control")
    with tempfile.TemporaryDirectory() as folder:
        summary = run(RunSpec("military", "test"), Path(folder))
    batch_ms = 1e3 * summary["batch_latency_s"]["mean"]
    yield Measure("control_per_batch", summary["control"]["mean_ms"], batch_ms, "ms", "our work / trigger time")


def military_kernels(rounds: int = 7) -> Iterator[Measure]:
    """The Military kernels on one batch of about 1 s: as a Spark job, against the same kernels in two threads."""
    from concurrent.futures import ThreadPoolExecutor

    from penstock.apps.military.stages import STAGES
    from penstock.stages.arrow import record_batch
    from penstock.stages.stage import run_stages

    prepared = prepare(RunSpec("military", "test"))
    middle = (prepared.workload.items or 0) // 2
    batches = [record_batch(prepared.workload.columns(at, at + 4000)) for at in range(middle, middle + 32_000, 4000)]
    outside, inside = [], []
    with session("local[2]") as spark, ThreadPoolExecutor(2) as threads:
        import pyarrow as pa

        items = spark.createDataFrame(pa.Table.from_batches(batches)).repartition(2).cache()
        items.count()
        results = prepared.app.pipeline(items)
        for number in range(rounds + 2):
            _say(f"kernels inside and outside Spark, round {number + 1} of {rounds + 2}")
            began_s = time.perf_counter()
            list(threads.map(lambda batch: list(run_stages(STAGES, [batch])), batches))
            middle_s = time.perf_counter()
            results.write.format("noop").mode("overwrite").save()
            if number >= 2:  # the first rounds warm both sides
                outside.append(middle_s - began_s)
                inside.append(time.perf_counter() - middle_s)
    yield Measure(
        "military_kernels",
        1e3 * statistics.median(inside),
        1e3 * statistics.median(outside),
        "ms",
        "one Spark job / the same kernels in two threads",
    )


def simulator(rounds: int = 3) -> Iterator[Measure]:
    """Batches a second of the simulator, compiled and interpreted, against the same loop written naively."""
    from penstock.bench.measures.naive_sim import naive_run
    from penstock.sim.run import SimSpec, prepare, simulate

    spec = SimSpec(controller="pmbaf", settings={"step": 1, "sample": 5})
    ready = prepare(spec)
    costs, noise = ready.load.costs.tolist(), ready.plant.noise_of(spec.seed)[0].tolist()
    ways: dict[str, Callable[[], int]] = {
        "naive": lambda: len(naive_run(ready.controller(), ready.plant, costs, noise)),
        "interpreted": lambda: simulate(spec).items.size,
        "compiled": lambda: simulate(spec, compiled=True).items.size,
    }
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        _say(f"a million items in virtual time, three ways, round {number + 1} of {rounds + 1}")
        for name, way in ways.items():
            began_s = time.process_time()
            batches = way()
            if number:  # the first round compiles
                rates[name].append(batches / (time.process_time() - began_s))
    median = {name: statistics.median(seen) for name, seen in rates.items()}
    for name in ("compiled", "interpreted"):
        what = f"simulator, {name} / the loop written naively (above 1 is better)"
        yield Measure(f"simulator_{name}", median[name], median["naive"], "batches/s", what)


def decisions(rounds: int = 7) -> Iterator[Measure]:
    """What a decision takes: the controller that learns, and PMBAF, over the samples of the same run, in turns."""
    from penstock.control import registry
    from penstock.sim.run import LIVE_SLO, SimSpec, simulate

    run = simulate(SimSpec("spark", registry.DEFAULT, slo=LIVE_SLO))
    samples = run.samples()
    times_us: dict[str, list[float]] = {registry.DEFAULT: [], "pmbaf": []}
    for _ in range(rounds):
        for name, seen in times_us.items():
            controller = registry.create(name, run.slo, 1000.0, live=True)
            began_s = time.process_time()
            for sample in samples:
                controller.decide(sample)
            seen.append(1e6 * (time.process_time() - began_s) / len(samples))
    ours, peer = (statistics.median(seen) for seen in times_us.values())
    yield Measure("decision", ours, peer, "µs", f"mean of {len(samples)} decisions of {registry.DEFAULT} / of pmbaf")


def over_windows(quick: bool = False, flink: bool = False) -> Iterator[Measure]:
    """Windows beside their peers: rates, plumbing, aggregates, the price of the black box, the planner."""
    from penstock.bench.measures.windows.cases import FULL, QUICK
    from penstock.bench.measures.windows.section import measure

    yield from measure(QUICK if quick else FULL, flink, _say)


def suite(quick: bool = False) -> Iterator[Measure]:
    """The suite's applications on Spark, beside the same stages in a pool of processes on the same cores."""
    from penstock.bench.measures.suite import measure

    yield from measure(_say, seconds=5.0 if quick else 20.0)


MEASURES: dict[str, Callable[[], Iterator[Measure]]] = {
    "fixed-costs": fixed_costs,
    "control": control_cost,
    "kernels": military_kernels,
    "simulator": simulator,
    "decisions": decisions,
}
SUITE, WINDOWS = "suite", "windows"


def main(only: str | None = None, quick: bool = False, flink: bool = False) -> None:
    """Measure all, or one section; print and write."""
    results: dict[str, dict[str, object]] = {}
    sections: dict[str, Callable[[], Iterator[Measure]]] = {
        **MEASURES,
        SUITE: lambda: suite(quick),
        WINDOWS: lambda: over_windows(quick, flink),
    }
    for measures in sections.values() if only is None else [sections[only]]:
        for measure in measures():
            fields = asdict(measure)
            name = fields.pop("name")
            results[name] = {**fields, "ratio": measure.ratio, "command": COMMAND}
            print(
                f"{measure.name:32} {measure.ratio:7.3f}   ours {measure.ours:9.2f} {measure.unit}   "
                f"peer {measure.peer:9.2f} {measure.unit}   {measure.what}",
                flush=True,
            )
            write_json("bench.json", results, indent=2)
    print("written to bench.json")


def _say(text: str) -> None:
    print(f"  ... {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m penstock.bench.measures", description=__doc__)
    parser.add_argument("--only", choices=[*MEASURES, SUITE, WINDOWS], help="one section alone")
    parser.add_argument("--quick", action="store_true", help="suite, windows: a first look, in some minutes")
    parser.add_argument("--flink", action="store_true", help="windows: also PyFlink, installed apart at first use")
    given = parser.parse_args()
    main(given.only, given.quick, given.flink)
