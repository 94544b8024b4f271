"""Killed at random moments, a gated query loses nothing and doubles nothing, and its journal tells what happened."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest

from penstock.journal import Record, read
from penstock.sample import Status

SEED = 20_240
LEAST_BATCHES = 30


@pytest.mark.parametrize("profile", ["fast", "safe"])
def test_kills_of_jvm_python_and_both_leave_every_item_exactly_once(runs: Any, profile: str) -> None:
    print(f"seed {SEED}")
    moments = random.Random(f"{SEED} {profile}")
    runs.profile = profile
    place = runs.places[0]
    again: list[int | None] = []
    for target in moments.sample(["jvm", "python", "both"], 3):
        child = runs.start()
        runs.wait_for_commits(child, moments.randint(2, 5))
        time.sleep(moments.uniform(0.0, 0.4))
        child.kill(target)
        assert not child.out.endswith("DONE\n")
        list(place.log_entries())
        again.append(place.pending())
        if target == "python":
            # A write is one call and rarely torn by a kill: tear the record that might have been.
            with open(place.folder / "journal.jsonl", "ab") as journal:
                journal.write(b'{"kind":"sample","t":17')
    print(f"run again after a kill: {again}")
    runs.finish()
    runs.assert_exactly_once()
    assert place.last("commits") + 1 >= LEAST_BATCHES
    assert_journal_is_true(runs, again)


def test_a_batch_that_is_run_again_is_marked_and_decides_nothing(runs: Any) -> None:
    place = runs.places[0]
    runs.items = 4000
    child = runs.start()
    runs.wait_for_commits(child, 2)
    # A stage that does not find this marker says that it waits: its batch is planned and cannot end.
    (runs.folder / "waiting").unlink(missing_ok=True)
    (runs.folder / "attached").unlink()
    deadline_s = time.monotonic() + 120
    while not (runs.folder / "waiting").exists():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    child.kill("both")
    again = place.pending()
    assert again is not None
    runs.finish()
    runs.assert_exactly_once()
    assert_journal_is_true(runs, [again])


def assert_journal_is_true(runs: Any, again: list[int | None]) -> None:
    """`again` holds, for each kill, the batch that the next run had to run again."""
    place = runs.places[0]
    journaled, torn = place.journaled_runs()
    recording = read(place.folder / "journal.jsonl")
    assert torn == recording.torn <= len(again)
    assert len(journaled) == len(again) + 1, "one opening a run"
    for number, records in zip(again, journaled[1:], strict=True):
        assert any(record.get("name") == "resumed" for record in records)
        if number is not None:
            assert statuses(records, number) == {Status.REPLAYED}
            assert not [each for each in records if each["kind"] == "decision" and each["batch_id"] == number]
        others = [each for each in records if each["kind"] == "sample" and each["batch_id"] != number]
        assert not [each for each in others if each.get("status") == Status.REPLAYED]
    assert recording.samples[-1].batch_id == place.last("commits")
    assert recording.samples[-1].confirmed
    assert recording.events[-1].details["why"] == "the query has stopped"


def statuses(records: list[Record], batch_id: int) -> set[str]:
    return {each["status"] for each in records if each["kind"] == "sample" and each["batch_id"] == batch_id}
