"""LMStream's six queries without Spark: rows, event times, classes, and the right answers."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from penstock.apps import registry
from penstock.apps.lmstream.app import LmStreamApp
from penstock.apps.lmstream.digest import row_digest
from penstock.apps.lmstream.queries import QUERIES, Query
from penstock.apps.lmstream.reference import reference_digest
from penstock.apps.lmstream.stream import CLOSING_S, EPOCH_S, MICROS
from penstock.errors import BadInputError
from penstock.workloads.workload import Workload, column_names

LINEAR_ROAD, CLUSTER = LmStreamApp(QUERIES["lr2s"]), LmStreamApp(QUERIES["cm2s"])
FEW = "datasets:rows=7,every=1s"


def rows_of(workload: Workload) -> list[dict[str, Any]]:
    assert workload.items is not None
    columns = workload.columns(0, workload.items)
    values = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in values]


def test_the_six_queries_are_installed_under_their_names() -> None:
    for name in ("lr1s", "lr1t", "lr2s", "cm1s", "cm1t", "cm2s"):
        app = registry.create(name)
        assert app.name == name
        assert name.upper() in registry.describe()[name]
        assert app.stateful
        assert set(app.classes) == {"test", "minute", "small", "medium", "large"}


def test_windows_are_those_of_table_three() -> None:
    windows = {name: (query.range_s, query.slide_s) for name, query in QUERIES.items()}
    assert windows == {
        "lr1s": (30, 5),
        "lr1t": (30, 30),
        "lr2s": (30, 10),
        "cm1s": (60, 10),
        "cm1t": (60, 60),
        "cm2s": (60, 5),
    }


@pytest.mark.parametrize(("app", "least", "most"), [(LINEAR_ROAD, 60_000, 70_000), (CLUSTER, 150_000, 200_000)])
def test_a_thousand_rows_have_the_bytes_that_the_paper_says(app: LmStreamApp, least: int, most: int) -> None:
    workload = app.workload("small")
    for start in (0, 57_000, 119_000):
        columns = [np.asarray(column).tolist() for column in workload.columns(start, start + 1000).values()]
        text = "".join(",".join(map(str, row)) + "\n" for row in zip(*columns, strict=True))
        assert least <= len(text) <= most
        assert len(text) / 1000 == pytest.approx(app.row_bytes, rel=0.02)


@pytest.mark.parametrize("app", [LINEAR_ROAD, CLUSTER])
def test_a_slice_of_rows_is_the_same_whoever_makes_it(app: LmStreamApp) -> None:
    workload = pickle.loads(pickle.dumps(app.workload("test", seed=3)))
    whole, part = workload.columns(0, 20_000), workload.columns(4_321, 4_400)
    other = app.workload("test", seed=4).columns(4_321, 4_400)
    for name in column_names(workload.schema_ddl):
        assert np.array_equal(np.asarray(whole[name])[4_321:4_400], part[name])
    assert any(not np.array_equal(part[name], other[name]) for name in part)


def test_thirteen_fields_of_a_task_event_and_fifteen_of_a_position_report() -> None:
    assert len(column_names(CLUSTER.query.stream.schema_ddl)) == 13
    assert len(column_names(LINEAR_ROAD.query.stream.schema_ddl)) == 15


def test_vehicles_report_about_every_thirty_seconds_and_move_along_their_road() -> None:
    columns = LINEAR_ROAD.workload("small").columns(0, 119_000)
    vehicle, second = np.asarray(columns["vehicle"]), np.asarray(columns["timestamp"]) // MICROS
    order = np.lexsort((second, vehicle))
    same = np.diff(vehicle[order]) == 0
    gaps = np.diff(second[order])[same]
    assert gaps.mean() == pytest.approx(30, abs=0.2)
    assert 20 < gaps.min() < 30 < gaps.max() < 40
    for name in ("highway", "direction"):
        assert (np.diff(np.asarray(columns[name])[order])[same] == 0).all()
    assert np.array_equal(columns["segment"], np.asarray(columns["position"]) // 5280)
    assert set(np.asarray(columns["lane"]).tolist()) == {0, 1, 2, 3, 4}


def test_event_time_is_a_second_a_dataset_however_fast_datasets_come() -> None:
    slow, fast = (LINEAR_ROAD.workload("test", arrivals=f"datasets:rows=50,every={every}") for every in ("1s", "20 ms"))
    assert slow.items == fast.items == 1000
    stamps = np.asarray(slow.columns(0, 999)["timestamp"])
    assert np.array_equal(stamps, fast.columns(0, 999)["timestamp"])
    assert stamps.tolist() == [(EPOCH_S + index // 50) * MICROS for index in range(999)]
    assert fast.arrival_s(999) == pytest.approx(0.4)


def test_random_traffic_has_the_same_number_of_rows_in_all_and_uneven_seconds() -> None:
    workload = CLUSTER.workload("small", arrivals="datasets:rows=1000,every=1s,sd=250,seed=1")
    assert workload.items == CLUSTER.workload("small").items == 120_000
    _, rows = np.unique(np.asarray(workload.columns(0, 100_000)["timestamp"]), return_counts=True)
    assert 150 < rows[:-1].std() < 350


def test_arrivals_that_are_no_datasets_bring_the_same_stream() -> None:
    usual, saturated = CLUSTER.workload("test"), CLUSTER.workload("test", arrivals="saturated")
    assert np.array_equal(usual.columns(0, 20_000)["timestamp"], saturated.columns(0, 20_000)["timestamp"])
    assert saturated.arrival_s(19_999) == 0.0


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_only_the_last_row_is_from_the_future_and_passes_every_filter(query: Query) -> None:
    rows = rows_of(LmStreamApp(query).workload("test", arrivals=FEW))
    assert len(rows) == 140
    assert [row["timestamp"] >= CLOSING_S * MICROS for row in rows] == [False] * 139 + [True]
    assert rows[-1].get("eventType", 1) == 1
    assert EPOCH_S % 60 == CLOSING_S % 60 == 0


@pytest.mark.parametrize(
    ("size_class", "seconds"), [("test", 20), ("minute", 60), ("small", 120), ("medium", 300), ("large", 1200)]
)
def test_a_class_is_a_length_of_stream(size_class: str, seconds: int) -> None:
    assert CLUSTER.workload(size_class).items == 1000 * seconds
    assert CLUSTER.workload(size_class, arrivals=FEW).items == 7 * seconds


def test_a_class_or_a_cost_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadInputError, match="class = 'huge'"):
        CLUSTER.workload("huge")
    with pytest.raises(BadInputError, match="costs the same"):
        CLUSTER.workload("test", cost="constant:value=3")


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_the_reference_agrees_with_a_plain_loop_over_windows(query: Query, seed: int) -> None:
    app = LmStreamApp(query)
    answer = _answer(query, rows_of(app.workload("small", seed, FEW))[:-1])
    assert len(answer) > 5
    columns = {name: np.array([row[place] for row in answer]) for place, name in enumerate(query.output)}
    assert app.reference_digest("small", seed, arrivals=FEW) == str(row_digest(columns, query.output))
    assert app.known_digest("small", seed, arrivals=FEW) is None


@pytest.mark.parametrize("name", ["cm1s", "cm2s", "lr2s"])
def test_results_do_not_depend_on_the_order_in_which_rows_are_added(name: str) -> None:
    app = LmStreamApp(QUERIES[name])
    workload = app.workload("test", arrivals="datasets:rows=200,every=1s")
    assert workload.items is not None
    order = np.random.default_rng(5).permutation(workload.items - 1)

    def shuffled(indices: Any, costs: Any, seed: int) -> Any:
        return workload.generate(np.append(order, workload.items - 1)[indices], costs, seed)  # type: ignore[operator]

    assert reference_digest(app.query, replace(workload, generate=shuffled)) == reference_digest(app.query, workload)


def test_a_digest_counts_a_row_as_often_as_it_comes_and_in_any_order() -> None:
    rows = {"jobId": np.array([1, 2, 2]), "avgCpu": np.array([0.5, 0.25, 0.25])}
    names = ("jobId", "avgCpu")
    whole = row_digest(rows, names)
    turned = {name: column[::-1] for name, column in rows.items()}
    first, rest = ({name: column[part] for name, column in rows.items()} for part in (slice(1), slice(1, 3)))
    assert whole == row_digest(turned, names) == row_digest(rest, names) + row_digest(first, names)
    assert whole != row_digest({name: column[:2] for name, column in rows.items()}, names)
    assert whole != row_digest({"jobId": rows["jobId"], "avgCpu": rows["avgCpu"] + 2**-40}, names)


def _answer(query: Query, rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """The query as it reads, a window and a row at a time."""
    last = max(row["timestamp"] for row in rows) // MICROS
    starts = [s for s in range(EPOCH_S - query.range_s, last + 1) if s % query.slide_s == 0]
    answer: list[tuple[Any, ...]] = []
    for start in starts:
        inside = [row for row in rows if start <= row["timestamp"] / MICROS < start + query.range_s]
        if query.kind == "same-vehicle":
            pairs = product(inside, inside)
            answer += [tuple(one[name] for name in query.output) for one, a in pairs if one["vehicle"] == a["vehicle"]]
            continue
        if query.kind == "cpu-of-jobs":
            inside = [row for row in inside if row["eventType"] == 1]
        keys = {
            "slow-segments": ("highway", "direction", "segment"),
            "cpu-of-categories": ("category",),
            "cpu-of-jobs": ("jobId",),
        }[query.kind]
        value = "speed" if query.kind == "slow-segments" else "cpu"
        groups = Counter(tuple(row[name] for name in keys) for row in inside)
        for key, count in groups.items():
            total = sum(row[value] for row in inside if tuple(row[name] for name in keys) == key)
            if query.kind == "cpu-of-categories":
                answer.append((start * MICROS, *key, total))
            elif query.kind == "cpu-of-jobs":
                answer.append((*key, total / count))
            elif total / count < 40:
                answer.append((start * MICROS, *key, total / count))
    return answer
