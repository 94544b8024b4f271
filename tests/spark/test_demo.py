"""The demonstration on real Spark, with items that cost little."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.bench.demo import race
from penstock.bench.demo.race_result import FIXED, PENSTOCK, PLAIN, sentence
from penstock.bench.run import RunSpec, Work

CHEAP = "constant:value=16"


def test_three_drain_the_same_backlog_and_one_page_tells(spark: SparkSession, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("plotly")
    phases: list[str] = []
    sizes: dict[str | None, float | None] = {}

    def watch(spec: RunSpec, work: Work) -> dict[str, Any]:
        sizes[spec.label] = spec.size
        return work(lambda state: phases.append(state.phase), threading.Event())

    spec = replace(race.SPEC, cost=CHEAP)
    found = race.demonstrate(tmp_path, watch, spec, heaviest=CHEAP)
    assert not found.stopped
    assert list(found.results) == [PLAIN, PENSTOCK, FIXED]
    assert phases.index("measuring the heaviest items") < phases.index("running")
    assert (sizes[FIXED] or 0) >= 1
    plain, ours = found.results[PLAIN], found.results[PENSTOCK]
    assert plain.batches == 1
    assert ours.batches > 1
    for result in found.results.values():
        # The longest run may take two minutes; a machine on which even cheap items take longer is no place for a demo.
        assert (result.done_percent, result.cut_s, result.output_ok) == (100, None, True)
    assert "batches took at most 1 s; plain Spark" in sentence(found.results)
    for path in (found.picture, found.report):
        assert path is not None
        assert path.stat().st_size > 20_000
    assert not list(tmp_path.glob("*/warm-up")) + list(tmp_path.glob("warm-up"))
    assert not spark.streams.active
