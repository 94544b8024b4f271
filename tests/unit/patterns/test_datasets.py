import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import BadInputError
from penstock.patterns import Arrivals, parse, parse_arrivals
from penstock.patterns.datasets import CYCLE, Datasets

TEXTS = [
    "datasets:rows=1000,every=1s",
    "datasets:rows=7,every=0.1s",
    "datasets:rows=1,every=3 ms",
    "datasets:rows=1000,every=1s,sd=250,seed=1",
    "datasets:rows=3,every=0.7s,sd=40,seed=5",
]


@pytest.mark.parametrize("text", TEXTS)
@settings(max_examples=60)
@given(index=st.integers(0, 10**12))
def test_a_row_has_arrived_at_its_arrival_and_not_before(text: str, index: int):
    arrivals = parse_arrivals(text)
    moment = arrivals.arrival_s(index)
    assert arrivals.arrived_by(moment) >= index + 1
    assert arrivals.arrived_by(math.nextafter(moment, 0.0)) <= index


@pytest.mark.parametrize("text", TEXTS)
@settings(max_examples=60)
@given(number=st.integers(0, 10**9))
def test_a_dataset_arrives_whole_at_the_end_of_its_interval(text: str, number: int):
    datasets = parse(text)
    assert isinstance(datasets, Datasets)
    first, size = int(datasets.first_of(np.array(number))), int(datasets.rows_of(np.array(number)))
    arrivals = Arrivals(datasets)
    moment = (number + 1) * datasets.every
    assert size >= 1
    assert arrivals.arrival_s(np.array([first, first + size - 1])).tolist() == [moment, moment]
    assert arrivals.arrival_s(first + size) == (number + 2) * datasets.every
    assert arrivals.arrived_by(moment) == first + size
    assert arrivals.arrived_by(math.nextafter(moment, 0.0)) == first


@pytest.mark.parametrize("text", TEXTS)
def test_arrivals_never_go_back_and_the_first_is_not_at_once(text: str):
    times = parse_arrivals(text).arrival_s(np.arange(50_000))
    assert (np.diff(times) >= 0).all()
    assert times[0] == parse(text).every  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", TEXTS)
def test_rows_and_datasets_count_each_other(text: str):
    datasets = parse(text)
    assert isinstance(datasets, Datasets)
    numbers = np.arange(CYCLE - 50, CYCLE + 50)  # over the end of the cycle
    firsts, sizes = datasets.first_of(numbers), datasets.rows_of(numbers)
    assert (np.diff(firsts) == sizes[:-1]).all()
    assert (datasets.number_of(firsts) == numbers).all()
    assert (datasets.number_of(firsts + sizes - 1) == numbers).all()


def test_random_sizes_are_normal_seeded_and_at_least_one_row():
    sizes = Datasets(rows=1000, every=1.0, sd=250.0, seed=1).rows_of(np.arange(CYCLE))
    assert sizes.mean() == pytest.approx(1000, abs=5)
    assert sizes.std() == pytest.approx(250, rel=0.02)
    assert np.mean(np.abs(sizes - 1000) < 250) == pytest.approx(0.6827, abs=0.01)
    assert not np.array_equal(sizes, Datasets(rows=1000, every=1.0, sd=250.0, seed=2).rows_of(np.arange(CYCLE)))
    assert Datasets(rows=2, every=1.0, sd=50.0).rows_of(np.arange(1000)).min() == 1


def test_sizes_do_not_depend_on_who_asks_first_or_on_the_interval():
    slow, fast = Datasets(100, 1.0, 30.0, seed=3), Datasets(100, 0.01, 30.0, seed=3)
    assert slow.rows_of(np.array([900, 4])).tolist() == fast.rows_of(np.arange(1000))[[900, 4]].tolist()


def test_the_value_is_the_mean_rate_of_the_interval():
    assert Datasets(rows=100, every=0.5).value(np.array([0.0, 0.4, 7.3])).tolist() == [200.0, 200.0, 200.0]


@pytest.mark.parametrize("text", TEXTS)
def test_datasets_read_back_from_their_text_and_from_a_pickle(text: str):
    arrivals = parse_arrivals(text)
    assert parse_arrivals(str(arrivals)) == arrivals
    assert pickle.loads(pickle.dumps(arrivals)) == arrivals
    assert len(pickle.dumps(arrivals)) < 500


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("datasets:rows=0,every=1s", "at least one row"),
        ("datasets:rows=1.5,every=1s", "not a whole number"),
        ("datasets:rows=10,every=0s", "not a length"),
        ("datasets:rows=10,every=1s,sd=-1", "never below 0"),
        ("datasets:rows=10", "missing"),
    ],
)
def test_datasets_that_cannot_come_are_refused(text: str, why: str):
    with pytest.raises(BadInputError, match=why):
        parse_arrivals(text)


def test_a_row_beyond_counting_does_not_hang():
    assert Arrivals(Datasets(rows=1000, every=1.0)).arrival_s(10**30) > 0
