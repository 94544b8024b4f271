import itertools
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from penstock.errors import BadInputError
from penstock.patterns import Pattern, Sequence, Stretch
from penstock.patterns.binary import Binary
from penstock.patterns.constant import Constant
from penstock.patterns.function import Function
from penstock.patterns.ramp import Decreasing, Increasing
from penstock.patterns.spike import Spike
from penstock.patterns.walk import WALK_STEPS, RandomWalk
from penstock.patterns.wave import Wave


def hump(x: float) -> float:
    return 1.0 + np.sin(x) ** 2


amounts = st.one_of(st.just(0.0), st.floats(1e-2, 1e5))
periods = st.floats(0.01, 1e4)
ranges = st.tuples(amounts, amounts).map(sorted)
shares = st.floats(0.0, 5.0)


@st.composite
def simple_patterns(draw: st.DrawFn) -> Pattern:
    low, high = draw(ranges)
    period = draw(periods)
    kind = draw(st.sampled_from([Constant, Increasing, Decreasing, Wave, Binary, Spike, RandomWalk, Function]))
    if kind is Constant:
        return Constant(high)
    if kind is Spike:
        return Spike(low, high, period, draw(st.floats(0.01, 0.99)))
    if kind is RandomWalk:
        return RandomWalk(low, high, period, seed=draw(st.integers(0, 99)))
    if kind is Function:
        return Function(hump, period, points=draw(st.integers(1, 20)), repeat=draw(st.booleans()))
    return kind(low, high, period)


@st.composite
def patterns(draw: st.DrawFn) -> Pattern:
    if draw(st.booleans()):
        return draw(simple_patterns())
    return Sequence([Stretch(draw(simple_patterns()), draw(periods)) for _ in range(draw(st.integers(1, 4)))])


def corners(pattern: Pattern, end: float) -> list[float]:
    """Where the pattern jumps or bends, so that the reference integrates smooth pieces only."""
    if isinstance(pattern, Sequence):
        found = []
        for start, stretch in zip(pattern.starts, pattern.stretches, strict=True):
            found += [start, *(start + x for x in corners(stretch.pattern, end - start))]
        return found
    if isinstance(pattern, Wave):
        return list(np.arange(0, end, pattern.period / 2))
    if isinstance(pattern, Constant):
        return []
    edges = pattern.segments.edges
    cycles = np.arange(end // edges[-1] + 1) if pattern.segments.repeat else np.zeros(1)
    return list(np.add.outer(cycles * edges[-1], edges[edges < end]).ravel())


def reference(pattern: Pattern, end: float) -> float:
    cuts = sorted({0.0, end, *(x for x in corners(pattern, end) if 0 < x < end)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sum(quad(pattern.value, a, b, limit=20)[0] for a, b in itertools.pairwise(cuts))


@given(simple_patterns(), shares)
def test_integral_is_the_area_under_the_value(pattern: Pattern, share: float):
    end = share * (pattern.extent or 1.0)
    assert pattern.integral(end) == pytest.approx(reference(pattern, end), rel=1e-7, abs=1e-7)


def test_integral_of_a_sequence_is_the_area_under_the_value():
    sequence = Sequence(
        [
            Stretch(Increasing(2.0, 9.0, 3.0), 4.0),
            Stretch(Wave(0.0, 8.0, 2.0), 3.5),
            Stretch(Constant(0.0), 2.0),
            Stretch(Spike(1.0, 50.0, 1.5, 0.2), 6.0),
        ]
    )
    for end in (0.5, 4.0, 7.5, 9.0, 9.7, 14.0, 40.0):
        assert sequence.integral(end) == pytest.approx(reference(sequence, end), rel=1e-8)


@given(patterns(), st.lists(st.floats(0.0, 1e6), min_size=1, max_size=20))
def test_inverse_reaches_the_area_and_no_more(pattern: Pattern, areas: list[float]):
    wanted = np.array(areas)
    x = pattern.inverse(wanted)
    reached = np.isfinite(x)
    assert (wanted[~reached] > pattern.total).all()
    assert (wanted[reached] <= pattern.total).all()
    back = pattern.integral(x[reached])
    # Far out, neighbouring floats of x are further apart than the area is exact: allow for some of them.
    slack = pattern.integral(x[reached] * (1 + 1e-14)) - pattern.integral(x[reached] * (1 - 1e-14))
    assert (np.abs(back - wanted[reached]) <= slack + 1e-12 * (1.0 + wanted[reached])).all()


@given(patterns(), st.lists(st.floats(0.0, 1e6), min_size=2, max_size=20))
def test_inverse_never_goes_back(pattern: Pattern, areas: list[float]):
    x = pattern.inverse(np.sort(np.array(areas)))
    finite = x[np.isfinite(x)]
    assert (np.diff(finite) >= -1e-9 * (1 + finite[1:])).all()


@given(patterns(), st.floats(0.0, 1e5))
def test_one_number_and_an_array_give_the_same(pattern: Pattern, x: float):
    both = np.array([[x], [x / 2]])
    for question in (pattern.value, pattern.integral, pattern.inverse):
        assert question(both).shape == (2, 1)
        assert question(both)[0, 0] == question(x)


def test_inverse_is_the_smallest_x_and_jumps_over_stretches_of_zero():
    pulse = Binary(0.0, 4.0, 10.0)
    assert pulse.inverse(0.0) == 0.0
    assert pulse.inverse(2.0) == 5.5
    assert pulse.inverse(20.0) == 10.0
    assert pulse.inverse(24.0) == 16.0


def test_inverse_of_more_than_the_total_is_infinite():
    fading = Decreasing(0.0, 10.0, 20.0)
    assert fading.inverse(100.0) == pytest.approx(20.0)
    assert fading.inverse(100.1) == np.inf
    assert Constant(0.0).inverse(0.0) == 0.0
    assert Constant(0.0).inverse(1e-9) == np.inf
    assert Wave(0.0, 0.0, 1.0).inverse(1.0) == np.inf


@pytest.mark.parametrize("low", [0.0, 1e-9, 1.0, 99.0, 100.0])
def test_wave_inverts_to_float_precision_over_many_cycles(low: float):
    wave = Wave(low, 100.0, 7.0)
    areas = np.linspace(0.0, 1e7, 20_001)
    back = wave.integral(wave.inverse(areas))
    assert np.abs(back - areas).max() <= 1e-14 * areas[-1]


def test_shapes_are_those_of_the_papers_algorithms():
    x = np.array([0.0, 2.5, 5.0, 7.5, 9.0, 9.5, 10.0, 12.5])
    cases = {
        Increasing(0.0, 10.0, 10.0): [0, 2.5, 5, 7.5, 9, 9.5, 10, 10],
        Decreasing(0.0, 10.0, 10.0): [10, 7.5, 5, 2.5, 1, 0.5, 0, 0],
        Binary(1.0, 10.0, 10.0): [1, 1, 10, 10, 10, 10, 1, 1],
        Spike(0.0, 10.0, 10.0): [0, 0, 0, 0, 0, 5, 0, 0],
        Wave(0.0, 10.0, 10.0): [5, 10, 5, 0, 5 * (1 - np.sin(0.2 * np.pi)), 5 * (1 - np.sin(0.1 * np.pi)), 5, 10],
    }
    for pattern, expected in cases.items():
        assert pattern.value(x) == pytest.approx(np.array(expected, dtype=float), abs=1e-9), pattern


@given(ranges, st.integers(0, 1000), st.floats(0.0, 1e6))
def test_random_walk_stays_in_bounds_and_depends_on_x_and_seed_alone(bounds: list[float], seed: int, x: float):
    low, high = bounds
    walk = RandomWalk(low, high, 1.0, step=(high - low) * 3, seed=seed)
    assert low <= walk.value(x) <= high
    assert RandomWalk(low, high, 1.0, step=(high - low) * 3, seed=seed).value(x) == walk.value(x)


def test_random_walk_never_moves_more_than_a_step_even_where_it_turns_back():
    walk = RandomWalk(0.0, 100.0, 1.0, step=2.0, seed=3)
    values = walk.value(np.arange(4 * WALK_STEPS) + 0.5)
    assert np.abs(np.diff(values)).max() <= 2.0
    assert values.min() < 10 < 90 < values.max()
    assert not (RandomWalk(0.0, 100.0, 1.0, step=2.0, seed=4).value(np.arange(50.0)) == values[:50]).all()


def test_sequence_starts_each_pattern_anew_and_lets_the_last_go_on():
    sequence = Sequence([Stretch(Increasing(0.0, 10.0, 10.0), 10.0, "up"), Stretch(Wave(0.0, 2.0, 4.0), 8.0)])
    assert sequence.value(10.0) == pytest.approx(1.0)
    assert sequence.value(1011.0) == pytest.approx(2.0)
    assert [sequence.part_at(x) for x in (0.0, 9.99, 10.0, 1e9)] == ["up", "up", "wave", "wave"]
    assert sequence.part_names == ("up", "wave")
    assert sequence.extent == 18.0


@pytest.mark.parametrize(
    "pattern",
    [RandomWalk(1.0, 2.0, 3.0), Wave(1.0, 2.0, 3.0), Function(hump, 3.0), Sequence([Stretch(Spike(1, 2, 3), 4)])],
    ids=lambda pattern: pattern.name,
)
def test_a_pickled_pattern_is_the_same_and_small(pattern: Pattern):
    pattern.value(1.0)
    packed = pickle.dumps(pattern)
    again = pickle.loads(packed)
    assert again == pattern
    assert again.inverse(77.0) == pattern.inverse(77.0)
    assert len(packed) < 60_000


@pytest.mark.parametrize("x", [-1.0, np.nan, np.inf])
def test_places_outside_the_axis_are_refused(x: float):
    with pytest.raises(BadInputError, match=r"^x = "):
        Constant(1.0).value(np.array([1.0, x]))


def test_a_function_below_zero_is_refused_with_the_place():
    with pytest.raises(BadInputError, match=r"-1.*x = 0"):
        Function(lambda x: x - 1.0, 10.0)
