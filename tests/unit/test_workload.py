import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadInputError
from penstock.patterns import parse, parse_arrivals, thesis_layout, work_layout
from penstock.workloads.workload import Workload, counter_items, hashed, uniform

SATURATED = parse_arrivals("saturated")
WAVE = parse("wave:min=1,max=9,period=100")


def pairs(indices, costs, seed):
    return {"id": indices, "at": np.stack([hashed(indices, seed, 0), hashed(indices, seed, 1)], axis=1)}


@given(st.integers(0, 10**12), st.integers(0, 300), st.integers(0, 300), st.integers(0, 2**63))
def test_a_slice_of_items_does_not_depend_on_how_it_is_cut(start: int, first: int, second: int, seed: int):
    workload = Workload(SATURATED, WAVE, seed=seed)
    whole = workload.columns(start, start + first + second)
    left = workload.columns(start, start + first)
    right = workload.columns(start + first, start + first + second)
    for name, column in whole.items():
        assert (np.concatenate((left[name], right[name])) == column).all()


def test_items_depend_on_the_seed():
    one, other = (Workload(SATURATED, WAVE, seed=seed).columns(0, 100)["value"] for seed in (1, 2))
    assert not (one == other).any()


def test_arrivals_end_with_the_items():
    workload = Workload(parse_arrivals("constant:rate=100"), WAVE, items=250)
    assert [workload.arrived_by(at) for at in (-1.0, 0.0, 1.0, 2.5, 99.0)] == [0, 0, 100, 250, 250]
    assert workload.arrival_s(249) == 2.5
    assert Workload(SATURATED, WAVE, items=250).arrived_by(0.0) == 250
    assert Workload(SATURATED, WAVE).items is None
    assert Workload(parse_arrivals("constant:rate=100"), WAVE).arrived_by(1e6) == 10**8


def test_a_layout_gives_the_number_of_items_and_their_parts():
    layout = work_layout(1e5, 1.0, 30.0, 50)
    workload = Workload(SATURATED, layout)
    assert workload.items == layout.items
    assert workload.part(0) == "increasing"
    assert workload.part(layout.items - 1) == "wave"
    assert (workload.columns(5, 50)["cost"] == layout.cost(np.arange(5, 50))).all()


def test_parts_come_from_the_cost_or_else_from_the_arrivals():
    steps = "constant:rate=1,length=10,name=calm; constant:rate=5,name=busy"
    assert [Workload(SATURATED, parse(steps)).part(index) for index in (9, 10)] == ["calm", "busy"]
    assert [Workload(parse_arrivals(steps), WAVE).part(index) for index in (8, 10)] == ["calm", "busy"]
    assert Workload(SATURATED, WAVE).part(3) is None


def test_load_is_the_mean_cost_of_the_slice():
    workload = Workload(SATURATED, thesis_layout(1.0, 31.0, 10_000))
    costs = workload.columns(0, 10_000)["cost"]
    for start, stop in ((0, 1), (0, 2000), (100, 163), (3000, 5000), (9999, 10_000)):
        assert workload.load(start, stop) == pytest.approx(costs[start:stop].mean(), rel=0.01)
    assert workload.load(7, 7) == 0.0


def test_load_looks_at_few_items_however_long_the_slice():
    asked = []

    class Counting(type(WAVE)):
        def _value(self, x):
            asked.append(x.size)
            return super()._value(x)

    Workload(SATURATED, Counting(1.0, 9.0, 100.0)).load(0, 10**12)
    assert asked == [64]


def test_an_endless_workload_serves_far_away_items():
    workload = Workload(SATURATED, WAVE)
    assert workload.columns(10**15, 10**15 + 3)["id"].tolist() == [10**15, 10**15 + 1, 10**15 + 2]


def test_lists_of_fixed_size_are_two_dimensional():
    workload = Workload(SATURATED, WAVE, generate=pairs, schema_ddl="id bigint, at array<bigint>", items=10)
    assert workload.columns(2, 5)["at"].shape == (3, 2)


def test_a_pickled_workload_serves_the_same_items():
    workload = Workload(parse_arrivals("wave:min=1,max=9,period=3s"), work_layout(1e4, 1.0, 9.0, 20), seed=3)
    again = pickle.loads(pickle.dumps(workload))
    assert again.arrival_s(99) == workload.arrival_s(99)
    for name, column in workload.columns(0, 99).items():
        assert (again.columns(0, 99)[name] == column).all()


def test_a_generator_that_breaks_its_schema_is_refused():
    with pytest.raises(BadInputError, match="the schema says"):
        Workload(SATURATED, WAVE, schema_ddl="cost double, id bigint, value double").columns(0, 3)
    short = Workload(SATURATED, WAVE, generate=lambda indices, costs, seed: counter_items(indices[1:], costs, seed))
    with pytest.raises(BadInputError, match="column id"):
        short.columns(0, 3)


def test_items_that_are_not_there_are_refused():
    with pytest.raises(BadInputError, match="more than the layout has"):
        Workload(SATURATED, thesis_layout(1.0, 2.0, 100), items=101)
    with pytest.raises(BadInputError, match="items = 0"):
        Workload(SATURATED, WAVE, items=0)
    for start, stop in ((-1, 2), (5, 4), (0, 11)):
        with pytest.raises(BadInputError, match="slice"):
            Workload(SATURATED, WAVE, items=10).columns(start, stop)


def test_hashed_bits_are_even_and_streams_unrelated():
    indices = np.arange(1 << 16)
    bits = hashed(indices, seed=1, stream=0)
    assert len(np.unique(bits)) == len(bits)
    ones = ((bits[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)).mean(axis=0)
    assert np.abs(ones - 0.5).max() < 0.01
    one = uniform(indices, seed=1)
    for other in (uniform(indices, seed=2), uniform(indices, seed=1, stream=1), np.roll(one, 1)):
        assert abs(np.corrcoef(one, other)[0, 1]) < 0.02
    assert 0 <= one.min() < one.max() < 1


def test_hashed_values_are_fixed_for_ever():
    assert hashed(np.arange(2), seed=1, stream=0).tolist() == [0xB18A02F46D8D86C3, 0xF8C5B62C83F707E8]
