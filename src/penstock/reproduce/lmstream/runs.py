"""Running a plan in one Spark session; what is finished stays, so that a killed run goes on where it stopped.

The folder has one run in `constant/lr1s/baseline` and so on: `journal.jsonl`, `summary.json`. A run that is there
counts if it went through to its end, with the right output, by the spec that the plan has now.
"""

from __future__ import annotations

import json
import shutil
import threading
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from penstock.bench.compare.folder import finished, trim
from penstock.bench.compare.runs import Open, Runner
from penstock.bench.run import RunSpec, RunState, Tick, Watch, run
from penstock.bench.session import session
from penstock.errors import BadInputError, PenstockError
from penstock.progress import Say
from penstock.reproduce.lmstream.paper_runs import PaperRun, PaperRuns
from penstock.spark.faults import cause

JOURNAL, COLD = "journal.jsonl", "cold"
_COLD_RUN = RunSpec(
    "lr1s", "test", controller="fixed", size=4000.0, arrivals="saturated", check_output=False, label=COLD
)


@dataclass(frozen=True)
class Ran:
    """The summaries of all runs that came to their end; `computed` of them now, the others were kept.

    `wrong` ones gave wrong results, `failures` none; `left_out` are spare ones that the time was too short for.
    """

    summaries: dict[PaperRun, dict[str, Any]]
    computed: int
    wrong: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    stopped: bool = False


def run_all(
    plan: PaperRuns,
    folder: Path,
    watch: Watch,
    say: Say = lambda text: None,
    *,
    runner: Runner = run,
    open_session: Open = session,
) -> Ran:
    """Run what the folder does not have yet; `watch` does one run and shows it, `say` tells how far it is."""
    return _Course(plan, folder, watch, say, runner, open_session).go()


class _Course:
    """One way through the runs of the paper."""

    def __init__(
        self, plan: PaperRuns, folder: Path, watch: Watch, say: Say, runner: Runner, open_session: Open
    ) -> None:
        self._plan, self._runs = plan, list(plan.runs())
        self._folder, self._watch, self._say, self._runner = folder, watch, say, runner
        self._open, self._stack = open_session, ExitStack()
        self._done: dict[PaperRun, dict[str, Any]] = {}
        self._failures: list[str] = []
        self._left_out: list[str] = []

    def go(self) -> Ran:
        """The missing runs, until all are there or the user stops."""
        _make(self._folder)
        self._done = {
            paper_run: summary
            for paper_run in self._runs
            if (summary := kept(self._folder / paper_run.name, paper_run.spec))
        }
        had = len(self._done)
        before = f"; {had} are finished in {self._folder} and are kept" if had else ""
        self._say(f"{len(self._runs)} runs of {self._plan.stream_s:.0f} s of stream{before}; {self._time_left()}")
        stopped = False
        with self._stack:
            try:
                if self._plan.warm and self._missing():
                    self._say("a run that does not count, as a cold Spark is slow")
                    self._run(_COLD_RUN, self._folder / COLD)
                    shutil.rmtree(self._folder / COLD, ignore_errors=True)
                for at, paper_run in enumerate(self._runs, start=1):
                    if paper_run not in self._done:
                        self._step(at, paper_run)
            except KeyboardInterrupt:
                stopped = True
        right = {paper_run: summary for paper_run, summary in self._done.items() if summary["digest_ok"]}
        wrong = tuple(paper_run.name for paper_run in self._done if paper_run not in right)
        counted = {paper_run: right[paper_run] for paper_run in self._runs if paper_run in right}
        return Ran(counted, len(self._done) - had, wrong, tuple(self._failures), tuple(self._left_out), stopped=stopped)

    def _step(self, at: int, paper_run: PaperRun) -> None:
        name = f"run {at} of {len(self._runs)}, {paper_run.traffic} traffic, {paper_run.query}: {paper_run.variant}"
        if not self._fits(paper_run):
            self._left_out.append(paper_run.name)
            self._say(f"{name} is left out, to end in time")
            return
        self._say(f"{name}; {self._time_left()}")
        try:
            summary = self._run(paper_run.spec, self._folder / paper_run.name)
        # Also what Spark raises: one run that fails must not cost those that went well.
        except Exception as error:
            why = str(error) if isinstance(error, PenstockError) else f"{type(error).__name__}: {cause(error)}"
            self._failures.append(f"{paper_run.name}: {why}")
            self._say(f"{name} failed and does not count: {why}")
            return
        self._done[paper_run] = summary
        if not summary["digest_ok"]:
            output = self._folder / paper_run.name / "output"
            self._say(f"{name} gave WRONG results and does not count; they are in {output}")

    def _run(self, spec: RunSpec, folder: Path) -> dict[str, Any]:
        wishes: list[threading.Event] = []

        def work(tick: Tick, stop: threading.Event) -> dict[str, Any]:
            wishes.append(stop)
            tick(RunState("starting Spark", 0.0, 0, None, folder / JOURNAL))
            # Left open for the runs that follow, which use the session that they find.
            self._stack.enter_context(self._open(spec.master))
            return self._runner(spec, folder, tick, stop)

        folder.mkdir(parents=True, exist_ok=True)
        summary = self._watch(replace(spec, controller=str(spec.label), settings={}), work)
        if summary["interrupted"] or any(stop.is_set() for stop in wishes):
            trim(folder)
            raise KeyboardInterrupt
        # Wrong results are left where they are, for whoever wants to see what is wrong with them.
        if summary["digest_ok"]:
            trim(folder)
        return summary

    def _fits(self, paper_run: PaperRun) -> bool:
        """Whether there is time for a run, and for all those that are to come and matter more."""
        limit_s = self._plan.limit_s
        if not paper_run.spare or limit_s is None:
            return True
        needed = [each for each in self._missing() if each.spare <= paper_run.spare]
        return self._spent_s + self._pace * sum(each.estimate_s for each in needed) <= limit_s

    def _missing(self) -> list[PaperRun]:
        over = {*self._left_out, *(failure.partition(":")[0] for failure in self._failures)}
        return [paper_run for paper_run in self._runs if paper_run not in self._done and paper_run.name not in over]

    @property
    def _spent_s(self) -> float:
        return sum(float(summary["wall_s"]) for summary in self._done.values())

    @property
    def _pace(self) -> float:
        """How much longer runs take here than was thought; the first one, before all is warm, says little of it."""
        ratios = [float(summary["wall_s"]) / paper_run.estimate_s for paper_run, summary in self._done.items()]
        return median(ratios) if ratios else 1.0

    def _time_left(self) -> str:
        left_s = self._pace * sum(paper_run.estimate_s for paper_run in self._missing() if self._fits(paper_run))
        return f"about {left_s / 60:.0f} min left" if left_s >= 90 else f"about {left_s:.0f} s left"


def kept(folder: Path, spec: RunSpec) -> dict[str, Any] | None:
    """The summary of a run by this spec that ended with the right output; None where it has to be run."""
    summary = finished(folder)
    if summary is None or not summary.get("digest_ok") or not (folder / JOURNAL).exists():
        return None
    known = dict(summary.get("spec", {}))
    wanted = json.loads(json.dumps(asdict(spec)))
    # The summary has the size that the application chose.
    if spec.size is None:
        wanted["size"] = known.get("size")
    return summary if known == wanted else None


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"cannot be written ({error.strerror})"
        raise BadInputError("out", str(folder), reason, "give a folder you own") from error
