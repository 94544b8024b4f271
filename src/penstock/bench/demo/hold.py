"""The demonstration of a band: the same stream with an adaptive and with a fixed batch size, side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from penstock.bench.demo.runs import BASE, DemoRuns
from penstock.bench.run import RunSpec, Watch, prepare
from penstock.journal import read
from penstock.report.page import check_packages
from penstock.report.picture import check, draw, draw_pair
from penstock.report.write import write_report

SPEC = replace(BASE, slo="1 s ± 10%")
LIMIT_S = 60.0


@dataclass(frozen=True)
class HoldDemo:
    """What the demonstration left: summaries, pictures, whether the user cut it short, and the report to open."""

    summaries: list[dict[str, Any]]
    pictures: list[Path]
    stopped: bool
    report: Path | None = None


def demonstrate_hold(out: Path, watch: Watch, spec: RunSpec = SPEC, limit_s: float = LIMIT_S) -> HoldDemo:
    """Run `spec`, then the same with a fixed size, draw both and report; `watch` does a run and shows it.

    The fixed size is the mean batch of the adaptive run: as many batches for the same stream, so whatever differs is
    where the sizes were large and where they were small.
    """
    slo = prepare(spec).slo
    alone, together = out / "adaptive.png", out / "comparison.png"
    # What could not be drawn is refused before runs are spent on it.
    check(alone)
    check_packages()
    with DemoRuns(watch, limit_s) as runs:
        adaptive, stopped = runs.run(spec, out / "adaptive")
        if stopped:
            return HoldDemo([adaptive], [], stopped=True)
        steady = replace(spec, controller="fixed", settings={}, size=mean_size(adaptive))
        fixed, stopped = runs.run(steady, out / "fixed")
    first = read(out / "adaptive" / "journal.jsonl")
    draw(first, slo, alone)
    report = write_report(out / "adaptive", out / "adaptive.html")
    if stopped:
        return HoldDemo([adaptive, fixed], [alone], stopped=True, report=report)
    draw_pair([first, read(out / "fixed" / "journal.jsonl")], slo, together)
    return HoldDemo([adaptive, fixed], [alone, together], stopped=False, report=report)


def mean_size(summary: dict[str, Any]) -> float:
    """The items of a run over its batches, whole.

    >>> mean_size({"items": 1000, "batches": 30})
    33.0
    """
    return float(max(round(summary["items"] / max(summary["batches"], 1)), 1))
