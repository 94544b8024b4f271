"""Controllers compared on real Spark: interleaved runs in one session, within a stated time, resumable.

Round 1 runs every controller once, then round 2, and so on, each round beginning elsewhere: a machine that is busy for
a while burdens all alike. A run counts when it went through to its end; one that the time cut off does not.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from penstock.bench.compare.about import about_runs
from penstock.bench.compare.best_fixed import Trial, search
from penstock.bench.compare.budget import TRIAL, Budget
from penstock.bench.compare.folder import Folder, finished, trim
from penstock.bench.compare.spec import CompareSpec, Entry, entries_of, order_of
from penstock.bench.run import RunSpec, RunState, Tick, Watch, prepare, run
from penstock.bench.session import session
from penstock.clock import Clock, SystemClock
from penstock.errors import BadInputError, PenstockError
from penstock.progress import Say
from penstock.score.comparison import Row, comparison, row, write
from penstock.slo import Metric
from penstock.spark.faults import cause

_TRIAL_CLASS = "test"
# A first size is small; a trial of it would be many small batches and take long.
_FIRST_TRIAL = 4

Runner = Callable[[RunSpec, Path, Tick, threading.Event], dict[str, Any]]
Open = Callable[[str], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Compared:
    """What a comparison left: the result, and whether the user cut it short."""

    comparison: dict[str, Any]
    stopped: bool


class Comparer:
    """Runs one comparison; `compare_runs` is the way to use it."""

    def __init__(
        self,
        spec: CompareSpec,
        runs: int,
        out: Path,
        watch: Watch,
        say: Say,
        budget: Budget,
        runner: Runner,
        open_session: Open,
    ) -> None:
        if runs < 1:
            raise BadInputError("runs", runs, "nothing would be compared", "give 1 or more, e.g. 3")
        self.spec = spec
        self.runs = runs
        self.entries = entries_of(spec)
        self.folder = Folder(out, spec)
        self.budget = budget
        self.failures: list[str] = []
        self._watch = watch
        self._say = say
        self._runner = runner
        self._open = open_session
        self._stack = ExitStack()
        self._plan = [
            (number, entry) for number in range(1, runs + 1) for entry in order_of(self.entries, number, runs)
        ]

    def go(self, command: str) -> Compared:
        """Run what is missing, as far as time and user allow, and set the rows against each other."""
        self.folder.open()
        earlier_s = self._count_kept()
        stopped = False
        with self._stack:
            try:
                for at, (number, entry) in enumerate(self._plan, start=1):
                    self._step(at, number, entry)
            except KeyboardInterrupt:
                stopped = True
        about = about_runs(self.spec, self.runs, command, earlier_s + self.budget.spent_s, self.budget.limit_s)
        rows = [self._row(entry) for entry in self.entries]
        found = comparison(rows, about | ({"failures": self.failures} if self.failures else {}))
        write(self.folder.path, found)
        return Compared(found, stopped)

    def _count_kept(self) -> float:
        kept = [(entry.label, finished(self.folder.run(number, entry.label))) for number, entry in self._plan]
        walls = [(label, float(summary["wall_s"])) for label, summary in kept if summary is not None]
        for label, wall_s in walls:
            self.budget.took(label, wall_s)
        if walls:
            self._say(f"{len(walls)} of {len(self._plan)} runs are finished in {self.folder.path} and are kept")
        searched = self.folder.found or {}
        return sum(wall_s for _, wall_s in walls) + float(searched.get("seconds", 0.0))

    def _step(self, at: int, number: int, entry: Entry) -> None:
        folder = self.folder.run(number, entry.label)
        if finished(folder) is not None:
            return
        name = f"run {at} of {len(self._plan)}, round {number}: {entry.text}"
        try:
            run_spec = self._sized(entry)
            if run_spec is None or not self.budget.fits(entry.label):
                self._say(f"{name} is left out, it could not end in time")
                return
            self._say(f"{name}{self._time_left(at)}")
            summary = self._run(run_spec, folder, entry.text)
        # Also what Spark raises: one run that fails must not cost those that went well.
        except Exception as error:
            why = str(error) if isinstance(error, PenstockError) else f"{type(error).__name__}: {cause(error)}"
            self.failures.append(f"round {number}, {entry.text}: {why}")
            self._say(f"{name} failed and does not count: {why}")
            return
        if summary["interrupted"]:
            self._say(f"{name} was stopped by the end of the time and does not count")
        else:
            self.budget.took(entry.label, float(summary["wall_s"]))

    def _run(self, run_spec: RunSpec, folder: Path, name: str) -> dict[str, Any]:
        wishes: list[threading.Event] = []

        def work(tick: Tick, stop: threading.Event) -> dict[str, Any]:
            wishes.append(stop)
            tick(RunState("starting Spark", 0.0, 0, None, folder / "journal.jsonl"))
            # Left open for the runs that follow, which use the session that they find.
            self._stack.enter_context(self._open(run_spec.master))
            return self._runner(run_spec, folder, tick, self.budget.until(stop))

        folder.mkdir(parents=True, exist_ok=True)
        try:
            summary = self._watch(replace(run_spec, controller=name, settings={}), work)
        finally:
            trim(folder)
        if any(stop.is_set() for stop in wishes):
            raise KeyboardInterrupt
        return summary

    def _sized(self, entry: Entry) -> RunSpec | None:
        """How to run an entry; None where there was no time to find its size."""
        if not entry.auto:
            return entry.run
        found = self.folder.found
        if found is None:
            prepared = prepare(entry.run)
            aim_s = None if prepared.slo.metric is Metric.THROUGHPUT else prepared.slo.aim
            best = search(_FIRST_TRIAL * prepared.size, aim_s, lambda size: self._attempt(entry, size))
            if best is None:
                return None
            found = best.to_json()
            self.folder.found = found
            self._say(f"best fixed size of {len(best.trials)} tried: {best.size:.0f}, in {found['seconds']:.0f} s")
        return replace(entry.run, size=float(found["size"]))

    def _attempt(self, entry: Entry, size: float) -> Trial | None:
        size_class = _TRIAL_CLASS if _TRIAL_CLASS in prepare(entry.run).app.classes else self.spec.size_class
        # Other items than those that it will be judged by, and nobody needs their output.
        trial = replace(entry.run, size=size, size_class=size_class, seed=self.spec.seed + 1, check_output=False)
        folder = self.folder.trial(size)
        summary = finished(folder)
        if summary is None:
            if not self.budget.fits(TRIAL):
                return None
            self._say(f"fixed:auto tries a size of {size:.0f} on class {size_class}")
            summary = self._run(trial, folder, f"fixed:size={size:.0f}")
            if summary["interrupted"]:
                return None
        self.budget.took(TRIAL, float(summary["wall_s"]))
        mean_s = (summary.get("batch_latency_s") or {}).get("mean")
        return Trial(size, summary["i_slh"], summary["mad_d"], mean_s, float(summary["wall_s"]))

    def _time_left(self, at: int) -> str:
        missing = [
            entry for number, entry in self._plan[at - 1 :] if not finished(self.folder.run(number, entry.label))
        ]
        estimates = [self.budget.estimate_s(entry.label) for entry in missing]
        if None in estimates:
            return ""
        left_s = sum(each for each in estimates if each is not None)
        if self.budget.left_s is not None:
            left_s = min(left_s, self.budget.left_s)
        return f", about {left_s / 60:.0f} min left" if left_s >= 60 else f", about {left_s:.0f} s left"

    def _row(self, entry: Entry) -> Row:
        folders = [self.folder.run(number, entry.label) for number in range(1, self.runs + 1)]
        done = [(folder, summary) for folder in folders if (summary := finished(folder)) is not None]
        # Fast and wrong is no result.
        right = [(folder, summary) for folder, summary in done if summary.get("digest_ok") is not False]
        names = [folder.relative_to(self.folder.path).as_posix() for folder, _ in right]
        found = self.folder.found if entry.auto else None
        return {
            **row(entry.text, [summary for _, summary in right], limit=entry.limit, folders=names),
            "wrong_outputs": len(done) - len(right),
            **({"about": found} if found else {}),
        }


def compare_runs(
    spec: CompareSpec,
    runs: int,
    out: Path,
    watch: Watch,
    say: Say = lambda text: None,
    *,
    budget_s: float | None = None,
    command: str = "",
    runner: Runner = run,
    clock: Clock | None = None,
    open_session: Open = session,
) -> Compared:
    """Compare controllers on Spark; the runs and `comparison.json` are left in `out`, finished ones there are kept.

    `watch` does one run and shows it, `say` tells the user how far it is. With `budget_s` no run is started that could
    not end in time, judged by those before it, and one that would go on beyond the end is stopped and does not count.
    """
    if budget_s is not None and not budget_s > 0:
        raise BadInputError("budget", budget_s, "no time to run anything", "write e.g. 60min")
    budget = Budget(clock or SystemClock(), budget_s)
    return Comparer(spec, runs, out, watch, say, budget, runner, open_session).go(command)


def wrong_outputs(found: dict[str, Any]) -> Sequence[str]:
    """The controllers of a comparison whose runs gave wrong results."""
    return [each["controller"] for each in found["rows"] if each.get("wrong_outputs")]
