"""The synthetic application: the same results whatever the work, and as much work as is asked for."""

from __future__ import annotations

import itertools
import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.apps.digest import Digest
from penstock.apps.suite.app import chunked, number_batch
from penstock.apps.synthetic import calibration, kernel, stages
from penstock.apps.synthetic.app import Synthetic
from penstock.errors import BadInputError
from penstock.stages.stage import run_stages
from penstock.workloads.workload import column_names

SAMPLE = 32
QUICK = {"item-ms": "1"}
UNIT_NS = calibration.unit_ns.__wrapped__


@pytest.fixture(autouse=True)
def _calibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    # A unit that takes 10 us by the book: tests do not wait for the clock.
    monkeypatch.setattr(calibration, "unit_ns", lambda: 10_000.0)


def done(app: Synthetic, items: int, rows: int = 8, seed: int = 1) -> pa.Table:
    """The results of the first items, by the stages."""
    batches = chunked([number_batch(0, items, seed)], rows)
    return pa.Table.from_batches(list(run_stages(app.stages(), batches)))


def digest(table: pa.Table) -> str:
    return str(Digest.of(table.column("hash").to_numpy().view(np.uint64)))


def test_committed_digests_are_of_the_code_as_it_is() -> None:
    entries = Synthetic.digests.entries()
    assert set(entries) == {f"synthetic-{name}-1" for name in ("test", "small", "medium")}
    for name in ("test", "small", "medium"):
        app = Synthetic().configured(name, {})
        assert entries[f"synthetic-{name}-1"]["sample"] == str(app.plain_digest(SAMPLE))
        assert app.known_digest(name) == entries[f"synthetic-{name}-1"]["whole"]
    assert str(Synthetic().plain_digest(1000)) == Synthetic().known_digest("test")


@pytest.mark.parametrize(
    ("balance", "work", "spread"),
    list(itertools.product(["balanced", "unbalanced"], ["cpu", "wait"], ["0", "0.9"])),
)
def test_whatever_the_work_the_result_is_the_same_and_right(balance: str, work: str, spread: str) -> None:
    app = Synthetic().configured("test", {**QUICK, "balance": balance, "work": work, "spread": spread})
    results = done(app, SAMPLE)
    assert digest(results) == app.digests.entries()["synthetic-test-1"]["sample"]
    assert results.column("matched").to_pylist() == results.column("expected").to_pylist() == [1] * SAMPLE
    assert app._digest_name("test", 1) == "synthetic-test-1"


@settings(max_examples=10, deadline=None)
@given(order=st.permutations(range(12)), rows=st.integers(1, 12), seed=st.integers(0, 5))
def test_results_depend_on_no_chunk_and_no_order(order: list[int], rows: int, seed: int) -> None:
    app = Synthetic(QUICK, unit_ns=1e5)
    batch = number_batch(0, 12, seed).take(pa.array(order))
    parts = list(run_stages(app.stages(), chunked([batch], rows)))
    assert pa.Table.from_batches(parts).sort_by("id").equals(done(app, 12, rows=12, seed=seed))


def test_results_differ_by_item_and_by_seed() -> None:
    hashes = [each for seed in (1, 2) for each in done(Synthetic(QUICK), 20, seed=seed).column("hash").to_pylist()]
    assert len(set(hashes)) == 40


def test_every_stage_gives_the_columns_that_it_says() -> None:
    app = Synthetic().configured("test", QUICK)
    types = {"bigint": pa.int64(), "int": pa.int32()}
    for items in (3, 0):
        batch = number_batch(0, items, 1)
        for stage in app.stages():
            batch = stage.run(batch)
            assert batch.schema.names == column_names(stage.output_ddl)
            assert batch.schema.types == [types[each.split()[1]] for each in stage.output_ddl.split(", ")]
            assert batch.num_rows == items


def test_the_map_goes_away_from_its_input_and_comes_back() -> None:
    forward = [int(kernel._FACTOR), int(kernel._ADDED)]
    x = 12345
    for _ in range(kernel.STEPS):
        x = (x * forward[0] + forward[1]) % 2**64
        x = (x << 29 | x >> 35) % 2**64
    assert x != 12345
    for _ in range(kernel.STEPS):
        x = (x >> 29 | x << 35) % 2**64
        x = (x - forward[1]) * int(kernel._BACK) % 2**64
    assert x == 12345
    values = np.array([0, 12345, 2**64 - 1], np.uint64)
    assert kernel.worked(values, np.array([0, 1, 7])).tolist() == values.tolist()


def test_a_step_that_was_not_taken_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "worked", lambda values, units: values ^ np.uint64(1))
    app = Synthetic().configured("test", {})
    results = done(app, 4)
    assert results.column("matched").to_pylist() == [0] * 4
    assert digest(results) != str(app.plain_digest(4))


@pytest.mark.parametrize(("balance", "shares"), [("balanced", (2, 2, 2)), ("unbalanced", (1, 3, 2))])
def test_stages_get_their_shares_of_the_time_of_an_item(
    balance: str, shares: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def record(values: Any, units: Any) -> Any:
        asked.append(units.tolist())
        return values

    monkeypatch.setattr(kernel, "worked", record)
    monkeypatch.setattr(stages, "time", SimpleNamespace(sleep=asked.append))
    done(Synthetic().configured("test", {"balance": balance}), 2)
    # Units of 10 us: 400 of them are 4 ms, a sixth of 24 ms.
    assert asked == [[400 * share] * 2 for share in shares]
    asked.clear()
    done(Synthetic().configured("test", {"balance": balance, "work": "wait", "item-ms": "60"}), 2)
    assert asked == pytest.approx([0.020 * share for share in shares])


@pytest.mark.parametrize("spread", [0.0, 0.3, 0.9])
def test_items_differ_by_as_much_as_is_asked(spread: float) -> None:
    ids, seeds = np.arange(20_000), np.full(20_000, 4)
    load = stages.Load(24, spread)
    spent_s = load.item_s(ids, seeds)
    assert spent_s.mean() == pytest.approx(0.024, rel=0.01)
    assert spent_s.std() / spent_s.mean() == pytest.approx(spread / 3**0.5, rel=0.03)
    assert np.array_equal(load.item_s(ids[500:], seeds[500:]), spent_s[500:])
    # Of an item that asks for next to nothing a unit is left.
    assert stages.Load(24).units(np.array([1e-9]), 10_000.0).tolist() == [1]


def test_workers_do_the_work_that_the_driver_calibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Synthetic().configured("test", {})
    assert app.unit_ns == 10_000.0

    def refuse() -> float:
        raise AssertionError("a worker calibrated for itself")

    monkeypatch.setattr(calibration, "unit_ns", refuse)
    there = pickle.loads(pickle.dumps(app))
    assert there == app
    assert done(there, 1).num_rows == 1
    assert Synthetic().configured("test", {"work": "wait"}).unit_ns is None


def test_a_stage_travels_to_another_process_by_itself() -> None:
    for stage in Synthetic().configured("test", QUICK).stages():
        assert pickle.loads(pickle.dumps(stage)).name == stage.name


def test_calibration_takes_the_quickest_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    took_ns = itertools.cycle([900_000, 300_000, 5_000_000])
    cpu_ns, now_s = 0, 0.0

    def clock() -> float:
        nonlocal now_s
        now_s += 0.01
        return now_s

    def work(values: Any, units: Any) -> Any:
        nonlocal cpu_ns
        cpu_ns += next(took_ns)
        return values

    monkeypatch.setattr(calibration, "time", SimpleNamespace(monotonic=clock, thread_time_ns=lambda: cpu_ns))
    monkeypatch.setattr(kernel, "worked", work)
    assert UNIT_NS() == 3000.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"balance": "2-2-2"}, "balance = '2-2-2': no such choice; write one of balanced, unbalanced"),
        ({"work": "gpu"}, "write one of cpu, wait"),
        ({"item-ms": "0"}, "not a whole number of 1 or more; write e.g. 24"),
        ({"item-ms": "2.5"}, "item-ms"),
        ({"spread": "1"}, "spread = '1': not a share from 0 to 0.9; write e.g. 0.5"),
        ({"spread": "-0.1"}, "spread"),
        ({"spread": "nan"}, "spread"),
        ({"spread": "much"}, "spread"),
        ({"chunk-rows": "0"}, "chunk-rows"),
    ],
)
def test_bad_options_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        Synthetic().configured("test", options)


def test_a_first_batch_is_about_half_a_second_on_two_cores() -> None:
    sizes = {ms: Synthetic({"item-ms": ms}).first_size("test") for ms in ("1", "24", "5000")}
    assert sizes == {"1": 1000, "24": 41, "5000": 1}
