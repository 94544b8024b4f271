import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import BadInputError
from penstock.patterns import parse, parse_arrivals
from penstock.patterns.poisson import CYCLE, Poisson

TEXTS = ["poisson:rate=100k/s", "poisson:rate=0.3,seed=7", "poisson:rate=333333.3,seed=2"]


@pytest.mark.parametrize("text", TEXTS)
@settings(max_examples=60)
@given(index=st.one_of(st.integers(0, 10**10), st.integers(-2, 2).map(lambda near: 5 * CYCLE + near)))
def test_an_item_has_arrived_at_its_arrival_and_not_before(text: str, index: int):
    arrivals = parse_arrivals(text)
    moment = arrivals.arrival_s(index)
    assert arrivals.arrived_by(moment) >= index + 1
    assert arrivals.arrived_by(math.nextafter(moment, 0.0)) <= index


@pytest.mark.parametrize("text", TEXTS)
def test_arrivals_never_go_back_and_any_slice_is_the_same(text: str):
    arrivals = parse_arrivals(text)
    whole = arrivals.arrival_s(np.arange(CYCLE - 500, CYCLE + 500))
    assert (np.diff(whole) >= 0).all()
    assert arrivals.arrival_s(np.arange(CYCLE - 2, CYCLE + 3)).tolist() == whole[498:503].tolist()
    assert parse_arrivals("poisson:rate=10").arrival_s(0) > 0


def test_gaps_are_exponential_and_the_rate_is_kept():
    pattern = Poisson(rate=50.0, seed=3)
    gaps_s = np.diff(pattern.inverse(np.arange(CYCLE + 1.0)))
    assert pattern.inverse(float(CYCLE)) == CYCLE / 50.0
    assert gaps_s.std() == pytest.approx(1 / 50, rel=0.01)
    for quantile in (0.1, 0.5, 0.9, 0.99):
        assert np.quantile(gaps_s, quantile) == pytest.approx(-math.log(1 - quantile) / 50, rel=0.01)
    # Counts of equal intervals vary as much as their mean, which regular arrivals do not.
    counts = np.diff(pattern.integral(np.arange(0.0, 20_000.0)))
    assert counts.var() == pytest.approx(counts.mean(), rel=0.05)


def test_seeds_differ():
    assert parse("poisson:rate=10,seed=1").inverse(5.0) != parse("poisson:rate=10,seed=2").inverse(5.0)


def test_text_and_pickle_give_the_same_pattern_and_the_table_stays_here():
    pattern = Poisson(rate=2000.0, seed=4)
    pattern.inverse(1.0)
    assert parse(str(pattern)) == pattern == pickle.loads(pickle.dumps(pattern))
    assert len(pickle.dumps(pattern)) < 1000


@pytest.mark.parametrize(("text", "named"), [("poisson:rate=0", "arrivals"), ("poisson:rate=-1", "poisson rate")])
def test_rates_at_which_nothing_arrives_are_refused(text: str, named: str):
    with pytest.raises(BadInputError, match=named):
        parse_arrivals(text)
