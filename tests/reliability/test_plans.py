"""Killed while its plan changes at every batch, a query never runs an older plan, nor two under one number."""

from __future__ import annotations

import json
import random
import time
from typing import Any

SEED = 4711


def test_kills_around_changes_of_the_plan_leave_every_batch_with_one_version_and_none_goes_back(runs: Any) -> None:
    import pyarrow.parquet as pq

    from penstock.apps.digest import committed_files
    from penstock.spark.plans.kept import kept_beside, load_plan

    print(f"seed {SEED}")
    moments = random.Random(SEED)
    runs.items = 12_000
    place = runs.places[0]
    kept = kept_beside(place.folder / "journal.jsonl")
    kept_at_kill = []
    for target in ("both", "python", "jvm"):
        child = runs.start("plans")
        runs.wait_for_commits(child, moments.randint(2, 5))
        time.sleep(moments.uniform(0.0, 0.3))
        child.kill(target)
        kept_at_kill.append(load_plan(kept).version)
    runs.finish("plans")
    runs.assert_exactly_once()

    tables = [
        pq.read_table(path, columns=["batch", "version", "made_by"])
        for path in committed_files(place.folder / "output")
    ]
    rows = {tuple(row.values()) for table in tables for row in table.to_pylist()}
    versions: dict[int, set[int]] = {}
    makers: dict[int, set[str]] = {}
    for batch_id, version, made_by in rows:
        versions.setdefault(batch_id, set()).add(version)
        makers.setdefault(version, set()).add(made_by)
    assert all(len(each) == 1 for each in versions.values()), "a batch ran two versions"
    assert all(len(each) == 1 for each in makers.values()), "a version number was given out twice"
    ran = [min(versions[batch_id]) for batch_id in sorted(versions)]
    assert ran == sorted(ran), "a batch ran an older version than the one before it"
    assert ran[-1] <= load_plan(kept).version
    assert_journal_agrees(place, versions, kept_at_kill)


def assert_journal_agrees(place: Any, versions: dict[int, set[int]], kept_at_kill: list[int]) -> None:
    """No run begins with less than was kept at the kill before it; echoes say what the rows say; nothing disobeyed."""
    journaled, _ = place.journaled_runs()
    assert len(journaled) == len(kept_at_kill) + 1
    set_in = [
        [each["version"] for each in records if each.get("name") == "plan" and each["kind"] == "event"]
        for records in journaled
    ]
    print(json.dumps({"kept_at_kill": kept_at_kill, "set": [[each[0], each[-1]] for each in set_in]}))
    for kept, before, after in zip(kept_at_kill, set_in, set_in[1:], strict=False):
        assert before[-1] <= kept == after[0]
        assert after == list(range(after[0], after[0] + len(after)))
    records = [record for run in journaled for record in run]
    assert not [record for record in records if record.get("name") == "plan-disobeyed"]
    echoes = {record["batch_id"]: set(record["versions"]) for record in records if record["kind"] == "echo"}
    assert len(echoes) > len(versions) / 2
    assert all(echoes[batch_id] == versions[batch_id] for batch_id in echoes if batch_id in versions)
