"""The carrier on the driver: kept before it is carried, numbers given out once, batches confirmed or told on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import BadInputError, PenstockError, UnsupportedError
from penstock.journal import Journal, read
from penstock.plan import NO_PLAN, Plan
from penstock.spark.observe.report import BatchReport
from penstock.spark.plans.carrier import Carrier
from penstock.spark.plans.echo import MOST_ECHOES, Echoed, _Merge
from penstock.spark.plans.in_force import as_carried, carried, plan_in_force
from penstock.spark.plans.kept import kept_beside, load_plan


class Query:
    """Stands in for a running query: batches are planned when the test says so."""

    id = "q"

    def __init__(self, kept: Path, text: str | None = None) -> None:
        self.kept = kept
        self.text = text
        self.next = 0

    def carried_plan(self) -> str | None:
        return self.text

    def carry_plan(self, text: str) -> int:
        assert load_plan(self.kept) == Plan.from_text(text), "carried before it was kept"
        self.text = as_carried(Plan.from_text(text), self.next)
        return self.next


class Old(Query):
    """A query on a Spark that cannot carry."""

    def carried_plan(self) -> str | None:
        raise UnsupportedError("Spark 9.9 keeps the session of a query elsewhere")


def progress(batch_id: int, executed: bool = True) -> BatchReport:
    return BatchReport("q", batch_id, 0.0, 1.0, confirmed=True, items=10, executed=executed)


def echoed(batch_id: int, *versions: int) -> Echoed:
    """What one partition for each of these versions echoes."""
    return {("q", batch_id, part, version): ({"work": 0.5}, {}, {}) for part, version in enumerate(versions)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


@pytest.fixture
def follow(path: Path) -> Iterator[Callable[..., tuple[Carrier, Any]]]:
    opened: list[Journal] = []

    def make(kind: type[Query] = Query, text: str | None = None) -> tuple[Carrier, Any]:
        opened.append(Journal.open(path, {}))
        carrier, query = Carrier(path), kind(kept_beside(path), text)
        carrier.follow(query, opened[-1])  # type: ignore[arg-type]
        return carrier, query

    yield make
    for journal in opened:
        journal.close()


def events(path: Path, name: str) -> list[dict[str, Any]]:
    return [dict(event.details) for event in read(path).events if event.name == name]


def test_a_plan_is_kept_before_it_is_carried_and_told_with_its_first_batch(path: Path, follow: Any) -> None:
    carrier, query = follow()
    query.next = 7
    assert carrier.set({"devices": ["numba"]}, "cheaper") == carrier.plan == Plan(1, {"devices": ["numba"]})
    assert carried(query.text)[:2] == (7, carrier.plan)
    told = {"version": 1, "first": 7, "parts": {"devices": ["numba"]}, "why": "cheaper"}
    assert events(path, "plan") == [told]


def test_setting_what_is_in_force_changes_nothing(path: Path, follow: Any) -> None:
    carrier, _ = follow()
    for _ in range(2):
        carrier.set({"devices": ["numba"]}, "again")
    assert [each["version"] for each in events(path, "plan")] == [1]


def test_a_restart_goes_on_with_the_plan_that_was_kept_and_counts_on(path: Path, follow: Any) -> None:
    follow()[0].set({"number": 1}, "one")
    carrier, query = follow()
    assert carrier.plan == Plan(1, {"number": 1})
    assert carried(query.text)[1] == carrier.plan
    assert carrier.set({"number": 2}, "two").version == 2


def test_a_version_whose_process_died_before_it_was_carried_is_not_given_out_again(path: Path, follow: Any) -> None:
    carrier, query = follow()

    def die(text: str) -> int:
        raise ConnectionError("the JVM is gone")

    query.carry_plan = die
    with pytest.raises(ConnectionError):
        carrier.set({"number": 1}, "never carried")
    assert follow()[0].set({"number": 2}, "after the restart") == Plan(2, {"number": 2})


def test_a_query_that_was_started_with_a_newer_plan_keeps_it(path: Path, follow: Any) -> None:
    carrier, _ = follow(text=as_carried(Plan(5, {"number": 5})))
    assert carrier.plan == load_plan(kept_beside(path)) == Plan(5, {"number": 5})
    assert carrier.set({"number": 6}, "on").version == 6


def test_the_first_batch_of_a_version_is_confirmed_once(path: Path, follow: Any) -> None:
    carrier, query = follow()
    query.next = 2
    carrier.set({"number": 1}, "one")
    for batch_id in (2, 3):
        carrier._echoes.add(echoed(batch_id, 1, 1))
        carrier.progressed(progress(batch_id))
    assert events(path, "plan-confirmed") == [{"version": 1, "batch_id": 2}]
    assert [(echo.batch_id, echo.version, echo.seconds) for echo in read(path).echoes] == [
        (2, 1, {"work": 1.0}),
        (3, 1, {"work": 1.0}),
    ]


@pytest.mark.parametrize("versions", [(1, 2), (1, 1)], ids=["two versions", "an older one"])
def test_a_batch_that_ran_another_version_is_told_loudly(
    path: Path, follow: Any, caplog: pytest.LogCaptureFixture, versions: tuple[int, ...]
) -> None:
    carrier, query = follow()
    carrier.set({"number": 1}, "one")
    query.next = 4
    carrier.set({"number": 2}, "two")
    carrier._echoes.add(echoed(4, *versions))
    carrier.progressed(progress(4))
    (told,) = events(path, "plan-disobeyed")
    assert told["why"] in caplog.text
    assert "and 2 was in force" in told["why"]
    assert not events(path, "plan-confirmed")


def test_batches_of_before_the_plan_and_idle_progress_are_no_fault(path: Path, follow: Any) -> None:
    carrier, query = follow()
    query.next = 4
    carrier.set({"number": 1}, "one")
    carrier._echoes.add(echoed(3, 0, 0))
    carrier._echoes.add(echoed(4, 1))
    carrier.progressed(progress(4, executed=False))
    assert not read(path).echoes
    carrier.progressed(progress(3))
    assert [echo.versions for echo in read(path).echoes] == [(0,)]
    assert not events(path, "plan-disobeyed")


def test_a_spark_that_cannot_carry_is_named_when_a_plan_is_set_and_not_before(path: Path, follow: Any) -> None:
    carrier, _ = follow(Old)
    with pytest.raises(UnsupportedError, match=r"Spark 9\.9"):
        carrier.set({"number": 1}, "one")
    assert carrier.plan == NO_PLAN
    assert not kept_beside(path).exists()


def test_a_plan_that_cannot_be_kept_is_not_carried(path: Path, follow: Any) -> None:
    carrier, query = follow()
    kept_beside(path).mkdir()
    with pytest.raises(PenstockError, match=r"plan 1 cannot be written to .*journal\.jsonl\.plan\.json"):
        carrier.set({"number": 1}, "one")
    assert carrier.plan == NO_PLAN
    assert query.text is None


@pytest.mark.parametrize("content", ["", "{", "[]", json.dumps({"format": 9, "version": 1, "parts": {}})])
def test_a_kept_plan_that_cannot_be_read_is_refused(path: Path, content: str) -> None:
    kept_beside(path).write_text(content)
    with pytest.raises(BadInputError):
        Carrier(path)


def test_outside_a_task_the_default_is_in_force() -> None:
    assert plan_in_force() == NO_PLAN
    assert plan_in_force(Plan(3, {"number": 3})) == Plan(3, {"number": 3})


@pytest.mark.parametrize("text", ["fast", "1\n{}\n", "x\n\n", "1\n2\n3\n4"])
def test_a_setting_that_is_not_ours_is_refused(text: str) -> None:
    with pytest.raises(BadInputError):
        carried(text)


def test_echoes_that_nobody_takes_are_bounded_and_the_newest_stay() -> None:
    held: Echoed = {}
    for batch_id in range(MOST_ECHOES + 50):
        _Merge().addInPlace(held, echoed(batch_id, 1))
    assert len(held) == MOST_ECHOES
    assert ("q", MOST_ECHOES + 49, 0, 1) in held


def test_what_one_partition_echoes_twice_adds_up_and_its_highest_value_stays() -> None:
    held: Echoed = {}
    key = ("q", 1, 0, 1)
    for seconds, row in ((0.5, 9.0), (0.25, 7.0)):
        _Merge().addInPlace(held, {key: ({"work": seconds}, {"row": row}, {"rows": 2.0})})
    assert held == {key: ({"work": 0.75}, {"row": 9.0}, {"rows": 4.0})}
