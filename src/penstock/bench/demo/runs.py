"""The runs of a demonstration: in one session, each with a limit, so that a busy machine makes no long evening."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.bench.run import RunSpec, RunState, Tick, Watch, run
from penstock.bench.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# One slow swing of the load, 6:1, over the items of the class `test`: about 40 batches of 1 s on two idle cores.
BASE = RunSpec(app="military", size_class="test", cost="wave:min=500,max=3k,period=150k")

Before = Callable[["SparkSession", Tick, threading.Event], None]


class Limit:
    """Ends a run after so many seconds of its running phase.

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


class DemoRuns:
    """Runs one after another in one session, which the first starts; a context manager that ends it."""

    def __init__(self, watch: Watch, limit_s: float) -> None:
        self._watch = watch
        self._limit_s = limit_s
        self._stack = ExitStack()

    def __enter__(self) -> DemoRuns:
        """Nothing is started yet."""
        return self

    def __exit__(self, *error: object) -> None:
        """Stop Spark."""
        self._stack.close()

    def run(
        self, spec: RunSpec, out: Path, *, warm_up: bool = True, before: Before | None = None
    ) -> tuple[dict[str, Any], bool]:
        """One run, shown: its summary, and whether the user has cut it short. `before` is called with the session."""
        limit = Limit(self._limit_s)

        def work(tick: Tick, stop: threading.Event) -> dict[str, Any]:
            tick(RunState("starting Spark", 0.0, 0, None, out / "journal.jsonl"))
            # Left open for the next run, which uses the session that it finds.
            spark = self._stack.enter_context(session(spec.master))
            if before is not None:
                before(spark, tick, stop)
            return run(spec, out, limit.over(tick, stop), stop, warm_up=warm_up)

        out.mkdir(parents=True, exist_ok=True)
        summary = self._watch(spec, work)
        return summary, bool(summary["interrupted"]) and not limit.reached
