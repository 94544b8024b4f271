from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadInputError
from penstock.patterns import Pattern, Sequence, Stretch, catalogue, parse
from penstock.patterns.binary import Binary
from penstock.patterns.constant import Constant
from penstock.patterns.function import Function
from penstock.patterns.ramp import Decreasing, Increasing
from penstock.patterns.registry import KNOWN
from penstock.patterns.spike import Spike
from penstock.patterns.walk import RandomWalk
from penstock.patterns.wave import Wave

low_high = st.tuples(st.floats(0.0, 1e12), st.floats(0.0, 1e12)).map(sorted)
lengths = st.floats(1e-9, 1e12)


@st.composite
def patterns(draw: st.DrawFn) -> Pattern:
    (low, high), period = draw(low_high), draw(lengths)
    kind = draw(st.sampled_from([Increasing, Decreasing, Wave, Binary, Spike, RandomWalk, Constant]))
    if kind is Constant:
        return Constant(high)
    if kind is Spike:
        return Spike(low, high, period, draw(st.floats(0.001, 0.999)))
    if kind is RandomWalk:
        return RandomWalk(low, high, period, draw(st.none() | st.floats(0.0, 10.0)), draw(st.integers(0, 10**6)))
    return kind(low, high, period)


@given(patterns())
def test_text_of_a_pattern_reads_back_to_the_same_pattern(pattern: Pattern):
    assert parse(str(pattern)) == pattern


@given(st.lists(st.tuples(patterns(), lengths, st.sampled_from(["", "rush hour", "calm"])), min_size=2, max_size=4))
def test_text_of_a_sequence_reads_back_to_the_same_sequence(parts: list[tuple[Pattern, float, str]]):
    sequence = Sequence([Stretch(*part) for part in parts])
    assert parse(str(sequence)) == sequence


def test_text_of_a_function_reads_back_to_the_same_function():
    pattern = parse("function:of=math:sqrt,period=16,points=4,repeat=no")
    assert isinstance(pattern, Function)
    assert parse(str(pattern)) == pattern
    assert pattern.value(16.0) == 4.0


def test_units_of_people_are_understood():
    assert parse("wave:min=100,max=2k,period=30s") == Wave(100.0, 2000.0, 30.0)
    assert parse(" wave : min = 100 , max = 2k , period = 0.5 min ") == Wave(100.0, 2000.0, 30.0)
    assert parse("constant:rate=5k/s") == parse("constant:value=5000") == Constant(5000.0)
    assert parse("spike:min=0,max=1M,period=20,width=25%") == Spike(0.0, 1e6, 20.0, 0.25)
    assert parse("binary:min=1,max=2,period=200k").extent == 200_000


def test_a_part_lasts_for_its_period_unless_it_says_otherwise():
    sequence = parse("increasing:min=1,max=9,period=20s; wave:min=1,max=9,period=5s,length=1min; constant:rate=3")
    assert isinstance(sequence, Sequence)
    assert list(sequence.starts) == [0.0, 20.0, 80.0]
    assert sequence.extent is None
    assert sequence.part_names == ("increasing", "wave", "constant")


def test_every_pattern_is_in_the_catalogue_with_all_its_options():
    assert set(catalogue()) == {*KNOWN, "sequence"}
    for name, summary in catalogue().items():
        assert "\n" not in summary
        for option in fields(KNOWN[name]) if name in KNOWN else ():
            assert not option.init or option.name in summary, (name, option.name)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "constant, increasing, decreasing, wave"),
        ("sinus:min=1", "constant, increasing, decreasing, wave"),
        ("wave", "wave min"),
        ("wave:min=1,max=2", "period"),
        ("wave:min=1,max=2,perriod=3s", "did you mean period"),
        ("wave:min=1,max=2,colour=3", "min, max, period"),
        ("wave:min=1,max=2,period=0s", "wave period = 0"),
        ("wave:min=1,max=2,period=-3s", "wave period = -3"),
        ("wave:min=1,max=2,period=soon", "wave period = 'soon'"),
        ("wave:min=5,max=2,period=1s", "swap min and max"),
        ("binary:min=-5,max=2,period=1s", "binary min = -5"),
        ("wave:min=1,min=2,max=2,period=1s", "given twice"),
        ("constant:rate=1,value=2", "given twice"),
        ("wave:min", "key=value"),
        ("wave:min=,max=2,period=1s", "key=value"),
        ("constant:rate=-1", "constant rate = -1"),
        ("constant:rate=fast", "constant rate = 'fast'"),
        ("constant:rate=1e999", "constant rate"),
        ("spike:min=1,max=2,period=1s,width=0%", "spike width"),
        ("spike:min=1,max=2,period=1s,width=100%", "spike width"),
        ("random-walk:min=1,max=2,period=1s,seed=1.5", "seed"),
        ("random-walk:min=1,max=2,period=1s,step=-1", "step"),
        ("constant:rate=1; wave:min=1,max=2,period=1s", "constant length"),
        ("constant:rate=1,length=0s; constant:rate=2", "constant length"),
        ("constant:rate=1,length=1s;", "constant, increasing, decreasing, wave"),
        ("trace:path=nowhere.csv", "trace path = 'nowhere.csv'"),
        ("function:of=nowhere:f,period=1s", "function of"),
        ("function:of=math:pi,period=1s", "not a function"),
        ("function:of=math:sqrt,period=1s,repeat=maybe", "repeat=yes or"),
        ("function:of=math:sqrt,period=1s,points=0", "points"),
    ],
)
def test_bad_text_gives_one_line_with_the_field_and_the_remedy(text: str, named: str):
    with pytest.raises(BadInputError) as caught:
        parse(text)
    message = str(caught.value)
    assert named in message
    assert "\n" not in message
    assert caught.value.remedy


def test_a_quoted_path_may_hold_the_signs_of_the_grammar(tmp_path: Path):
    path = tmp_path / "a,b;c=d e.csv"
    path.write_text("value\n1\n2\n")
    pattern = parse(f'trace:path="{path}",repeat=no')
    assert pattern.value(5.0) == 2.0
    assert parse(str(pattern)) == pattern
