"""Killed at random moments while its sliding batches change, a query over windows loses none and doubles none."""

from __future__ import annotations

import random
import time
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from penstock.apps.digest import committed_files
from penstock.workloads.workload import uniform

SEED = 22
LENGTH, EVERY = 50, 7


def test_kills_of_jvm_and_python_leave_every_window_exactly_once(runs: Any) -> None:
    print(f"seed {SEED}")
    moments = random.Random(SEED)
    runs.items, runs.size = 6_000, 400
    again = []
    for target in moments.sample(["jvm", "python"], 2):
        child = runs.start("windows")
        runs.wait_for_commits(child, moments.randint(2, 4))
        time.sleep(moments.uniform(0.0, 0.6))
        child.kill(target)
        assert not child.out.endswith("DONE\n")
        again.append(runs.places[0].pending())
    print(f"run again after a kill: {again}")
    runs.finish("windows")
    tables = [pq.read_table(path) for path in committed_files(runs.places[0].folder / "output")]
    found = sorted(
        row
        for table in tables
        for row in zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True)
    )
    values = uniform(np.arange(runs.items), seed=1).tolist()
    starts = range(0, runs.items - LENGTH + 1, EVERY)
    journaled, _ = runs.places[0].journaled_runs()
    confirmed = [record for run in journaled for record in run if record.get("name") == "plan-confirmed"]
    assert confirmed, "no change was in force"
    assert found == [
        (window, start, start + LENGTH, sum(values[start : start + LENGTH])) for window, start in enumerate(starts)
    ]
