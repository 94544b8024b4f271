import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import BadInputError
from penstock.patterns import Arrivals, Saturated, parse, parse_arrivals
from penstock.patterns.constant import Constant

RATES = [
    "constant:rate=7",
    "constant:rate=0.1",
    "constant:rate=333333.3",
    "increasing:min=0,max=900,period=33s",
    "decreasing:min=3,max=1k,period=7s",
    "wave:min=0,max=2k,period=30s",
    "wave:min=100,max=110,period=0.7s",
    "binary:min=0,max=5k,period=3s",
    "spike:min=10,max=100k,period=9s,width=1%",
    "random-walk:min=0,max=1k,period=0.3s,seed=5",
    "increasing:min=0,max=1k,period=3s; constant:rate=0,length=5s; wave:min=5,max=1k,period=1s",
]


@pytest.mark.parametrize("text", RATES)
@settings(max_examples=40)
@given(index=st.integers(0, 10**9))
def test_an_item_has_arrived_at_its_arrival_and_not_before(text: str, index: int):
    arrivals = Arrivals(parse(text))
    moment = arrivals.arrival_s(index)
    assert arrivals.arrived_by(moment) >= index + 1
    assert arrivals.arrived_by(math.nextafter(moment, 0.0)) <= index


@pytest.mark.parametrize("text", RATES)
@settings(max_examples=40)
@given(elapsed_s=st.floats(0.0, 1e5))
def test_the_count_is_the_area_rounded_down(text: str, elapsed_s: float):
    arrivals = Arrivals(parse(text))
    area = arrivals.pattern.integral(elapsed_s)
    assert math.floor(area * (1 - 1e-12) - 1e-9) <= arrivals.arrived_by(elapsed_s) <= area * (1 + 1e-12) + 1e-9


@pytest.mark.parametrize("text", RATES)
def test_arrivals_never_go_back(text: str):
    times = Arrivals(parse(text)).arrival_s(np.arange(50_000))
    assert (np.diff(times) >= 0).all()
    assert times[0] > 0


@pytest.mark.parametrize("rate", [0.1, 3.0, 7e5])
def test_a_billion_items_later_arrivals_are_still_exact(rate: float):
    arrivals = Arrivals(Constant(rate))
    for index in (0, 999_999_998, 999_999_999):
        exact = Fraction(index + 1) / Fraction(rate)
        assert abs(Fraction(arrivals.arrival_s(index)) - exact) <= exact * Fraction(1, 2**52)


def test_a_billion_items_of_a_cyclic_pattern_end_a_whole_cycle():
    arrivals = Arrivals(parse("wave:min=0,max=200,period=10s"))
    assert arrivals.arrival_s(10**9 - 1) == pytest.approx(1e7, abs=1e-2)
    assert Arrivals(parse("binary:min=0,max=200,period=10s")).arrival_s(10**9 - 1) == 1e7


def test_slices_of_arrivals_equal_the_whole():
    arrivals = Arrivals(parse("wave:min=10,max=2k,period=7s"))
    whole = arrivals.arrival_s(np.arange(1000))
    assert [arrivals.arrival_s(index) for index in (0, 1, 500, 999)] == [whole[index] for index in (0, 1, 500, 999)]


def test_an_item_that_the_rate_never_reaches_does_not_arrive():
    arrivals = Arrivals(parse("decreasing:min=0,max=10,period=20s"))
    assert arrivals.arrival_s(100) == math.inf
    assert arrivals.arrived_by(1e9) in (99, 100)


def test_saturated_items_are_all_there_from_the_start():
    arrivals = parse_arrivals(" saturated ")
    assert arrivals == Saturated()
    assert arrivals.arrived_by(0.0) > 10**15
    assert list(arrivals.arrival_s(np.arange(3))) == [0.0, 0.0, 0.0]
    assert parse_arrivals(str(arrivals)) == arrivals


def test_before_the_start_nothing_has_arrived():
    assert Arrivals(Constant(5.0)).arrived_by(-0.1) == 0
    assert Saturated().arrived_by(-0.1) == 0


def test_a_rate_beyond_counting_does_not_hang():
    assert Arrivals(Constant(1e30)).arrived_by(10.0) == int(1e31)


def test_arrivals_read_back_from_their_text_and_name_their_parts():
    arrivals = parse_arrivals("constant:rate=5,length=10s,name=calm; constant:rate=50")
    assert parse_arrivals(str(arrivals)) == arrivals
    assert (arrivals.part_at(1.0), arrivals.part_at(11.0)) == ("calm", "constant")
    assert parse_arrivals("constant:rate=5").part_at(1.0) is None


def test_arrivals_without_any_item_are_refused():
    with pytest.raises(BadInputError, match="no item ever arrives"):
        parse_arrivals("wave:min=0,max=0,period=1s")
