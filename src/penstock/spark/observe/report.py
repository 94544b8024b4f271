"""Pure parsing of what Spark reports: progress events, and the job events of our probe."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any

# Spark's durationMs keys by the phase a user thinks in; what is in none of them is "other".
_PHASES = {
    "planning": ("latestOffset", "getOffset", "getBatch", "queryPlanning"),
    "wal": ("walCommit",),
    "processing": ("addBatch",),
    "commit": ("commitOffsets", "commitBatch"),
}


@dataclass(frozen=True, slots=True)
class SourceRange:
    """What one batch took from one source: offsets as JSON text, and what else is known.

    `files` and `bytes` are of the files taken; `backlog` is the files still waiting, as last counted, so at least so
    many; `rows` the rows read (told by the progress event only), `latest` the end of what there was (Kafka), `at_s`
    when the trigger began.
    """

    start: str | None
    end: str | None
    files: int | None = None
    backlog: float | None = None
    bytes: int | None = None
    rows: int | None = None
    latest: str | None = None
    at_s: float | None = None


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What Spark tells of a batch: at the end of each of its jobs so far, and `confirmed` by the progress event.

    `took_s` is the time since the trigger began. `executed` is false where no batch was run, or where the report cannot
    tell which; `planned` is false for a batch that a former run had planned. `items` are known once it is confirmed.
    `oldest_s` and `newest_s` are event times, where the query has a watermark: the oldest that it has seen in this
    batch so far.
    """

    query_id: str
    batch_id: int
    started_s: float
    took_s: float
    confirmed: bool = False
    executed: bool = True
    planned: bool = True
    failed: bool = False
    items: int | None = None
    sources: tuple[SourceRange, ...] = ()
    durations_s: Mapping[str, float] = field(default_factory=dict)
    oldest_s: float | None = None
    newest_s: float | None = None
    state_partitions: int | None = None


def parse_job_end(event: Mapping[str, Any]) -> BatchReport:
    """The probe's job event; one without the trigger's time or without sources is of no batch that can be told."""
    trigger_s = event["trigger_ms"] / 1e3 if "trigger_ms" in event else math.nan
    sources = tuple(
        SourceRange(
            s.get("start"),
            s.get("end"),
            s.get("files"),
            s.get("backlog"),
            s.get("bytes"),
            latest=s.get("latest"),
            at_s=trigger_s,
        )
        for s in event.get("sources", ())
    )
    return BatchReport(
        query_id=event["query"],
        batch_id=int(event["batch"]),
        started_s=trigger_s,
        took_s=event["end_ms"] / 1e3 - trigger_s,
        executed=bool(sources) and not math.isnan(trigger_s),
        planned=bool(event.get("planned", True)),
        failed=not event["ok"],
        sources=sources,
        oldest_s=event["oldest_ms"] / 1e3 if event.get("oldest_ms") is not None else None,
    )


def parse_progress(text: str, files: Sequence[int | None] = (), rows: Sequence[int | None] = ()) -> BatchReport:
    """A `StreamingQueryProgress` as JSON, of any Spark from 4.0 on.

    `files` and `rows` are what the probe counted of each source. Spark's own rows are those that were scanned, which in
    foreachBatch are as many times more as it has actions; they are taken where the probe has none.

    >>> progress = parse_progress('''{"id": "q", "runId": "r", "batchId": 3, "timestamp": "2026-01-31T10:00:00.250Z",
    ...     "numInputRows": 500, "sources": [{"startOffset": {"index": 0}, "endOffset": {"index": 500},
    ...     "numInputRows": 500}], "durationMs": {"addBatch": 70, "latestOffset": 5, "queryPlanning": 5,
    ...     "triggerExecution": 100, "walCommit": 12, "commitOffsets": 8}}''')
    >>> progress.batch_id, progress.took_s, progress.items, progress.planned
    (3, 0.1, 500, True)
    >>> progress.durations_s
    {'planning': 0.01, 'wal': 0.012, 'processing': 0.07, 'commit': 0.008, 'other': 0.0}
    """
    event = json.loads(text)
    durations_ms: Mapping[str, float] = event.get("durationMs") or {}
    sources, operators = event.get("sources") or [], event.get("stateOperators") or []
    total = event.get("numInputRows")
    ranges = tuple(
        SourceRange(
            _offset(s.get("startOffset")),
            _offset(s.get("endOffset")),
            taken,
            rows=s.get("numInputRows") if counted is None else counted,
            latest=_offset(s.get("latestOffset")),
            at_s=_timestamp_s(event["timestamp"]),
        )
        for s, taken, counted in zip_longest(sources, files[: len(sources)], rows[: len(sources)])
    )
    return BatchReport(
        query_id=event["id"],
        batch_id=int(event["batchId"]),
        started_s=_timestamp_s(event["timestamp"]),
        took_s=durations_ms.get("triggerExecution", event.get("batchDuration", math.nan)) / 1e3,
        confirmed=True,
        items=int(sum(r.rows or 0 for r in ranges) if ranges or total is None else total),
        planned="latestOffset" in durations_ms or "getOffset" in durations_ms,
        executed="addBatch" in durations_ms,
        sources=ranges,
        durations_s=_phases(durations_ms),
        oldest_s=_oldest_s(event.get("eventTime") or {}),
        newest_s=_event_s(event.get("eventTime") or {}, "max"),
        state_partitions=max((o.get("numShufflePartitions") or 0 for o in operators), default=None),
    )


def _oldest_s(event_time: Mapping[str, str]) -> float | None:
    """The event time of the oldest item that counts: what is older than the watermark, the query itself drops."""
    oldest_s, watermark_s = _event_s(event_time, "min"), _event_s(event_time, "watermark")
    return oldest_s if oldest_s is None or watermark_s is None else max(oldest_s, watermark_s)


def _event_s(event_time: Mapping[str, str], name: str) -> float | None:
    try:
        return _timestamp_s(event_time[name]) if event_time.get(name) else None
    except (ValueError, OverflowError):
        # A record may carry any time at all, also one that no calendar has.
        return None


def _phases(durations_ms: Mapping[str, float]) -> dict[str, float]:
    phases = {phase: round(sum(durations_ms.get(key, 0) for key in keys) / 1e3, 6) for phase, keys in _PHASES.items()}
    total = durations_ms.get("triggerExecution", 0) / 1e3
    phases["other"] = round(max(total - sum(phases.values()), 0.0), 6)
    return phases


def _offset(value: object) -> str | None:
    return None if value is None else value if isinstance(value, str) else json.dumps(value)


def _timestamp_s(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC).timestamp()
