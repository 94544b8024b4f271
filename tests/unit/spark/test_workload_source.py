from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.clock import ManualClock
from penstock.errors import BadInputError
from penstock.patterns import parse, parse_arrivals
from penstock.spark.source.mailbox import Admission, Mailbox, Receipt
from penstock.workloads.workload import Workload

pytest.importorskip("pyspark.sql.streaming.datasource", reason="the source needs Spark 4.2")

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from penstock.spark.source.workload import WorkloadReader

ALL = ReadAllAvailable()
ONE = parse("constant:value=1")


def workload(arrivals: str = "constant:rate=100", items: int | None = 1000, **fields: Any) -> Workload:
    return Workload(parse_arrivals(arrivals), fields.pop("cost", ONE), items=items, **fields)


class Rig:
    """A reader with a hand-moved clock, and the offset that Spark would keep for it."""

    def __init__(
        self, workload: Workload, options: Mapping[str, str] | None = None, folder: Path | None = None
    ) -> None:
        self.clock = ManualClock(_wall_s=1_000.0)
        box = {"mailbox": str(folder)} if folder else {}
        self.options = {**box, **(options or {})}
        self.workload = workload
        self.reader = WorkloadReader(workload, self.options, clock=self.clock)
        self.offset = self.reader.initialOffset()

    def plan(self, limit: object = ALL) -> int:
        end = self.reader.latestOffset(self.offset, limit)
        taken = end["index"] - self.offset["index"]
        self.offset = end
        return taken

    def restart(self) -> None:
        self.reader = WorkloadReader(self.workload, self.options, clock=self.clock)


def test_what_has_arrived_is_admitted_and_no_more():
    rig = Rig(workload())
    assert rig.plan() == 0
    rig.clock.advance(2.5)
    assert (rig.plan(), rig.plan()) == (250, 0)
    rig.clock.advance(3600)
    assert (rig.plan(), rig.plan()) == (750, 0)


def test_the_readers_own_limit_holds_until_a_gate_speaks(tmp_path: Path):
    rig = Rig(workload("saturated"), {"maxRowsPerTrigger": "30"}, tmp_path)
    limit = rig.reader.getDefaultReadLimit()
    assert limit == ReadMaxRows(30)
    assert rig.plan(limit) == 30
    Mailbox(tmp_path).admit(Admission(size=120.9))
    assert rig.plan(limit) == 120
    Mailbox(tmp_path).admit(Admission(size=0.2))
    assert rig.plan(limit) == 1


def test_without_limit_or_gate_everything_that_has_arrived_is_taken():
    rig = Rig(workload("saturated"))
    assert rig.reader.getDefaultReadLimit() == ALL
    assert rig.plan() == 1000


def test_a_minimum_is_waited_for_until_the_oldest_item_is_too_old(tmp_path: Path):
    rig = Rig(workload(), folder=tmp_path)
    rig.plan()
    Mailbox(tmp_path).admit(Admission(size=500, min_size=50, max_wait_s=1.0))
    rig.clock.advance(0.3)
    assert rig.plan() == 0
    rig.clock.advance(0.2)
    assert rig.plan() == 50
    Mailbox(tmp_path).admit(Admission(size=500, min_size=400, max_wait_s=1.0))
    rig.clock.advance(1.0)
    assert rig.plan() == 0
    rig.clock.advance(0.02)
    assert rig.plan() == 102


def test_every_queued_item_shortens_the_wait_by_its_time(tmp_path: Path):
    rig = Rig(workload(), folder=tmp_path)
    rig.plan()
    Mailbox(tmp_path).admit(Admission(size=500, min_size=400, max_wait_s=2.0, item_s=0.01))
    # At 100 items a second, one second of waiting and 101 queued items of 10 ms each come to two seconds.
    rig.clock.advance(0.99)
    assert rig.plan() == 0
    rig.clock.advance(0.02)
    assert rig.plan() == 101


def test_items_that_wait_are_admitted_when_traffic_stops(tmp_path: Path):
    # Nothing for 50 s, 100 a second for 50 s, and nothing again: 5,000 items of 1 ms and a wait of 65 s come to 70 s.
    rig = Rig(workload("binary:min=0,max=100,period=100s", items=10_000), folder=tmp_path)
    rig.plan()
    Mailbox(tmp_path).admit(Admission(size=9_000, min_size=9_000, max_wait_s=70.0, item_s=0.001))
    rig.clock.advance(114.9)
    assert rig.plan() == 0
    rig.clock.advance(0.2)
    assert rig.plan() == 5_000


def test_a_minimum_never_holds_the_last_items_back(tmp_path: Path):
    rig = Rig(workload(items=120), folder=tmp_path)
    rig.plan()
    Mailbox(tmp_path).admit(Admission(size=100, min_size=100, max_wait_s=3600.0))
    rig.clock.advance(60)
    assert (rig.plan(), rig.plan()) == (100, 20)


def test_the_receipt_tells_wait_backlog_load_and_part(tmp_path: Path):
    cost = parse("constant:value=2,length=100,name=light; constant:value=6,name=heavy")
    rig = Rig(workload(cost=cost), folder=tmp_path)
    rig.plan()
    rig.clock.advance(3.0)
    rig.plan(ReadMaxRows(100))
    assert Mailbox(tmp_path).receipt() == Receipt(0, 100, wait_s=pytest.approx(2.99), backlog=200, load=2, part="light")
    rig.plan(ReadMaxRows(100))
    assert Mailbox(tmp_path).receipt() == Receipt(
        100, 200, wait_s=pytest.approx(1.99), backlog=100, load=6, part="heavy"
    )


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(-5000, 5000)), max_size=12))
def test_a_clock_that_is_set_back_or_forth_loses_and_invents_nothing(steps: list[tuple[float, float]]):
    rig = Rig(workload(items=10**6))
    rig.plan()
    elapsed_s, total = 0.0, 0
    for advance_s, step_s in steps:
        rig.clock.step_wall(step_s)
        rig.clock.advance(advance_s)
        elapsed_s += advance_s
        total += rig.plan()
        assert total == pytest.approx(100 * elapsed_s, abs=1)


def test_a_restart_goes_on_where_it_stopped_and_the_schedule_went_on_meanwhile():
    rig = Rig(workload())
    rig.clock.advance(1)
    assert rig.plan() == 100
    rig.clock.advance(2)
    rig.restart()
    assert rig.plan() == 200
    assert rig.offset == {"index": 300, "epoch_ms": 1_000_000}


def test_a_restart_with_the_clock_set_back_goes_on_at_once_and_loses_nothing():
    rig = Rig(workload())
    rig.clock.advance(3)
    assert rig.plan() == 300
    rig.clock.step_wall(-3600)
    rig.restart()
    assert rig.plan() == 0
    rig.clock.advance(1)
    assert rig.plan() == 100


def test_the_schedule_never_begins_in_the_future():
    rig = Rig(workload("saturated"))
    rig.clock.step_wall(-0.0004)
    assert rig.plan() == 1000


def test_available_now_takes_what_is_there_at_its_start_and_ends():
    rig = Rig(workload())
    rig.clock.advance(2)
    rig.reader.prepareForTriggerAvailableNow()
    rig.clock.advance(5)
    assert [rig.plan(ReadMaxRows(150)) for _ in range(3)] == [150, 50, 0]


def test_available_now_prepared_before_the_schedule_began_takes_what_is_there_from_the_start():
    rig = Rig(workload("saturated"))
    rig.reader.prepareForTriggerAvailableNow()
    rig.clock.advance(0.4)
    rig.offset = rig.reader.initialOffset()
    assert (rig.plan(), rig.plan()) == (1000, 0)


@given(st.integers(0, 10**6), st.integers(1, 5000), st.integers(1, 16))
def test_the_partitions_of_a_batch_hold_each_item_once(start: int, rows: int, count: int):
    reader = WorkloadReader(workload("saturated", items=None), {"partitions": str(count)})
    spans = reader.partitions({"index": start}, {"index": start + rows})
    assert 1 <= len(spans) <= count
    ids = [batch.column("id").to_numpy() for span in spans for batch in reader.read(span)]
    assert sorted(np.concatenate(ids).tolist()) == list(range(start, start + rows))


def test_a_gate_changes_the_partitions_of_the_next_batch(tmp_path: Path):
    reader = Rig(workload("saturated"), {"partitions": "2"}, tmp_path).reader
    assert len(reader.partitions({"index": 0}, {"index": 1000})) == 2
    Mailbox(tmp_path).admit(Admission(partitions=5))
    assert len(reader.partitions({"index": 0}, {"index": 1000})) == 5


def test_an_empty_range_has_no_partitions():
    assert WorkloadReader(workload(), {}).partitions({"index": 7}, {"index": 7}) == []


def test_two_dimensional_columns_become_lists_or_bytes_as_the_schema_says():
    def made(indices: Any, costs: Any, seed: int) -> dict[str, Any]:
        pairs = np.stack([indices, indices + 1], axis=1)
        return {"id": indices, "pair": pairs, "raw": pairs.astype(np.uint8), "name": [f"n{i}" for i in indices]}

    source = workload(
        "saturated", generate=made, schema_ddl="id bigint, pair array<bigint>, raw binary, name string", items=100
    )
    reader = WorkloadReader(source, {"partitions": "1"}, binary=["raw"])
    (span,) = reader.partitions({"index": 3}, {"index": 5})
    rows = [row for batch in reader.read(span) for row in batch.to_pylist()]
    assert rows == [
        {"id": 3, "pair": [3, 4], "raw": b"\x03\x04", "name": "n3"},
        {"id": 4, "pair": [4, 5], "raw": b"\x04\x05", "name": "n4"},
    ]


@pytest.mark.parametrize("name", ["partitions", "maxRowsPerTrigger"])
@pytest.mark.parametrize("value", ["0", "-3", "many", "1.5", ""])
def test_a_bad_option_is_refused_with_its_name_and_value(name: str, value: str):
    with pytest.raises(BadInputError, match=f"{name} = '{value}': not a positive whole number; write e.g. option"):
        WorkloadReader(workload(), {name: value})
