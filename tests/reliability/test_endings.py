"""Other ends than a kill: a query that fails, a session that is stopped, a program that just ends, a full disk."""

from __future__ import annotations

from typing import Any

from penstock.journal import read


def test_a_failed_query_ends_the_loop_and_loses_nothing_once_repaired(runs: Any) -> None:
    runs.items = 10_000
    child = runs.finish("fail")
    assert child.out.splitlines() == [
        "READY",
        "FAILED",
        "ENDED the query has stopped",
        "STILL the query has stopped",
        "DONE",
    ]
    runs.assert_exactly_once()
    (failed, repaired), torn = runs.places[0].journaled_runs()
    assert torn == 0
    events = [record for record in failed if record["kind"] == "event"]
    assert [event["name"] for event in events] == ["query-failed", "detached"]
    assert "the stage is broken" in events[0]["error"]
    assert not [record for record in repaired if record.get("name") == "query-failed"]
    last_before = max(each["batch_id"] for each in failed if each["kind"] == "sample" and each["confirmed"])
    replayed = [each["batch_id"] for each in repaired if each.get("status") == "replayed"]
    assert set(replayed) == {last_before + 1}


def test_a_session_stopped_under_a_live_handle_ends_it_in_order(runs: Any) -> None:
    child = runs.finish("stop")
    ended = [line for line in child.out.splitlines() if line.startswith("ENDED")]
    assert ended[0] in ("ENDED the query has stopped", "ENDED the session has ended")
    assert "Traceback" not in child.err
    assert read(runs.places[0].folder / "journal.jsonl").events[-1].name == "detached"


def test_a_program_that_ends_with_a_live_handle_ends_in_order(runs: Any) -> None:
    child = runs.finish("leave")
    assert "Traceback" not in child.err
    assert read(runs.places[0].folder / "journal.jsonl").torn == 0


def test_a_full_disk_costs_journal_records_and_nothing_else(runs: Any) -> None:
    child = runs.finish("full")
    assert "WENT ON, active" in child.out
    runs.assert_exactly_once()
    assert "records are lost" in child.err
    recording = read(runs.places[0].folder / "journal.jsonl")
    lost = [event.details["records"] for event in recording.events if event.name == "journal-lost"]
    assert lost
    assert sum(lost) > 0
    missing = runs.places[0].last("commits") + 1 - len(recording.samples)
    assert 0 < missing <= sum(lost)
    assert recording.torn == 0
