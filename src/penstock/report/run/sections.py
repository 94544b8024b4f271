"""The sections of a run's report, in the order of the page; what a journal does not hold has no section."""

from __future__ import annotations

from penstock.report.batches import thinned
from penstock.report.page import Section
from penstock.report.run.charts import cumulative_chart, patterns_chart, phases_chart, spread_chart
from penstock.report.run.data import Run
from penstock.report.run.sentences import settling_words
from penstock.report.run.tables import (
    configuration,
    decisions_table,
    events_table,
    phases_table,
    responses_table,
)
from penstock.report.run.timeline import timeline_chart
from penstock.score import responses

MOST_DRAWN = 3000
_TRACE = (
    "The green band is the objective. Point at a batch to see what was decided on it and why; click it to go to that "
    "decision. Drag to zoom, double-click to see all."
)
_BOTH = "The band is that of the first objective; a batch within it is marked as a miss where it missed {also}."
_HITS = "Hits over all batches so far. I-SLH counts each batch by its items, B-SLH counts each batch once."
_PATTERNS = "The same hits in each part of the load."
_SPREAD = "Each batch by its items, against the target; bars at the ends hold all that lies farther out."
_TIME = (
    "Mean over the batches. Penstock's own work (monitor, controller, gate, journal) is no part of these phases, so it "
    "has a bar of its own."
)
_DECISIONS = (
    "What was decided on each batch. A decision marked replaced was taken at the end of the job and made anew when "
    "Spark had confirmed the time."
)


def sections(run: Run) -> list[Section]:
    """All of them; events come first where one is unusual, and near the end otherwise."""
    events = _events(run)
    first, last = (events, []) if run.unusual else ([], events)
    return [
        *first,
        *_trace(run),
        *_hits(run),
        *_time(run),
        *_changes(run),
        *_decisions(run),
        *last,
        _configuration(run),
    ]


def _events(run: Run) -> list[Section]:
    if not run.recording.events:
        return []
    return [Section("events", "Events", "", [events_table(run.recording.events, run.batches)])]


def _trace(run: Run) -> list[Section]:
    drawable = [batch for batch in run.batches if batch.drawable]
    if not drawable:
        return []
    drawn = thinned(drawable, MOST_DRAWN)
    about = _TRACE if run.slo.also is None else f"{_TRACE} {_BOTH.format(also=run.slo.also)}"
    if len(drawn) < len(drawable):
        shown = f"{len(drawn):,} of {len(drawable):,} batches"
        about += f" {shown} are drawn: an even choice, and of every stretch the highest. All numbers count every batch."
    return [Section("latency", "Batch by batch", about, [timeline_chart(drawable, drawn, run.slo)])]


def _hits(run: Run) -> list[Section]:
    if not run.counted:
        return []
    patterns = run.metrics["patterns"]
    return [
        Section("hits", "Hits over the stream", _HITS, [cumulative_chart(run.counted, run.slo)]),
        *([Section("patterns", "Hits by pattern", _PATTERNS, [patterns_chart(patterns)])] if patterns else []),
        Section("spread", "Spread around the target", _SPREAD, [spread_chart(run.counted, run.slo)]),
    ]


def _time(run: Run) -> list[Section]:
    durations_s, control = run.metrics["durations_s"], run.control()
    if not durations_s:
        return []
    chart, table = phases_chart(durations_s, control["mean_s"]), phases_table(durations_s, control)
    return [Section("time", "Where the time goes", _TIME, [chart, table])]


def _changes(run: Run) -> list[Section]:
    changes = responses(run.recording.samples, run.slo)
    if not changes:
        return []
    return [Section("changes", "Response to load changes", settling_words(changes), [responses_table(changes)])]


def _decisions(run: Run) -> list[Section]:
    if not run.recording.decisions:
        return []
    return [Section("decisions", "Decisions", _DECISIONS, [decisions_table(run.recording, run.batches, run.slo)])]


def _configuration(run: Run) -> Section:
    about = "" if run.batches else "The journal holds no batch."
    return Section("configuration", "Configuration", about, [configuration(run.recording.header, run.extra)])
