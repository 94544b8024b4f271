from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.clock import ManualClock, SystemClock
from penstock.errors import BadInputError
from penstock.units import (
    format_count,
    format_duration,
    parse_count,
    parse_duration_s,
    parse_percent,
    parse_rate_per_s,
)


def test_what_people_write() -> None:
    assert [parse_duration_s(text) for text in ("5 us", "5µs", "1.5e3 ms", ".5 h", "1_000 s")] == pytest.approx(
        [5e-6, 5e-6, 1.5, 1800.0, 1000.0]
    )
    assert [parse_rate_per_s(text) for text in ("50k/s", "60 per min", "3.6M / h")] == pytest.approx([5e4, 1.0, 1e3])
    assert [parse_count(text) for text in ("7", "1_000", "2.5M", "1 g")] == [7.0, 1000.0, 2.5e6, 1e9]
    assert parse_percent(" 12.5 % ") == 0.125


@pytest.mark.parametrize("parse", [parse_duration_s, parse_rate_per_s, parse_count, parse_percent])
@pytest.mark.parametrize(
    "text", ["", "x", "nan", "1 parsec", "1__0", "1_", "1_ s", "1__0/s", "1e999", "1e999%", "5/s%"]
)
def test_what_is_no_quantity_names_field_value_and_remedy(parse: object, text: str) -> None:
    with pytest.raises(BadInputError, match=r"knob = .*; write"):
        parse(text, "knob")  # type: ignore[operator]


@given(st.floats(1e-9, 1e9))
def test_a_shown_duration_is_within_its_last_digit_and_never_in_powers_of_ten(seconds: float) -> None:
    text = format_duration(seconds)
    assert "e" not in text
    assert parse_duration_s(text) == pytest.approx(seconds, rel=1e-3)


@given(st.floats(1, 1e13))
def test_a_shown_count_is_within_its_last_digit_and_never_in_powers_of_ten(number: float) -> None:
    text = format_count(number)
    assert "e" not in text
    assert parse_count(text) == pytest.approx(number, rel=1e-3)


def test_special_values_are_shown_and_do_not_crash() -> None:
    assert [format_duration(value) for value in (0.0, math.inf, 1e-12, -0.5)] == ["0 s", "inf", "0.001 ns", "-500 ms"]
    assert [format_count(value) for value in (0.0, math.nan, -2000.0)] == ["0", "nan", "-2k"]


def test_a_manual_clock_only_passes_forwards() -> None:
    clock = ManualClock()
    with pytest.raises(BadInputError, match="use step_wall"):
        clock.advance(-1.0)
    clock.step_wall(-1.0)
    assert (clock.wall_s(), clock.monotonic_s()) == (-1.0, 0.0)


def test_the_system_clock_never_goes_back() -> None:
    clock = SystemClock()
    first = clock.monotonic_s()
    assert clock.monotonic_s() >= first
    assert clock.wall_s() > 1.5e9
