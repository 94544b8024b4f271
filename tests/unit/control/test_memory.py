"""Snapshots, what is kept of them over a restart, and how the loop uses them."""

from __future__ import annotations

import json
import random
from collections import Counter, deque
from pathlib import Path
from typing import Any

import pytest

from penstock.control.faf import Faf
from penstock.control.learned import Learned
from penstock.control.loop import Loop
from penstock.control.memory import Remembers, restore_to, snapshot_of, to_json
from penstock.control.protocol import Change
from penstock.control.registry import create
from penstock.control.wrappers import Bounded
from penstock.journal import Journal, read
from penstock.sample import BatchSample
from penstock.slo import Slo
from penstock.testing.fakes import FakeGate, LinearPlant, closed_loop

SLO = Slo.parse("1 s ± 10%")


def taught(controller: Any, batches: int = 30) -> Any:
    for _ in closed_loop(controller, LinearPlant(overhead_s=0.2, per_item_s=0.001, noise=0.05), batches):
        pass
    return controller


class Odd(Faf):
    """A plug-in's controller, of another package than Penstock, with parts of its own."""

    def __init__(self, slo: Slo, size: float) -> None:
        super().__init__(slo, size)
        self.last: deque[tuple[float, float]] = deque(maxlen=3)
        self.by_size: dict[float, Part] = {}

    def decide(self, sample: BatchSample) -> Any:
        self.last.append((sample.size, sample.processing_s))
        self.by_size[sample.size] = Part(sample.items)
        return super().decide(sample)


class Part:
    def __init__(self, items: int) -> None:
        self.items = items


def test_a_plug_in_inside_a_wrapper_goes_back_with_its_own_parts() -> None:
    controller = Bounded(Odd(SLO, 100.0), max_size=1e6)
    sample = BatchSample(0, 100, 100, 0.5)
    controller.decide(sample)
    before = snapshot_of(controller)
    controller.decide(BatchSample(1, 200, 200, 0.5))
    restore_to(controller, before)
    inner: Any = controller.inner
    assert list(inner.last) == [(100, 0.5)]
    assert inner.last.maxlen == 3
    assert [part.items for part in inner.by_size.values()] == [100]


def test_a_snapshot_does_not_move_with_the_controller_and_can_be_used_twice() -> None:
    controller = taught(create("predictive", SLO, 100.0))
    before = snapshot_of(controller)
    for _ in range(2):
        taught(controller, 10)
        restore_to(controller, before)
        assert snapshot_of(controller) == before


def test_a_file_cannot_name_a_class_of_another_package() -> None:
    controller = Faf(SLO, 100.0)
    stored = {**controller.snapshot(), "size": {"class": "subprocess:Popen", "has": {}}}
    with pytest.raises(ValueError, match="no class of this controller"):
        controller.restore(stored)


def test_state_of_other_packages_goes_back_too_but_into_no_file(tmp_path: Path) -> None:
    controller: Any = Faf(SLO, 100.0)
    controller.dice, controller.seen, controller.counts = random.Random(1), {1}, Counter("a")
    before = snapshot_of(controller)
    first = controller.dice.random()
    controller.seen.add(2)
    controller.counts["b"] += 1
    restore_to(controller, before)
    assert (controller.dice.random(), controller.seen, controller.counts) == (first, {1}, Counter("a"))
    with pytest.raises(TypeError, match=r"give the controller snapshot\(\) and restore\(\)"):
        json.dumps(before, default=to_json)
    learned = Learned(tmp_path / "journal.jsonl", {})
    learned.keep(before)
    assert not learned.path.exists()


def test_a_controller_that_has_got_another_attribute_since_begins_anew(tmp_path: Path) -> None:
    learned = Learned(tmp_path / "journal.jsonl", {})
    learned.keep(taught(create("pmbaf", SLO, 100.0)).snapshot())
    fresh: Any = create("pmbaf", SLO, 100.0)
    fresh.gain = 2.0
    assert not learned.recall(fresh)
    assert (fresh.gain, fresh.size) == (2.0, 100.0)


def test_a_controller_of_another_kind_is_no_part_of_the_contract_but_works() -> None:
    class Plain:
        size = 10.0

    controller = Plain()
    controller.size = 20.0
    before = snapshot_of(controller)
    controller.size = 30.0
    restore_to(controller, before)
    assert controller.size == 20.0
    assert not isinstance(controller, Remembers)


def test_what_was_learned_is_read_only_where_everything_is_the_same(tmp_path: Path) -> None:
    about = {"query_id": "q", "slo": str(SLO), "unit": "rows", "controller": "predictive"}
    controller = taught(create("predictive", SLO, 100.0))
    Learned(tmp_path / "journal.jsonl", about).keep(controller.snapshot())
    fresh = create("predictive", SLO, 100.0)
    for other in ({**about, "unit": "bytes"}, {**about, "slo": "<= 2 s"}, {**about, "query_id": "p"}):
        assert not Learned(tmp_path / "journal.jsonl", other).recall(fresh)
    assert fresh.size == 100.0
    assert Learned(tmp_path / "journal.jsonl", about).recall(fresh)
    assert snapshot_of(fresh) == snapshot_of(controller)


@pytest.mark.parametrize("damage", ["torn", "version", "shape"])
def test_a_file_that_does_not_fit_leaves_a_new_controller_as_it_was(tmp_path: Path, damage: str) -> None:
    learned = Learned(tmp_path / "journal.jsonl", {})
    learned.keep(taught(create("predictive", SLO, 100.0)).snapshot())
    text = learned.path.read_text()
    fields = json.loads(text)
    if damage == "version":
        fields["penstock"] = "0.0.1"
    if damage == "shape":
        inside = json.loads(fields["learned"])
        # The first attributes fit, and a later one does not.
        inside["_level"] = {"class": "penstock.model.level:Gone", "has": {}}
        fields["learned"] = json.dumps(inside)
    learned.path.write_text(text[: len(text) // 2] if damage == "torn" else json.dumps(fields))
    fresh = create("predictive", SLO, 100.0)
    before = snapshot_of(fresh)
    assert not learned.recall(fresh)
    assert snapshot_of(fresh) == before


def test_the_loop_keeps_what_was_learned_now_and_then_and_at_the_end(tmp_path: Path) -> None:
    kept: list[Any] = []
    controller = create("predictive", SLO, 100.0)
    journal = Journal.open(tmp_path / "journal.jsonl", {})
    loop = Loop(SLO, controller, FakeGate(), journal, keep=kept.append)
    loop.start()
    for batch_id in range(1, 45):
        loop.observe(BatchSample(batch_id, 100, 100, 0.5))
    assert len(kept) == 2
    loop.stop("the test is over")
    assert len(kept) == 3
    assert kept[-1] == snapshot_of(controller)


def test_a_change_is_journaled_and_the_batch_that_was_run_in_the_old_way_teaches_no_more(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "journal.jsonl", {})
    loop = Loop(SLO, create("predictive", SLO, 100.0), FakeGate(), journal)
    loop.start()
    for batch_id in range(20):
        loop.observe(
            BatchSample(batch_id, loop.size, round(loop.size), 0.2 + 0.004 * loop.size, confirmed=batch_id < 19)
        )
    size = loop.size
    loop.changed(Change("composition", "a | b*2", "a test"), first_batch=21)
    # Better knowledge of the last batch comes after the change, and one was on its way.
    for batch_id in (19, 20):
        assert loop.observe(BatchSample(batch_id, size, round(size), 9.0)) is None
        assert loop.size == size
    for batch_id in range(21, 27):
        loop.observe(BatchSample(batch_id, loop.size, round(loop.size), 0.2 + 0.001 * loop.size))
    assert loop.size == pytest.approx(800, rel=0.1)
    events = [event for event in read(tmp_path / "journal.jsonl").events if event.name == "changed"]
    assert [(event.details["what"], event.details["now"], event.details["why"]) for event in events] == [
        ("composition", "a | b*2", "a test")
    ]


def test_the_users_limit_is_back_before_anything_is_written(tmp_path: Path) -> None:
    gate = FakeGate()
    kept: list[bool] = []
    loop = Loop(
        SLO,
        Faf(SLO, 100.0),
        gate,
        Journal.open(tmp_path / "journal.jsonl", {}),
        keep=lambda snapshot: kept.append(gate.restored),
    )
    loop.stop("the test is over")
    assert kept == [True]
