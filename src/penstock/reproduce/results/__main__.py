"""`make results`: every controller compared, in virtual time and on Spark; writes their sections of docs/results.md.

Virtual time takes some minutes. The runs of Military Server on Spark may take 60 minutes, or what the first argument or
PENSTOCK_BUDGET says. Stopped half-way it goes on with the runs in `runs/military` the next time; once it has come to
its end, the next time begins anew.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import Any

from penstock.bench.compare.runs import compare_runs
from penstock.bench.compare.spec import CompareSpec, everything, label_of
from penstock.bench.compare.virtual import BEST, compare_plant
from penstock.bench.run import RunSpec, RunState, Work
from penstock.control import registry
from penstock.errors import PenstockError
from penstock.journal import read
from penstock.reproduce.page import PAGE, replace_section
from penstock.reproduce.results.conditions import write_conditions, write_parts
from penstock.reproduce.results.sections import military_section, settling_section, virtual_section
from penstock.sim.run import DEFAULT_SLO, LIVE_SLO
from penstock.slo import Slo
from penstock.units import parse_duration_s

ROUNDS = 3
BUDGET = "60min"
SEEDS = 10
PICTURES = {"pmbaf": Path("docs/images/pmbaf.png"), "fixed:auto": Path("docs/images/fixed.png")}
RUNS = Path("runs/military")
_ENDED = RUNS / "ended"
_LINE_EVERY_S = 10.0


def main(budget: str) -> None:
    """Compare all, and write the sections of the page and its pictures."""
    write_virtual()
    write_parts(_Told("spark"))
    write_conditions(_Told("spark"))
    spec = CompareSpec("military", everything())
    budget_s = parse_duration_s(budget, "budget")
    if _ENDED.exists():
        shutil.rmtree(RUNS)
    found = compare_runs(spec, ROUNDS, RUNS, _watch, _say, budget_s=budget_s, command="make results")
    if found.stopped:
        sys.exit(130)
    _ENDED.touch()
    replace_section(PAGE, "military", military_section(found.comparison))
    replace_section(PAGE, "settling", settling_section(registry.names()))
    _draw(spec)
    _say(f"written to {PAGE}, {', '.join(map(str, PICTURES.values()))}; the runs are in {RUNS}")


def write_virtual(seeds: int = SEEDS) -> None:
    """Compare all controllers in virtual time, on both plants, and write that section."""
    found = []
    for plant, slo in (("spark", LIVE_SLO), ("thesis", DEFAULT_SLO["thesis"])):
        # Those two need a size, or arrivals to wait for.
        names = [name for name in registry.names() if name not in ("fixed", "lmstream")]
        controllers = [*names, *(f"{name}:{BEST}" for name in ("pmbaf", "pid"))]
        told = _Told(plant)
        command = (
            f'penstock compare --plant {plant} --slo "{slo}" --controllers {",".join(controllers)} --seeds {seeds}'
        )
        found.append((command, compare_plant(plant, slo, controllers, seeds=seeds, progress=told)))
    replace_section(PAGE, "virtual", virtual_section(found))


class _Told:
    """A line every ten seconds on how far a virtual comparison is."""

    def __init__(self, plant: str) -> None:
        self._plant = plant
        self._next_s = 0.0

    def __call__(self, done: int, of: int) -> None:
        if time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + _LINE_EVERY_S
            _say(f"virtual time, plant {self._plant}: run {done} of {of}")


def _draw(spec: CompareSpec) -> None:
    from penstock.report.picture import draw

    for controller, picture in PICTURES.items():
        journal = RUNS / "r1" / label_of(controller) / "journal.jsonl"
        if journal.exists():
            picture.parent.mkdir(parents=True, exist_ok=True)
            draw(read(journal), Slo.parse(spec.slo), picture)


def _watch(spec: RunSpec, work: Work) -> dict[str, Any]:
    next_s = 0.0

    def tick(at: RunState) -> None:
        nonlocal next_s
        if at.elapsed_s >= next_s:
            next_s = at.elapsed_s + _LINE_EVERY_S
            share = at.items_done / at.items if at.items else 0
            _say(f"{spec.controller:14} {at.phase:16} {at.elapsed_s:5.0f} s {share:5.0%}")

    return work(tick, threading.Event())


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m penstock.reproduce.results", description=__doc__)
    given = os.environ.get("PENSTOCK_BUDGET", BUDGET)
    parser.add_argument("budget", nargs="?", default=given, help="time for the runs on Spark (default: %(default)s)")
    try:
        main(parser.parse_args().budget)
    except PenstockError as error:
        sys.exit(f"penstock: {error}")
