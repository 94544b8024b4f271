"""PID in both forms, against hand-made sums."""

from __future__ import annotations

import copy
import math

import pytest

from penstock.control.pid import Gain, Pid
from penstock.errors import BadInputError
from penstock.slo import Slo
from penstock.testing.fakes import sample_of

SLO = Slo.parse("1 s ± 10%")


def decide(controller: Pid, latency_s: float) -> float:
    return controller.decide(sample_of(SLO, latency_s)).size


def test_positional_output_is_the_size_and_starts_from_nothing() -> None:
    controller = Pid(SLO, 5000, kp=10, ki=15, kd=3)
    assert decide(controller, 0.5) == pytest.approx(10 * 0.5 + 15 * 0.5 + 3 * 0.5)
    assert decide(controller, 0.7) == pytest.approx(10 * 0.3 + 15 * 0.8 + 3 * (0.3 - 0.5))
    assert decide(controller, 0.8) == pytest.approx(10 * 0.2 + 15 * 1.0 + 3 * (0.2 - 0.3))


def test_defaults_are_the_best_gains_of_the_thesis() -> None:
    controller = Pid(SLO, 100)
    assert (controller.kp, controller.ki, controller.kd) == (10, 15, 3)


def test_a_result_below_one_gives_one_and_resets_the_sum() -> None:
    controller = Pid(SLO, 100, kp=10, ki=15, kd=0)
    decide(controller, 0.1)
    assert decide(controller, 9.0) == 1.0
    assert decide(controller, 0.9) == pytest.approx(10 * 0.1 + 15 * 0.1)


def test_after_an_assigned_size_the_same_error_leads_on_from_there() -> None:
    controller = Pid(SLO, 100, kp=10, ki=15, kd=3)
    for _ in range(50):
        decide(controller, 0.5)
    controller.size = 40.0
    assert decide(controller, 0.5) == pytest.approx(40 + 15 * 0.5)


def test_without_an_integral_an_assigned_size_lasts_one_decision() -> None:
    controller = Pid(SLO, 100, kp=10, ki=0, kd=0)
    controller.size = 40.0
    assert decide(controller, 0.5) == pytest.approx(5.0)


def test_percent_gains_multiply_the_size() -> None:
    controller = Pid(SLO, 1000, kp="40%", ki="20%", kd="10%")
    e1, e2 = math.log(1 / 0.5), math.log(1 / 0.7)
    first = 1000 * math.exp(0.4 * e1 + 0.2 * e1 + 0.1 * e1)
    second = first * math.exp(0.4 * (e2 - e1) + 0.2 * e2 + 0.1 * (e2 - 2 * e1))
    third = second * math.exp(0.4 * (0.0 - e2) + 0.2 * 0.0 + 0.1 * (0.0 - 2 * e2 + e1))
    assert decide(controller, 0.5) == pytest.approx(first)
    assert decide(controller, 0.7) == pytest.approx(second)
    assert decide(controller, 1.0) == pytest.approx(third)


def test_percent_gains_do_not_explode_after_a_stall() -> None:
    controller = Pid(SLO, 1000, kp="50%", ki="20%", kd="50%")
    assert decide(controller, 500.0) == 1.0
    assert decide(controller, 0.5) == pytest.approx(2 ** (0.5 + 0.2 + 0.5))


def test_percent_form_starts_from_an_assigned_size() -> None:
    controller = Pid(SLO, 1000, kp=0, ki="20%", kd=0)
    controller.size = 200.0
    assert decide(controller, 0.5) == pytest.approx(200 * 2**0.2)


def test_a_copy_keeps_its_own_past() -> None:
    controller = Pid(SLO, 100)
    decide(controller, 0.5)
    before = copy.deepcopy(controller)
    expected = decide(controller, 0.8)
    decide(controller, 0.1)
    assert decide(before, 0.8) == expected


@pytest.mark.parametrize(("kp", "ki"), [("10%", 15), ("10%", "15"), (-1, 15), ("-1%", "1%"), (float("nan"), 1)])
def test_impossible_gains_are_refused(kp: Gain, ki: Gain) -> None:
    with pytest.raises(BadInputError, match=r"k[pi] = "):
        Pid(SLO, 100, kp=kp, ki=ki, kd=0)
