"""One run: an app's workload through a gated query, its journal, and the summary."""

from __future__ import annotations

import json
import math
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.apps import registry as apps
from penstock.apps.protocol import App, PreparingApp, TruthfulApp
from penstock.bench.end_to_end import Reached, counted, end_to_end, processed
from penstock.bench.session import session, settings_in_force
from penstock.bench.window_rates import window_rates
from penstock.control import registry as controllers
from penstock.errors import BadInputError, PenstockError
from penstock.journal import Recording, read
from penstock.json_file import write_json
from penstock.patterns.arrivals import Saturated
from penstock.score import responses, summarise
from penstock.slo import Slo
from penstock.spark.faults import cause
from penstock.units import parse_duration_s
from penstock.workloads.workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

WARM_UP_BATCHES = 8
_TICK_S = 0.2
_CHECKED_ITEMS = 200
_OUR_FILES = ("journal.jsonl", "summary.json")
_OURS = {"report.html", "spark.log", "output", "checkpoint", "warm-up"}


@dataclass(frozen=True)
class RunSpec:
    """What to run. `size` is the first size in rows, and `arrivals` when they come, both by default the app's.

    `options` are the app's own, by name. `data` is a file whose items the app replays instead of its own. `trigger`
    ("10 s") makes Spark start a batch at fixed intervals, and not as soon as there is something to do. `admit` is the
    unit that the gate counts in: rows, or the true cost of the rows, which only a replayed workload can know
    beforehand. Without `gated` Spark is left alone: nothing is limited, every batch counts, the loop only watches.
    `label` is what the journal calls the run where that is not its controller.
    """

    app: str
    size_class: str = "small"
    slo: str = "1 s ± 10%"
    controller: str = controllers.DEFAULT
    settings: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    arrivals: str | None = None
    cost: str = "thesis"
    seed: int = 1
    size: float | None = None
    master: str = "local[2]"
    partitions: int | None = None
    admit: str = "rows"
    gated: bool = True
    check_output: bool = True
    label: str | None = None
    trigger: str | None = None
    data: str | None = None


@dataclass(frozen=True)
class RunState:
    """How far a run is."""

    phase: str
    elapsed_s: float
    items_done: int
    items: int | None
    journal: Path


Tick = Callable[[RunState], None]
Work = Callable[[Tick, threading.Event], dict[str, Any]]
"""A run that tells how far it is and stops when asked to; gives its summary."""
Watch = Callable[["RunSpec", Work], dict[str, Any]]
"""Does the work of a spec and shows it."""


@dataclass(frozen=True)
class PreparedRun:
    """A spec whose every part was found good, before Spark is started for it.

    `size` is the first size in the gate's unit, `rows` the same in rows.
    """

    spec: RunSpec
    app: App
    workload: Workload
    slo: Slo
    size: float
    rows: int

    @property
    def arrivals(self) -> str:
        """When items arrive: as the spec says, or else the app."""
        return self.spec.arrivals or self.app.default_arrivals


def prepare(spec: RunSpec) -> PreparedRun:
    """Check a spec and make its parts; a mistake is told here, in a second and not in a minute."""
    app = apps.configured(apps.create(spec.app), spec.size_class, spec.options)
    if spec.data is not None:
        app = apps.replaying(app, Path(spec.data))
    slo = Slo.parse(spec.slo)
    _interval_ms(spec)
    workload = app.workload(spec.size_class, spec.seed, spec.arrivals or app.default_arrivals, spec.cost)
    size = float(spec.size if spec.size is not None else app.first_size(spec.size_class))
    if not (math.isfinite(size) and size >= 1):
        raise BadInputError("size", spec.size, "a batch has at least one item", "give 1 or more")
    if spec.admit not in ("rows", "cost"):
        raise BadInputError("admit", spec.admit, "not a unit of a workload", "write rows or cost")
    rows = math.floor(size)
    if spec.admit == "cost":
        most = rows if workload.items is None else min(rows, workload.items)
        size = max(workload.within(0, most, math.inf)[1], 1.0)
    controllers.create(spec.controller, slo, size, live=True, waits=True, **spec.settings)
    if workload.items is None:
        raise BadInputError("class", spec.size_class, "its stream never ends", "choose a class with a number of items")
    if math.isinf(workload.arrival_s(workload.items - 1)):
        reason = f"the {workload.items} items of the class would never all arrive"
        raise BadInputError("arrivals", spec.arrivals or app.default_arrivals, reason, "let the rate stay above 0")
    for index in np.linspace(0, workload.items - 1, _CHECKED_ITEMS).astype(int).tolist():
        workload.columns(index, index + 1)
    return PreparedRun(spec, app, workload, slo, size, rows)


def run(
    spec: RunSpec,
    out: Path,
    tick: Tick | None = None,
    stop: threading.Event | None = None,
    *,
    warm_up: bool = True,
) -> dict[str, Any]:
    """Run a spec; leaves `journal.jsonl`, `summary.json` and the output in `out`, and returns the summary.

    `warm_up` runs the pipeline for a few seconds first; whoever has just done so in the same session leaves it out.
    Setting `stop` ends the run; the batch in flight is given up and does not count, and the summary is written all the
    same. What an earlier run left in `out` is removed; a folder that holds anything else is refused.
    """
    prepared = prepare(spec)
    make_empty(out)
    journal = out / "journal.jsonl"
    stop = stop or threading.Event()
    began_s = time.monotonic()
    reached = Reached()

    def tell(phase: str, items_done: int = 0) -> None:
        if tick is not None:
            tick(RunState(phase, time.monotonic() - began_s, items_done, prepared.workload.items, journal))

    if isinstance(prepared.app, PreparingApp):
        # Workers map it into memory.
        prepared.app.make_input(spec.seed, lambda done, _: tell("making the input", done))
    tell("starting Spark")
    with session(spec.master) as spark, settings_in_force(spark, prepared.app.session_settings):
        if warm_up:
            tell("warming up")
            _warm_up(spark, prepared, out, stop)
        if not stop.is_set():
            reached = _run_query(spark, prepared, out, journal, stop, tell)
    tell("checking output", reached.items)
    summary = {
        "app": spec.app,
        "class": spec.size_class,
        **_summary(read(journal) if journal.exists() else Recording(), prepared, reached),
        "digest_ok": _digest_ok(prepared, out, tell) if spec.check_output and reached.whole else None,
        **_truth(prepared, out, reached),
        "interrupted": not reached.whole,
        "wall_s": time.monotonic() - began_s,
        "bad_rows": getattr(prepared.app, "bad_rows", 0),
        "first_bad_row": getattr(prepared.app, "first_bad_row", None),
        "spec": asdict(spec) | {"settings": dict(spec.settings), "size": prepared.size, "arrivals": prepared.arrivals},
    }
    # Whole or not at all: whoever finds a summary may take the run for finished.
    write_json(out / "summary.json", summary, indent=2)
    return summary


def _run_query(
    spark: SparkSession,
    prepared: PreparedRun,
    out: Path,
    journal: Path,
    stop: threading.Event,
    tell: Callable[[str, int], None],
) -> Reached:
    """The query under its loop, until its items are done or somebody stops it; returns how far it came."""
    from penstock.spark.attach import attach

    spec, reached = prepared.spec, Reached()
    query = _start(spark, prepared, out)
    labels: dict[str, Any] = {
        "app": spec.app,
        "class": spec.size_class,
        "seed": spec.seed,
        "arrivals": prepared.arrivals,
    }
    if spec.options:
        labels["options"] = dict(spec.options)
    if spec.label is not None:
        labels["controller"] = spec.label
    if spec.trigger is not None:
        labels["trigger"] = spec.trigger
    try:
        with attach(
            query,
            prepared.slo,
            spec.controller,
            size=prepared.size,
            observe=not spec.gated,
            journal=journal,
            # Without a limit the first batch may be the only one.
            warm_up_batches=1 if spec.gated else 0,
            labels=labels | {"cost": spec.cost, "items": prepared.workload.items},
            **spec.settings,
        ):
            while query.isActive and not stop.is_set() and reached.items != prepared.workload.items:
                tell("running", reached.items)
                stop.wait(_TICK_S)
                reached = _reached(query)
            _raise_failure(query, out)
            finished = reached.items == prepared.workload.items
            if finished and prepared.app.stateful:
                tell("closing windows", reached.items)
                _finish(query, out)
            # Before the gate opens again: no last batch shall take the rest of the stream.
            query.stop()
            # A run that somebody stopped may have come further in the meantime.
            return replace(_reached(query), whole=finished)
    except BaseException:
        # Whatever went wrong: no query goes on behind the back of who started it.
        with suppress(Exception):
            query.stop()
        raise


def _finish(query: StreamingQuery, out: Path) -> None:
    """Wait for the batches without data in which a watermark that has moved gives out what it closed."""
    try:
        query.processAllAvailable()
    except Exception:
        _raise_failure(query, out)
        raise


def _start(spark: SparkSession, prepared: PreparedRun, out: Path) -> StreamingQuery:
    from penstock.spark.reader import gated
    from penstock.spark.source.workload import read_workload

    spec = prepared.spec
    reader = read_workload(spark, prepared.workload, partitions=spec.partitions, admit=spec.admit)
    df = prepared.app.pipeline((gated(reader, first=prepared.rows) if spec.gated else reader).load())
    writer = prepared.app.sink(df, out / "output").option("checkpointLocation", str(out / "checkpoint"))
    if (interval_ms := _interval_ms(spec)) is not None:
        writer = writer.trigger(processingTime=f"{interval_ms} milliseconds")
    return writer.queryName(f"{spec.app}-{spec.label or spec.controller}").start()


def _warm_up(spark: SparkSession, prepared: PreparedRun, out: Path, stop: threading.Event) -> None:
    """The same pipeline over the first items, into the bin: workers, kernels and the JVM's compiler get warm."""
    rows = prepared.app.first_size(prepared.spec.size_class)
    items = min(WARM_UP_BATCHES * rows, prepared.workload.items or WARM_UP_BATCHES * rows)
    workload = replace(prepared.workload, items=items, arrivals=Saturated())
    trial(spark, prepared, workload, rows, out, stop)


def trial(
    spark: SparkSession, prepared: PreparedRun, workload: Workload, rows: int, out: Path, stop: threading.Event
) -> list[tuple[int, float]]:
    """The app's pipeline over a workload in batches of so many rows, into the bin: items and seconds of each batch."""
    from penstock.spark.source.workload import read_workload

    df = read_workload(spark, workload, max_rows=rows, partitions=prepared.spec.partitions).load()
    folder = out / "warm-up"
    writer = prepared.app.sink(prepared.app.pipeline(df), folder / "output")
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    # Not awaitTermination, which raises what the query raised.
    while query.isActive:
        stop.wait(_TICK_S)
        if stop.is_set():
            query.stop()
    if not stop.is_set():
        _raise_failure(query, out)
    shutil.rmtree(folder, ignore_errors=True)
    batches = [(progress["numInputRows"], progress["batchDuration"] / 1e3) for progress in query.recentProgress]
    return [(items, took_s) for items, took_s in batches if items]


def _interval_ms(spec: RunSpec) -> int | None:
    if spec.trigger is None:
        return None
    interval_ms = round(1e3 * parse_duration_s(spec.trigger, "trigger"))
    if interval_ms < 1:
        raise BadInputError("trigger", spec.trigger, "not an interval between batches", "write e.g. '10 s'")
    return interval_ms


def _raise_failure(query: StreamingQuery, out: Path) -> None:
    if (failure := query.exception()) is not None:
        raise PenstockError(f"the query failed: {cause(failure)}; see {out}")


def _reached(query: StreamingQuery) -> Reached:
    progress = query.lastProgress
    if progress is None:
        return Reached()
    offset = progress["sources"][0]["endOffset"]
    end: Mapping[str, Any] = (json.loads(offset) if isinstance(offset, str) else offset) or {}
    epoch_ms = end.get("epoch_ms")
    return Reached(int(end.get("index", 0)), None if epoch_ms is None else epoch_ms / 1e3)


def _summary(recording: Recording, prepared: PreparedRun, reached: Reached) -> dict[str, Any]:
    samples = recording.samples
    if prepared.spec.admit == "rows":
        samples = [counted(sample) for sample in samples]
    summary = summarise(samples, prepared.slo)
    control_s = recording.control_s
    batches = max(len(samples), 1)
    busy_s = sum(sample.processing_s for sample in samples)
    return {
        **summary,
        **window_rates(recording),
        "end_to_end": end_to_end(recording, prepared.workload, reached),
        "processed": processed(recording, prepared.app.row_bytes),
        "control": {
            "mean_ms": 1e3 * sum(control_s) / batches,
            "max_ms": 1e3 * max(control_s, default=0.0),
            "share_percent": 100 * sum(control_s) / busy_s if busy_s > 0 else None,
        },
        "saso": [asdict(response) for response in responses(samples, prepared.slo)],
        "events": [{"name": event.name, **event.details} for event in recording.events],
    }


def _digest_ok(prepared: PreparedRun, out: Path, tell: Callable[[str, int], None]) -> bool:
    spec = prepared.spec
    key = (spec.size_class, spec.seed, spec.cost)
    app, arrivals = prepared.app, prepared.arrivals
    expected = app.known_digest(*key, arrivals=arrivals)
    if expected is None:
        # Minutes for a large class, but only once.
        expected = app.reference_digest(*key, lambda done, _: tell("checking output", done), arrivals=arrivals)
    return app.digest(out / "output") == expected


def _truth(prepared: PreparedRun, out: Path, reached: Reached) -> dict[str, Any]:
    """How right the output is, where the application's generator knows."""
    if isinstance(prepared.app, TruthfulApp) and prepared.spec.check_output and reached.items:
        return dict(prepared.app.truth(out / "output"))
    return {}


def make_empty(out: Path) -> None:
    """Make a run's folder and remove what an earlier run left in it; one that holds anything else is refused."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        strange = {
            path.name for path in out.iterdir() if path.name not in _OURS and not path.name.startswith(_OUR_FILES)
        }
        if strange:
            reason = f"holds {min(strange)!r}, which no run wrote"
            raise BadInputError("out", str(out), reason, "give a new or empty folder")
        for name in ("output", "checkpoint", "warm-up"):
            shutil.rmtree(out / name, ignore_errors=True)
        for path in out.glob("journal.jsonl*"):
            path.unlink()
        (out / "summary.json").unlink(missing_ok=True)
    except OSError as error:
        raise BadInputError(
            "out", str(out), f"cannot be written ({error.strerror})", "give a folder you own"
        ) from error
