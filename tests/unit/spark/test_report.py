from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from penstock.spark.observe.report import BatchReport, SourceRange, parse_job_end, parse_progress

CAPTURED = sorted((Path(__file__).parent / "data").glob("progress-*.json"))


def captured(path: Path, kind: str) -> BatchReport:
    return parse_progress(json.dumps(json.loads(path.read_text())[kind]))


def test_the_supported_versions_are_captured():
    assert [path.stem for path in CAPTURED] == ["progress-4.0.0", "progress-4.2.0", "progress-4.3.0"]


@pytest.mark.parametrize("path", CAPTURED, ids=lambda path: path.stem)
def test_an_ordinary_batch_is_planned_and_executed(path: Path):
    progress = captured(path, "normal")
    assert (progress.batch_id, progress.items, progress.planned, progress.executed) == (2, 9, True, True)
    assert [(json.loads(s.start or ""), json.loads(s.end or "")) for s in progress.sources] == [
        ({"logOffset": 1}, {"logOffset": 2})
    ]


@pytest.mark.parametrize("path", CAPTURED, ids=lambda path: path.stem)
def test_the_phases_of_a_batch_add_up_to_its_trigger(path: Path):
    progress = captured(path, "normal")
    assert progress.took_s > 0
    assert sum(progress.durations_s.values()) == pytest.approx(progress.took_s)
    assert set(progress.durations_s) == {"planning", "wal", "processing", "commit", "other"}
    assert progress.durations_s["processing"] > 0


@pytest.mark.parametrize("path", CAPTURED, ids=lambda path: path.stem)
def test_a_trigger_without_data_executed_nothing(path: Path):
    progress = captured(path, "idle")
    assert (progress.items, progress.executed) == (0, False)


@pytest.mark.parametrize("path", CAPTURED, ids=lambda path: path.stem)
def test_a_batch_that_a_former_run_planned_is_told_apart(path: Path):
    progress = captured(path, "replayed")
    assert (progress.planned, progress.executed, progress.items) == (False, True, 24)


def test_the_timestamp_is_read_as_utc():
    event = {"id": "q", "runId": "r", "batchId": 0, "timestamp": "1970-01-01T00:01:00.500Z"}
    assert parse_progress(json.dumps(event)).started_s == 60.5


def test_what_is_missing_is_unknown_and_never_a_zero_latency():
    bare = {"id": "q", "runId": "r", "batchId": 0, "timestamp": "2026-01-31T10:00:00.250Z", "durationMs": {}}
    progress = parse_progress(json.dumps(bare))
    assert math.isnan(progress.took_s)
    assert (progress.items, progress.sources, progress.executed) == (0, (), False)


def test_rows_are_summed_over_sources_where_the_total_is_missing():
    event = {
        "id": "q",
        "runId": "r",
        "batchId": 0,
        "timestamp": "2026-01-31T10:00:00.250Z",
        "sources": [{"numInputRows": 3}, {"numInputRows": None}, {"numInputRows": 4, "endOffset": "7"}],
    }
    progress = parse_progress(json.dumps(event))
    assert progress.items == 7
    assert (progress.sources[2].end, progress.sources[2].rows) == ("7", 4)


def test_files_that_the_probe_counted_go_to_their_sources():
    event = {"id": "q", "runId": "r", "batchId": 0, "timestamp": "2026-01-31T10:00:00.250Z", "sources": [{}, {}]}
    assert [s.files for s in parse_progress(json.dumps(event), [None, 3]).sources] == [None, 3]
    assert [s.files for s in parse_progress(json.dumps(event), []).sources] == [None, None]


def test_a_job_event_of_the_probe_is_read_in_seconds():
    event = {
        "kind": "job",
        "query": "q",
        "run": "r",
        "batch": 4,
        "start_ms": 1500,
        "end_ms": 2000,
        "ok": True,
        "trigger_ms": 1250,
        "planned": False,
        "sources": [{"start": None, "end": '{"logOffset":4}', "files": 3, "backlog": None}],
    }
    job = parse_job_end(event)
    assert (job.batch_id, job.started_s, job.took_s) == (4, 1.25, 0.75)
    assert (job.confirmed, job.executed, job.failed, job.planned) == (False, True, False, False)
    assert job.sources == (SourceRange(None, '{"logOffset":4}', 3, None, at_s=1.25),)


def test_a_job_event_without_a_snapshot_is_of_no_batch_that_can_be_told():
    job = parse_job_end({"query": "q", "batch": 4, "start_ms": 1, "end_ms": 2, "ok": False})
    assert (job.sources, job.executed, job.failed) == ((), False, True)


def with_event_time(**times: str) -> BatchReport:
    event = {"id": "q", "runId": "r", "batchId": 0, "timestamp": "2026-01-31T10:00:00.250Z", "eventTime": times}
    return parse_progress(json.dumps(event))


def test_the_oldest_item_that_counts_is_not_older_than_the_watermark():
    watermark = "2026-01-31T09:59:50.000Z"
    late = with_event_time(min="1970-01-01T00:00:00.000Z", max="2026-01-31T10:00:00.000Z", watermark=watermark)
    fresh = with_event_time(min="2026-01-31T09:59:58.000Z", max="2026-01-31T10:00:00.000Z", watermark=watermark)
    assert late.oldest_s == pytest.approx(late.started_s - 10.25)
    assert fresh.oldest_s == pytest.approx(fresh.started_s - 2.25)


def test_an_event_time_that_no_calendar_has_is_not_known():
    odd = with_event_time(min="+292278994-08-17T07:12:55.807Z", max="-0044-03-15T00:00:00.000Z")
    assert (odd.oldest_s, odd.newest_s) == (None, None)


def test_the_partitions_of_the_state_are_those_of_its_largest_operator():
    event = {"id": "q", "runId": "r", "batchId": 0, "timestamp": "2026-01-31T10:00:00.250Z"}
    operators = [{"numShufflePartitions": 2}, {"numShufflePartitions": 200}, {}]
    assert parse_progress(json.dumps(event | {"stateOperators": operators})).state_partitions == 200
    assert parse_progress(json.dumps(event)).state_partitions is None


@pytest.mark.parametrize(
    ("rows", "items", "each"),
    [((), 9300, [9000, 300]), ((3000, None), 3300, [3000, 300]), ((3000, 100), 3100, [3000, 100])],
    ids=["not-counted", "one-counted", "both-counted"],
)
def test_rows_that_the_probe_counted_stand_for_those_that_spark_scanned(
    rows: tuple[int | None, ...], items: int, each: list[int]
) -> None:
    event = {"id": "q", "runId": "r", "batchId": 0, "timestamp": "2026-01-31T10:00:00.250Z", "numInputRows": 9300}
    event["sources"] = [{"numInputRows": 9000}, {"numInputRows": 300}]
    progress = parse_progress(json.dumps(event), (), rows)
    assert (progress.items, [source.rows for source in progress.sources]) == (items, each)
