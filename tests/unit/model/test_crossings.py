"""What is high and low of late, and where a load crosses the middle of it."""

from __future__ import annotations

import random
from array import array

import pytest

from penstock.model.crossings import Crossings

RECENT = 20


@pytest.mark.parametrize("seed", range(5))
def test_the_range_is_that_of_the_last_values(seed: int) -> None:
    source, crossings = random.Random(seed), Crossings(RECENT)
    values: list[float] = []
    for _ in range(300):
        # Values that come twice: an extreme that goes may still be there.
        values.append(float(source.randrange(30)))
        crossings.see(values[-1])
        last = values[-RECENT:]
        assert crossings.range == max(last) - min(last)


def test_a_value_near_the_middle_crosses_nothing() -> None:
    crossings = Crossings(RECENT)
    for value in (0.0, 10.0, 0.0):
        crossings.see(value)
        crossings.cross(up=1.0, down=1.0)
    for place, value in enumerate((5.5, 4.5, 5.9)):
        crossings.see(value)
        assert not crossings.cross(up=place, down=place)
    crossings.see(9.0)
    assert crossings.cross(up=7.0, down=8.0)
    assert crossings.last[-1] == 7.0


def test_values_that_look_different_now_have_another_range_and_the_same_places() -> None:
    crossings = Crossings(RECENT)
    for place, value in enumerate((0.0, 10.0, 0.0, 10.0)):
        crossings.see(value)
        crossings.cross(up=place, down=place)
    places = list(crossings.ups), list(crossings.downs)
    crossings.revise(array("d", [99.0, *[1.0, 3.0] * RECENT]))
    assert crossings.range == 2.0
    assert (list(crossings.ups), list(crossings.downs)) == places
    crossings.revise(array("d"))
    crossings.see(4.0)
    assert crossings.range == 0.0
