"""The demonstration: a query comes back with a backlog, and three drain it in one Spark session.

Plain Spark takes it all in one batch. A fixed size that was chosen with care for the heaviest items keeps the bound and
drains slowly. Penstock is told the bound.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.bench.demo.careful_size import careful_size
from penstock.bench.demo.page import write_page
from penstock.bench.demo.picture import draw_race
from penstock.bench.demo.race_result import FIXED, PENSTOCK, PLAIN, RaceResult
from penstock.bench.demo.runs import BASE, DemoRuns
from penstock.bench.run import PreparedRun, RunSpec, RunState, Tick, Watch, prepare
from penstock.journal import Recording, read
from penstock.report.page import check_packages
from penstock.report.picture import check
from penstock.report.write import write_report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPEC = replace(BASE, slo="p95 <= 1 s", label=PENSTOCK)
HEAVIEST = "constant:value=3k"
LIMIT_S = 120.0

# The fixed size comes last, in the warmest session, and is the one that a busy machine cuts short.
ORDER = (PLAIN, PENSTOCK, FIXED)


@dataclass(frozen=True)
class Demo:
    """What the demonstration left, and whether the user cut it short; files are there once they are named here."""

    results: Mapping[str, RaceResult]
    summaries: Mapping[str, dict[str, Any]]
    stopped: bool
    picture: Path | None = None
    report: Path | None = None


def demonstrate(
    out: Path, watch: Watch, spec: RunSpec = SPEC, heaviest: str = HEAVIEST, limit_s: float = LIMIT_S
) -> Demo:
    """Let the three drain the same backlog, then draw and report; `watch` does a run and shows it."""
    prepared = prepare(spec)
    picture, page = out / "backlog.png", out / "report.html"
    # What could not be drawn is refused before runs are spent on it.
    check(picture)
    check_packages()
    results: dict[str, RaceResult] = {}
    summaries: dict[str, dict[str, Any]] = {}
    with DemoRuns(watch, limit_s) as runs:
        size = _Size(prepared, heaviest, out)
        for name in ORDER:
            before = size.measure if name == ORDER[0] else None
            # Measuring the size has warmed up Spark and its workers for all three.
            summary, stopped = runs.run(contender(spec, name, size.found), out / name, warm_up=False, before=before)
            if stopped:
                return Demo(results, summaries, stopped=True)
            recording = _recording(out / name)
            results[name] = RaceResult.of(recording, summary, prepared.slo, prepared.workload.items or 0, limit_s)
            summaries[name] = summary
    draw_race(results, picture)
    links = {name: write_report(out / name) for name, result in results.items() if result.batches}
    return Demo(results, summaries, False, picture, write_page(results, prepared.slo, picture, links, page))


def contender(spec: RunSpec, name: str, size: float | None = None) -> RunSpec:
    """The spec of a contender; of the fixed size, with that size.

    >>> contender(SPEC, PLAIN).gated, contender(SPEC, FIXED, 1700.0).size, contender(SPEC, PENSTOCK) == SPEC
    (False, 1700.0, True)
    """
    if name == PLAIN:
        return replace(spec, controller="fixed", settings={}, gated=False, label=PLAIN)
    return spec if name == PENSTOCK else replace(spec, controller="fixed", settings={}, size=size, label=FIXED)


class _Size:
    """The careful fixed size, measured once the session is there."""

    def __init__(self, prepared: PreparedRun, heaviest: str, out: Path) -> None:
        self.found: float | None = None
        self._prepared = prepared
        self._heaviest = heaviest
        self._out = out

    def measure(self, spark: SparkSession, tick: Tick, stop: threading.Event) -> None:
        tick(RunState("measuring the heaviest items", 0.0, 0, None, self._out / ORDER[0] / "journal.jsonl"))
        careful = careful_size(spark, self._prepared, self._heaviest, self._out, stop)
        self.found = None if careful is None else careful.size


def _recording(folder: Path) -> Recording:
    journal = folder / "journal.jsonl"
    return read(journal) if journal.exists() else Recording()
