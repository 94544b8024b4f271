"""Admission by cost: exact sums, a receipt that says so, and a gate that counts in it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.clock import ManualClock
from penstock.errors import BadInputError
from penstock.patterns import parse, parse_arrivals
from penstock.patterns.layout import work_layout
from penstock.sample import Decision
from penstock.spark.observe.report import SourceRange
from penstock.spark.source.mailbox import Admission, Mailbox
from penstock.workloads import workload as module
from penstock.workloads.workload import Workload

pytest.importorskip("pyspark.sql.streaming.datasource", reason="the source needs Spark 4.2")

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from penstock.spark.gates import SplitGate, WorkloadGate
from penstock.spark.observe.sampler import Admitted
from penstock.spark.source.workload import WorkloadReader

LAYOUT = work_layout(work=2e5, low=1.0, high=30.0, batches=20)
WORKLOAD = Workload(parse_arrivals("saturated"), LAYOUT)
COSTS = np.asarray(LAYOUT.cost(np.arange(LAYOUT.items)))


class LiveFake:
    """A running query, as far as a gate asks."""

    def stopped(self) -> bool:
        return False


def gate(mailbox: Mailbox, unit: str = "cost") -> WorkloadGate:
    return WorkloadGate(cast(Any, LiveFake()), mailbox, 0, None, unit)


def source_range(start: int, stop: int) -> tuple[SourceRange, ...]:
    return (SourceRange(json.dumps({"index": start}), json.dumps({"index": stop})),)


def reader(folder: Path, workload: Workload = WORKLOAD, **options: str) -> WorkloadReader:
    clock = ManualClock(_wall_s=1_000.0)
    return WorkloadReader(workload, {"mailbox": str(folder), "admit": "cost", **options}, clock=clock)


@given(st.integers(0, LAYOUT.items - 1), st.floats(0.0, 1e5))
def test_a_batch_costs_no_more_than_the_budget_and_one_more_item_would(start: int, budget: float) -> None:
    stop, cost = WORKLOAD.within(start, LAYOUT.items, budget)
    assert stop > start
    assert cost == pytest.approx(math.fsum(COSTS[start:stop]), rel=1e-12)
    assert cost <= budget or stop == start + 1
    if stop < LAYOUT.items:
        assert cost + COSTS[stop] > budget


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_the_sum_does_not_depend_on_the_chunks(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [WORKLOAD.within(start, LAYOUT.items, 3e4) for start in (0, 500)]
    monkeypatch.setattr(module, "_CHUNK", chunk)
    assert [WORKLOAD.within(start, LAYOUT.items, 3e4) for start in (0, 500)] == whole


def test_a_small_budget_looks_at_few_items_of_an_endless_stream() -> None:
    endless = Workload(parse_arrivals("saturated"), parse("wave:min=1,max=9,period=100"))
    stop, cost = endless.within(10**12, 10**15, 100.0)
    assert 10**12 < stop < 10**12 + 101
    assert 91.0 < cost <= 100.0


def test_what_a_row_costs_by_itself_counts() -> None:
    plain = replace(WORKLOAD, row_cost=0.0).within(0, LAYOUT.items, 1e4)[0]
    stop, cost = replace(WORKLOAD, row_cost=50.0).within(0, LAYOUT.items, 1e4)
    assert stop < plain
    assert cost == pytest.approx(COSTS[:stop].sum() + 50.0 * stop)


def test_the_source_admits_the_budget_and_the_receipt_tells_what_it_cost(tmp_path: Path) -> None:
    mailbox = Mailbox(tmp_path)
    mailbox.admit(Admission(size=5e3, unit="cost"))
    source, offset = reader(tmp_path), {"index": 0, "epoch_ms": 1_000_000}
    stops = [0]
    while stops[-1] < LAYOUT.items:
        offset = source.latestOffset(offset, ReadAllAvailable())
        stops.append(offset["index"])
        receipt = mailbox.receipt()
        assert receipt is not None
        assert receipt.cost == pytest.approx(COSTS[stops[-2] : stops[-1]].sum())
        assert receipt.cost <= 5e3
        assert stops[-1] == LAYOUT.items or receipt.cost + COSTS[stops[-1]] > 5e3


def test_an_item_dearer_than_the_budget_is_a_batch_of_its_own(tmp_path: Path) -> None:
    Mailbox(tmp_path).admit(Admission(size=0.5, unit="cost"))
    assert reader(tmp_path).latestOffset({"index": 7, "epoch_ms": 1_000_000}, ReadAllAvailable())["index"] == 8


def test_before_a_gate_speaks_the_rows_of_the_option_hold_and_their_cost_is_told(tmp_path: Path) -> None:
    end = reader(tmp_path).latestOffset({"index": 0, "epoch_ms": 1_000_000}, ReadMaxRows(50))
    assert end["index"] == 50
    receipt = Mailbox(tmp_path).receipt()
    assert receipt is not None
    assert receipt.cost == pytest.approx(COSTS[:50].sum())


def test_a_batch_waits_for_its_least_cost_but_not_where_the_budget_cut_it(tmp_path: Path) -> None:
    steady = Workload(parse_arrivals("constant:rate=1/s"), parse("constant:value=60"), items=1000)
    source = reader(tmp_path, steady)
    clock = cast(ManualClock, source._clock)
    start = source.initialOffset()
    Mailbox(tmp_path).admit(Admission(size=100.0, min_size=95.0, max_wait_s=3600.0, unit="cost"))
    clock.advance(1.0)
    assert source.latestOffset(start, ReadAllAvailable())["index"] == 0
    clock.advance(1.0)
    assert source.latestOffset(start, ReadAllAvailable())["index"] == 1


def test_the_gate_counts_in_cost_and_restores_in_rows(tmp_path: Path) -> None:
    mailbox = Mailbox(tmp_path)
    cost_gate = gate(mailbox)
    cost_gate.apply(Decision(5e3, "a test"))
    assert (cost_gate.unit, mailbox.admission().unit, mailbox.admission().size) == ("cost", "cost", 5e3)
    stop = reader(tmp_path).latestOffset({"index": 0, "epoch_ms": 1_000_000}, ReadAllAvailable())["index"]
    admitted = cost_gate.admitted(source_range(0, stop))
    assert admitted.size == pytest.approx(COSTS[:stop].sum())
    assert admitted.backlog == LAYOUT.items - stop
    assert gate(mailbox, "rows").admitted(source_range(0, stop)).size == stop
    cost_gate.restore()
    assert mailbox.admission().unit == "rows"


def test_without_a_receipt_the_cost_is_unknown_and_an_empty_batch_still_empty(tmp_path: Path) -> None:
    assert math.isnan(gate(Mailbox(tmp_path)).admitted(source_range(0, 5)).size)
    assert gate(Mailbox(tmp_path)).admitted(source_range(5, 5)).size == 0.0


def test_two_sources_split_one_budget_of_cost_by_their_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gates = [gate(Mailbox(tmp_path / name)) for name in ("a", "b")]
    for each, admitted in zip(
        gates, (Admitted(100.0, load=5.0, rows=10.0), Admitted(100.0, load=1.0, rows=50.0)), strict=True
    ):
        monkeypatch.setattr(each, "admitted", lambda sources, admitted=admitted: admitted)
    both = SplitGate(gates).admitted(())
    assert both.size == 200.0
    assert both.load == pytest.approx((5.0 * 10 + 1.0 * 50) / 60)
    assert both.rows == 60.0


def test_an_unknown_unit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="rows or cost"):
        reader(tmp_path, admit="euros")
