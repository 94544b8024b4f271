"""Controllers against each other in virtual time: many seeds each, in processes, with the oracles as limits."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from multiprocessing import get_context
from typing import Any

from penstock.bench.compare.about import about_here
from penstock.bench.compare.grid import GAINS, SAMPLES, STEPPING, STEPS
from penstock.bench.compare.spec import AUTO, PLAIN
from penstock.control.registry import parse_spec
from penstock.errors import BadInputError
from penstock.progress import Progress
from penstock.score import comparison as table
from penstock.score import percentiles
from penstock.score.summary import TOLERANCES
from penstock.sim.form import ORACLES, has_oracle
from penstock.sim.run import SimSpec, prepare, simulate
from penstock.slo import Metric, Slo
from penstock.units import parse_count

MOST_SEEDS = 1000
BEST = "best"
ONLY_ON_SPARK = (PLAIN, AUTO)
# Seeds that `:best` may look at; those that are judged count from 1.
TRAINING_SEEDS = (100_001, 100_002, 100_003)
# From so many runs on, compiling the kernel first is the faster way.
_WORTH_COMPILING = 40

Mapped = Callable[[Callable[[SimSpec, bool], Any], Sequence[SimSpec]], Iterable[Any]]
"""A function of a spec, and whether to run it compiled, over many specs."""


@dataclass(frozen=True)
class Entry:
    """A controller to compare: its name in the table, and what to simulate under it."""

    label: str
    spec: SimSpec


def compare_plant(
    plant: str,
    slo: str,
    controllers: Sequence[str],
    seeds: int = 10,
    delay: int = 0,
    noise: float = 1.0,
    arrivals: str = "saturated",
    cost: str = "thesis",
    items: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """One row a controller, and the oracles, from the same seeds; a comparison as on Spark.

    `NAME:best` takes the settings with the most itemized hits on other seeds, out of the grid of the thesis or, on a
    plant of Spark, out of one in percent.
    """
    if not 1 <= seeds <= MOST_SEEDS:
        raise BadInputError("seeds", seeds, "not a number of runs", f"give 1 to {MOST_SEEDS}")
    base = SimSpec(plant, slo=slo, items=items, delay=delay, noise=noise, arrivals=arrivals, cost=cost)
    parsed = Slo.parse(slo)
    if twice := [label for label, count in Counter(controllers).items() if count > 1]:
        raise BadInputError("controllers", twice[0], "given twice", "name each controller once")
    limits = [name for name in ORACLES if has_oracle(parsed) and name not in controllers]
    wanted = [*controllers, *limits]
    grids = {label: list(_grid(label, base)) for label in wanted if _is_best(label)}
    entries = {label: _entry(label, base) for label in wanted if label not in grids}
    for entry in [*entries.values(), *itertools.chain(*grids.values())]:
        prepare(entry.spec)
    training = len(TRAINING_SEEDS) * sum(map(len, grids.values()))
    count = _Counted(progress, training + seeds * len(wanted))
    with _mapper(count.total) as mapped:
        for label, tried in grids.items():
            entries[label] = _best_of(tried, mapped, count)
        rows = []
        for label in wanted:
            specs = [replace(entries[label].spec, seed=seed) for seed in range(1, seeds + 1)]
            summaries = list(count.over(mapped(_summary, specs)))
            rows.append(table.row(label, summaries, limit=label in ORACLES) | {"settings": _settings(entries[label])})
    about = {"plant": plant, "slo": str(parsed), "seeds": seeds, "delay": delay, "noise": noise}
    about |= {"arrivals": arrivals, "cost": cost, "items": items, "seeds_vary": "the noise of the plant, nothing else"}
    return table.comparison(rows, about | about_here())


def _entry(label: str, base: SimSpec) -> Entry:
    if label in ONLY_ON_SPARK:
        raise BadInputError("controllers", label, "there is none in virtual time", "leave it out, or compare an APP")
    name, settings = parse_spec(label)
    size, admit = settings.pop("size", None), settings.pop("admit", base.admit)
    first = None if size is None else parse_count(size, "size")
    return Entry(label, replace(base, controller=name, settings=settings, size=first, admit=admit))


def _is_best(label: str) -> bool:
    return label.count(":") == 1 and label.endswith(f":{BEST}")


def _grid(label: str, base: SimSpec) -> Iterator[Entry]:
    name = label.partition(":")[0]
    axes: dict[str, Sequence[Any]]
    if name in STEPPING:
        axes = {"step": STEPS[base.live], "sample": SAMPLES}
    elif name == "pid":
        axes = {**GAINS[base.live], "sample": SAMPLES}
    else:
        known = ", ".join(f"{each}:{BEST}" for each in (*STEPPING, "pid"))
        raise BadInputError("controllers", label, "there is no grid to search for it", f"{known} have one")
    for values in itertools.product(*axes.values()):
        settings = dict(zip(axes, values, strict=True))
        yield Entry(label, replace(base, controller=name, settings=settings))


def _best_of(tried: Sequence[Entry], mapped: Mapped, count: _Counted) -> Entry:
    specs = [replace(entry.spec, seed=seed) for entry in tried for seed in TRAINING_SEEDS]
    hits = list(count.over(mapped(_hits, specs)))
    per = len(TRAINING_SEEDS)
    return tried[max(range(len(tried)), key=lambda n: sum(hits[n * per : (n + 1) * per]))]


def _hits(spec: SimSpec, compiled: bool) -> float:
    return simulate(spec, compiled=compiled).metrics().i_slh or 0.0


def _summary(spec: SimSpec, compiled: bool) -> dict[str, Any]:
    """The fields of a summary that a comparison reads, straight from the columns of a run."""
    run = simulate(spec, compiled=compiled)
    latency_s = run.values if run.slo.metric is not Metric.THROUGHPUT else run.ended_s - run.began_s
    return {
        **asdict(run.metrics()),
        "batches": run.items.size,
        "throughput_per_s": float(run.items.sum() / (run.ended_s[-1] - run.began_s[0])),
        "latency_s": percentiles(latency_s, run.items.astype(float)),
        "at": {f"{tolerance * 100:g}%": asdict(run.metrics(tolerance)) for tolerance in TOLERANCES},
        "patterns": {name: asdict(run.metrics(part=name)) for name in run.load.names},
    }


def _settings(entry: Entry) -> dict[str, str]:
    return {key: str(value) for key, value in entry.spec.settings.items()}


class _Counted:
    def __init__(self, progress: Progress | None, total: int) -> None:
        self.total = total
        self._progress = progress
        self._done = 0

    def over(self, results: Iterable[Any]) -> Iterator[Any]:
        for result in results:
            self._done += 1
            if self._progress is not None:
                self._progress(self._done, self.total)
            yield result


@contextmanager
def _mapper(runs: int) -> Iterator[Mapped]:
    """`map` in this process for a few runs, else in one process a core, with the kernel compiled before they fork."""
    if runs < _WORTH_COMPILING:
        yield lambda function, specs: (function(spec, False) for spec in specs)
        return
    compiled = _compile()
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("fork")) as pool:
        yield lambda function, specs: pool.map(partial(_run_one, function, compiled), specs)


def _run_one(function: Callable[[SimSpec, bool], Any], compiled: bool, spec: SimSpec) -> Any:
    return function(spec, compiled)


def _compile() -> bool:
    try:
        import numba  # noqa: F401
    except ModuleNotFoundError:
        return False
    simulate(SimSpec(controller="fixed", items=100), compiled=True)
    return True
