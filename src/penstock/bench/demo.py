"""The demonstration: the same stream with an adaptive and with a fixed batch size, side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from penstock.bench.picture import check, draw, draw_pair
from penstock.bench.report.chart import graph_objects
from penstock.bench.report.write import write_report
from penstock.bench.run import RunSpec, RunState, Tick, prepare, run
from penstock.bench.session import session
from penstock.journal import read

# One slow swing of the load, 6:1, over the items of the class `test`: about 40 batches of 1 s on two idle cores.
SPEC = RunSpec(
    app="military",
    size_class="test",
    slo="1 s ± 10%",
    cost="wave:min=500,max=3k,period=150k",
)
LIMIT_S = 60.0

Job = Callable[[Tick, threading.Event], dict[str, Any]]
Watch = Callable[[RunSpec, Job], dict[str, Any]]


@dataclass(frozen=True)
class Demo:
    """What the demonstration left: summaries, pictures, whether the user cut it short, and the report to open."""

    summaries: list[dict[str, Any]]
    pictures: list[Path]
    stopped: bool
    report: Path | None = None


class Limit:
    """Ends a run after so many seconds of its running phase, so that a busy machine makes no long demonstration.

    >>> stop, limit = threading.Event(), Limit(60.0)
    >>> tick = limit.over(print, stop)
    >>> for elapsed_s in (20.0, 79.0, 80.0):
    ...     tick(RunState("running", elapsed_s, 0, 100, Path("j")))
    ...     print(stop.is_set())
    RunState(phase='running', elapsed_s=20.0, items_done=0, items=100, journal=...)
    False
    RunState(phase='running', elapsed_s=79.0, items_done=0, items=100, journal=...)
    False
    RunState(phase='running', elapsed_s=80.0, items_done=0, items=100, journal=...)
    True
    """

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self.reached = False
        self._from_s: float | None = None

    def over(self, tick: Tick, stop: threading.Event) -> Tick:
        """The same tick, which also watches the time."""

        def limited(state: RunState) -> None:
            tick(state)
            if state.phase != "running":
                return
            if self._from_s is None:
                self._from_s = state.elapsed_s
            if state.elapsed_s - self._from_s >= self.limit_s and not stop.is_set():
                self.reached = True
                stop.set()

        return limited


def demonstrate(out: Path, watch: Watch, spec: RunSpec = SPEC, limit_s: float = LIMIT_S) -> Demo:
    """Run `spec`, then the same with a fixed size, draw both and report; `watch` runs a job and shows it.

    The fixed size is the mean batch of the adaptive run: as many batches for the same stream, so whatever differs is
    where the sizes were large and where they were small.
    """
    slo = prepare(spec).slo
    alone, together = out / "adaptive.png", out / "comparison.png"
    # What could not be drawn is refused before runs are spent on it.
    check(alone)
    graph_objects()
    with ExitStack() as stack:
        adaptive, stopped = _run(spec, out / "adaptive", watch, limit_s, stack)
        if stopped:
            return Demo([adaptive], [], stopped)
        first = read(out / "adaptive" / "journal.jsonl")
        draw(first, slo, alone)
        report = write_report(out / "adaptive", out / "adaptive.html")
        steady = replace(spec, controller="fixed", settings={}, size=mean_size(adaptive))
        fixed, stopped = _run(steady, out / "fixed", watch, limit_s, stack)
    if stopped:
        return Demo([adaptive, fixed], [alone], stopped, report)
    draw_pair([first, read(out / "fixed" / "journal.jsonl")], slo, together)
    return Demo([adaptive, fixed], [alone, together], stopped, report)


def mean_size(summary: dict[str, Any]) -> float:
    """The items of a run over its batches, whole.

    >>> mean_size({"items": 1000, "batches": 30})
    33.0
    """
    return float(max(round(summary["items"] / max(summary["batches"], 1)), 1))


def _run(spec: RunSpec, out: Path, watch: Watch, limit_s: float, stack: ExitStack) -> tuple[dict[str, Any], bool]:
    limit = Limit(limit_s)

    def job(tick: Tick, stop: threading.Event) -> dict[str, Any]:
        tick(RunState("starting Spark", 0.0, 0, None, out / "journal.jsonl"))
        # Left open for the next run, which uses the session that it finds.
        stack.enter_context(session(spec.master))
        return run(spec, out, limit.over(tick, stop), stop)

    out.mkdir(parents=True, exist_ok=True)
    summary = watch(spec, job)
    return summary, summary["interrupted"] and not limit.reached
