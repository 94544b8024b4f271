"""A comparison on real Spark: no limit at all, a fixed size, and the oracle that admits by cost."""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.apps.military.app import MilitaryServer
from penstock.bench.compare.runs import compare_runs
from penstock.bench.compare.spec import CompareSpec
from penstock.bench.run import RunSpec, Work, prepare, run
from penstock.journal import read
from penstock.sample import Status
from penstock.score.comparison import load
from penstock.workloads.workload import Workload

# The smallest squares there are: all that is left is the cost of the rows themselves.
CHEAP = "wave:min=1,max=30,period=8k"
ITEMS = 12_000


class ShortStream(MilitaryServer):
    """The first items of Military Server."""

    def workload(self, *args: Any, **options: Any) -> Workload:
        return replace(super().workload(*args, **options), items=ITEMS)


@pytest.fixture(autouse=True)
def _short_stream(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("penstock.apps.registry.create", lambda name: ShortStream())
    monkeypatch.setattr("penstock.bench.run.WARM_UP_BATCHES", 1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_plain_fixed_and_oracle_side_by_side(spark: SparkSession, tmp_path: Path) -> None:
    def watch(spec: RunSpec, work: Work) -> dict[str, Any]:
        return work(lambda state: None, threading.Event())

    names = ("plain", "fixed:size=5k", "oracle:size=3k")
    # Far beyond any batch: on a machine however busy, the oracle only ever grows.
    spec = CompareSpec("military", names, size_class="test", slo="60 s ± 20%", cost=CHEAP)
    out = tmp_path / "comparison"
    found = compare_runs(spec, 1, out, watch)
    rows = {row["controller"]: row for row in found.comparison["rows"]}
    assert {name: (row["runs"], row["wrong_outputs"]) for name, row in rows.items()} == dict.fromkeys(names, (1, 0))
    plain = read(out / "r1" / "plain" / "journal.jsonl")
    assert [(sample.items, sample.status) for sample in plain.samples] == [(ITEMS, Status.OK)]
    assert plain.header["controller"] == "plain"
    fixed = read(out / "r1" / "fixed-size=5k" / "journal.jsonl")
    assert {sample.items for sample in fixed.samples[:-1]} == {5000}
    oracle = read(out / "r1" / "oracle-size=3k" / "journal.jsonl")
    assert oracle.header["unit"] == "cost"
    assert sum(sample.items for sample in oracle.samples) == ITEMS
    assert rows["oracle:size=3k"]["against_best"] == "oracle"
    assert load(out) == found.comparison
    assert not (out / "r1" / "plain" / "output").exists()


def test_admission_by_cost_is_exact_to_the_item(spark: SparkSession, tmp_path: Path) -> None:
    spec = RunSpec("military", "test", controller="fixed", cost=CHEAP, size=2000, admit="cost", check_output=False)
    prepared = prepare(spec)
    run(spec, tmp_path / "run")
    samples = read(tmp_path / "run" / "journal.jsonl").samples
    assert len({sample.items for sample in samples}) > 1
    first = 0
    for sample in samples:
        end = first + sample.items
        cost = prepared.workload.within(first, end, float("inf"))[1]
        assert sample.size == cost <= prepared.size
        next_cost = prepared.workload.load(end, end + 1) + prepared.workload.row_cost if end < ITEMS else math.inf
        assert cost + next_cost > prepared.size
        first = end
    assert first == ITEMS
