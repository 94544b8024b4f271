"""The streams of Q1 and Q2: any slice anywhere is the same, values are in range, seeds and keys make other streams."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.apps.gasser.app import GasserApp
from penstock.apps.gasser.queries import Q1, Q2, Query
from penstock.apps.gasser.quotes import TICKS_A_UNIT
from penstock.apps.gasser.readings import BALL, HALF_LENGTH_MM, HALF_WIDTH_MM, PLAYERS_AND_BALL
from penstock.workloads.workload import Columns

BOTH = pytest.mark.parametrize("query", [Q1, Q2], ids=["q1", "q2"])


def rows(query: Query, start: int, stop: int, seed: int = 1, keys: str | None = None) -> Columns:
    app = GasserApp(query).configured("small", {} if keys is None else {"keys": keys})
    workload = pickle.loads(pickle.dumps(app.workload("small", seed)))
    columns: Columns = workload.columns(start, stop)
    return columns


@BOTH
@given(start=st.integers(0, 9_000_000), length=st.integers(0, 300), before=st.integers(0, 300), keyed=st.booleans())
def test_a_slice_is_the_same_wherever_it_is_cut(
    query: Query, start: int, length: int, before: int, keyed: bool
) -> None:
    keys, first = ("7" if keyed else None), max(start - before, 0)
    whole, part = (rows(query, begin, start + length, 3, keys) for begin in (first, start))
    for name, column in part.items():
        assert np.array_equal(np.asarray(whole[name])[start - first :], column)


@BOTH
def test_another_seed_is_another_stream_and_rows_are_numbered(query: Query) -> None:
    one, other = rows(query, 50, 150), rows(query, 50, 150, seed=2)
    assert np.array_equal(one["id"], np.arange(50, 150))
    assert not any(np.array_equal(one[name], other[name]) for name in query.columns)


@BOTH
@pytest.mark.parametrize("keys", [1, 2, 500])
def test_every_key_comes_about_as_often(query: Query, keys: int) -> None:
    found = np.bincount(np.asarray(rows(query, 0, 100_000, keys=str(keys))[query.key]))
    assert len(found) == keys
    # Five standard deviations of a binomial count.
    assert np.abs(found - 100_000 / keys).max() <= 5 * np.sqrt(100_000 / keys)


def test_a_quote_is_whole_ticks_near_its_symbol_s_base_and_moves_little() -> None:
    quotes = rows(Q1, 0, 2_000_000)
    price = np.asarray(quotes["price"])
    ticks = price * TICKS_A_UNIT
    assert np.abs(ticks - np.rint(ticks)).max() < 1e-6
    assert price.min() > 0
    assert 1.02 < price.max() / price.min() < 1.5
    assert np.abs(np.diff(price)).max() / price.mean() < 0.002
    volume = np.asarray(quotes["volume"])
    assert set(np.unique(volume % 100)) == {0.0}
    assert (volume.min(), volume.max()) == (100.0, 12_800.0)


def test_symbols_have_prices_of_their_own() -> None:
    quotes = rows(Q1, 0, 50_000, keys="20")
    symbol, price = np.asarray(quotes["symbol"]), np.asarray(quotes["price"])
    means = np.array([price[symbol == each].mean() for each in range(20)])
    spread = np.array([np.ptp(price[symbol == each]) for each in range(20)])
    assert np.ptp(means) > 50
    assert (spread < 0.4 * means).all()


def test_nobody_leaves_the_field_and_the_ball_goes_everywhere() -> None:
    readings = rows(Q2, 0, 2_000_000)
    x, y, sensor = (np.asarray(readings[name]) for name in ("x", "y", "sensor"))
    assert set(np.unique(sensor)) == set(range(PLAYERS_AND_BALL))
    assert np.abs(x).max() <= HALF_LENGTH_MM
    assert np.abs(y).max() <= HALF_WIDTH_MM
    for place in (x, y):
        assert np.array_equal(place, np.rint(place))
    assert np.ptp(x[sensor == BALL]) > max(np.ptp(x[sensor == player]) for player in range(1, PLAYERS_AND_BALL))


def test_nobody_jumps() -> None:
    readings = rows(Q2, 0, 200_000)
    sensor, x = np.asarray(readings["sensor"]), np.asarray(readings["x"])
    for each in range(PLAYERS_AND_BALL):
        assert np.abs(np.diff(x[sensor == each])).max() < 2000
