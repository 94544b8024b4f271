"""Every decision has a code of the closed set, whoever made it, and the journal keeps it."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.control import registry
from penstock.control.faf import Faf
from penstock.control.fixed import Fixed
from penstock.control.lag_guard import LagGuard
from penstock.control.loop import Loop
from penstock.control.wrappers import Bounded
from penstock.errors import BadInputError
from penstock.journal import Journal, read
from penstock.journal.records import to_decision
from penstock.sample import BatchSample, Code, Decision
from penstock.slo import Slo
from penstock.testing.fakes import FakeGate

SLO = Slo.parse("1 s ± 10%")


def sample(batch_id: int, processing_s: float, **fields: object) -> BatchSample:
    return BatchSample(**{"batch_id": batch_id, "size": 100, "items": 100, "processing_s": processing_s, **fields})


def codes(path: Path) -> list[Code | None]:
    return [record.decision.code for record in read(path).decisions]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def test_a_controller_that_says_no_code_gets_one_by_what_it_does_to_the_size(path: Path):
    loop = Loop(SLO, Faf(SLO, 100), FakeGate(), Journal.open(path, {}))
    loop.start()
    for batch_id, processing_s in enumerate((0.2, 1.0, 2.0)):
        loop.observe(sample(batch_id, processing_s))
    assert codes(path) == [Code.FIRST, Code.GROW, Code.KEEP, Code.SHRINK]


def test_a_corrected_estimate_is_coded_by_the_size_from_before_its_batch(path: Path):
    loop = Loop(SLO, Faf(SLO, 100), FakeGate(), Journal.open(path, {}))
    loop.start()
    loop.observe(sample(0, 0.2, confirmed=False))
    loop.observe(sample(0, 1.0))
    assert codes(path) == [Code.FIRST, Code.GROW, Code.KEEP]


def test_in_observe_mode_a_decision_is_coded_against_the_size_of_the_batch(path: Path):
    loop = Loop(SLO, Faf(SLO, 100), FakeGate(), Journal.open(path, {}), observe_only=True)
    loop.start()
    loop.observe(sample(0, 0.2, size=500))
    loop.observe(sample(1, 2.0, size=500))
    assert codes(path) == [Code.FIRST, Code.GROW, Code.SHRINK]


def test_a_size_held_by_a_bound_says_so(path: Path):
    loop = Loop(SLO, Bounded(Faf(SLO, 100), max_size=105), FakeGate(), Journal.open(path, {}))
    for batch_id in range(2):
        loop.observe(sample(batch_id, 0.2))
    assert codes(path) == [Code.BOUND, Code.BOUND]


def test_the_lag_guard_says_so(path: Path):
    loop = Loop(SLO, Fixed(SLO, 100), FakeGate(), Journal.open(path, {}), guard=LagGuard(max_lag_s=60))
    loop.observe(sample(0, 1.0, wait_s=50.0, backlog=5000))
    assert codes(path) == [Code.LAG_GUARD]


def test_an_objective_out_of_reach_is_the_code_of_every_decision_until_it_is_in_reach_again(path: Path):
    loop = Loop(SLO, Fixed(SLO, 1), FakeGate(), Journal.open(path, {}))
    for batch_id in range(12):
        loop.observe(sample(batch_id, 1.5, size=1))
    for batch_id in range(12, 24):
        loop.observe(sample(batch_id, 1.0, size=1))
    assert codes(path) == [Code.KEEP] * 9 + [Code.OUT_OF_REACH] * 12 + [Code.KEEP] * 3


def test_a_decision_that_only_waits_says_so():
    assert Decision(100, "waits", min_size=50, max_wait_s=2.0).coded(before=100).code is Code.WAIT
    assert Decision(100, "waits", min_size=50, max_wait_s=2.0).coded(before=80).code is Code.GROW


@pytest.mark.parametrize("name", registry.names())
def test_decisions_of_every_controller_are_coded(name: str, path: Path):
    loop = Loop(SLO, registry.create(name, SLO, 100.0, live=True), FakeGate(), Journal.open(path, {}))
    loop.start()
    for batch_id in range(6):
        loop.observe(sample(batch_id, 0.1 + 0.3 * batch_id))
    assert len(codes(path)) > 1
    assert None not in codes(path)


def test_a_code_outside_the_set_is_refused():
    with pytest.raises(BadInputError, match=r"code = 'because': .*choose from first, grow"):
        Decision(100, "because", code="because")  # type: ignore[arg-type]


@pytest.mark.parametrize("record", [{}, {"code": "of a later version"}, {"code": ["grow"]}])
def test_a_journal_without_a_known_code_is_read_all_the_same(record: dict[str, object]):
    assert to_decision({"size": 100, "reason": "because", **record}) == Decision(100.0, "because")
