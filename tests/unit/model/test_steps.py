"""The controllers of the thesis, against its formulas and its figure 4.2."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.control.base import BaseController
from penstock.control.faf import Faf
from penstock.control.fixed import Fixed
from penstock.control.mbaf import Mbaf
from penstock.control.pbaf import Pbaf, PbafWt
from penstock.control.pmbaf import Pmbaf
from penstock.control.step import Step
from penstock.errors import BadInputError
from penstock.sample import BatchSample, Status
from penstock.slo import Slo
from penstock.testing.fakes import sample_of

FIGURE = Slo.parse("50 ms ± 10%")
STEPPERS = (Faf, Pbaf, PbafWt, Mbaf, Pmbaf)


def change(cls: type[BaseController], latency_ms: float, **settings: object) -> float:
    controller = cls(FIGURE, 100, **settings)
    return controller.decide(sample_of(FIGURE, latency_ms / 1000)).size - 100


@pytest.mark.parametrize(
    ("cls", "at_30_ms", "at_60_ms", "at_100_ms"),
    [
        (Fixed, 0, 0, 0),
        (Faf, 10, -10, -10),
        (Pbaf, 6.67, -3.33, -10),
        (PbafWt, 6.67, -3.33, -10),
        (Mbaf, 14, -12, -20),
        (Pmbaf, 16.67, -3.33, -20),
    ],
)
def test_steps_are_those_of_figure_4_2(
    cls: type[BaseController], at_30_ms: float, at_60_ms: float, at_100_ms: float
) -> None:
    assert change(cls, 30) == pytest.approx(at_30_ms, abs=0.005)
    assert change(cls, 60) == pytest.approx(at_60_ms, abs=0.005)
    assert change(cls, 100) == pytest.approx(at_100_ms, abs=0.005)


@pytest.mark.parametrize("cls", [Faf, Pbaf, Mbaf, Pmbaf])
def test_edges_of_the_band_belong_to_it(cls: type[BaseController]) -> None:
    assert change(cls, 45) == 0
    assert change(cls, 55) == 0
    assert change(cls, 44.99) > 0
    assert change(cls, 55.01) < 0


@pytest.mark.parametrize("text", ["3 ms ± 5%", "3 ms ± 15%", "0.7 s ± 20%", "<= 3 ms", ">= 50k/s"])
def test_edges_hold_for_objectives_that_floats_cannot_write(text: str) -> None:
    slo = Slo.parse(text)
    for edge in (slo.aim * (1 - slo.tolerance), slo.aim * (1 + slo.tolerance)):
        assert Faf(slo, 100).decide(sample_of(slo, edge)).size == 100


def test_without_threshold_moves_inside_the_band_but_not_at_the_target() -> None:
    assert change(PbafWt, 52) == pytest.approx(-10 * 0.04 / 0.6)
    assert change(PbafWt, 48) == pytest.approx(10 * 0.4 / 0.96)
    assert change(PbafWt, 50) == 0


def test_linear_lower_fraction_vanishes_at_the_target_and_is_whole_at_the_same_place() -> None:
    assert change(PbafWt, 49, lower="linear") == pytest.approx(10 * 0.02 / 0.6)
    assert change(Pbaf, 20, lower="linear") == pytest.approx(10)
    assert change(Pbaf, 21, lower="linear") < 10
    assert change(Pbaf, 20) == pytest.approx(10)
    assert change(Pbaf, 21) < 10


def test_pmbaf_changes_formula_beyond_0_7_and_1_8_targets() -> None:
    assert change(Pmbaf, 35) == pytest.approx(10 * 0.4 / 0.7)
    assert change(Pmbaf, 34.9) == pytest.approx(10 * 50 / 34.9)
    assert change(Pmbaf, 90) == pytest.approx(-10)
    assert change(Pmbaf, 90.1) == pytest.approx(-18.02)
    assert change(Pmbaf, 40, lower="linear") == pytest.approx(10 * 0.2 / 0.6)


def test_mbaf_at_most_doubles_the_step_and_pmbaf_does_not() -> None:
    assert change(Mbaf, 0.5) == pytest.approx(19.9)
    assert change(Pmbaf, 0.5) == pytest.approx(1000)


def test_a_step_in_percent_follows_the_size() -> None:
    small, large = Faf(FIGURE, 100, step="10%"), Faf(FIGURE, 10_000, step="10%")
    assert small.decide(sample_of(FIGURE, 0.03)).size == pytest.approx(110)
    assert large.decide(sample_of(FIGURE, 0.03)).size == pytest.approx(11_000)


def test_a_relative_step_down_undoes_the_step_up_and_never_takes_all() -> None:
    faf = Faf(FIGURE, 100, step="40%")
    assert faf.decide(sample_of(FIGURE, 0.03)).size == pytest.approx(140)
    assert faf.decide(sample_of(FIGURE, 0.07)).size == pytest.approx(100)
    assert Mbaf(FIGURE, 100_000, step="50%").decide(sample_of(FIGURE, 0.5)).size == pytest.approx(100_000 / 6)


def test_fractions_of_an_item_add_up() -> None:
    controller = Pbaf(FIGURE, 1, step=1)
    sizes = [controller.decide(sample_of(FIGURE, 0.040)).size for _ in range(4)]
    assert sizes == pytest.approx([1.5, 2.0, 2.5, 3.0])


@pytest.mark.parametrize("cls", STEPPERS)
def test_the_size_never_falls_below_one(cls: type[BaseController]) -> None:
    controller = cls(FIGURE, 15)
    assert [controller.decide(sample_of(FIGURE, 0.2)).size for _ in range(3)][-1] == 1.0


@pytest.mark.parametrize("cls", STEPPERS)
def test_low_throughput_grows_the_batch(cls: type[BaseController]) -> None:
    slo = Slo.parse("1000/s ± 10%")
    assert cls(slo, 100).decide(sample_of(slo, 500)).size > 100
    assert cls(slo, 100).decide(sample_of(slo, 1500)).size < 100


def test_a_bound_is_approached_from_inside() -> None:
    slo = Slo.parse("<= 2 s")
    assert Faf(slo, 100).decide(sample_of(slo, 2.0)).size == 100
    assert Faf(slo, 100).decide(sample_of(slo, 2.01)).size == 90
    assert Faf(slo, 100).decide(sample_of(slo, 1.6)).size == 110


def test_an_unknown_wait_trains_nobody_under_an_end_to_end_objective() -> None:
    slo = Slo.parse("<= 2 s e2e")
    decision = Faf(slo, 100).decide(BatchSample(batch_id=9, size=10, items=10, processing_s=0.1))
    assert decision.size == 100
    assert decision.reason == "batch 9 is ignored (no usable measure): size stays at 100"


def test_reasons_name_the_status_of_an_ignored_batch() -> None:
    reason = Faf(FIGURE, 100).decide(sample_of(FIGURE, 0.03, status=Status.REPLAYED)).reason
    assert "replayed" in reason


@given(latency_s=st.floats(1e-6, 1e3), size=st.floats(1, 1e9), share=st.floats(0.01, 1))
def test_every_stepper_moves_against_the_deviation(latency_s: float, size: float, share: float) -> None:
    for cls in STEPPERS:
        after = cls(FIGURE, size, step=Step(share, relative=True)).decide(sample_of(FIGURE, latency_s)).size
        assert (after - size) * (latency_s - FIGURE.target) <= 0


@pytest.mark.parametrize("step", [0, -1, "0%", "-5%", float("nan"), float("inf"), "ten", "%"])
def test_impossible_steps_are_refused(step: float | str) -> None:
    with pytest.raises(BadInputError, match="step"):
        Faf(FIGURE, 100, step=step)


@pytest.mark.parametrize("size", [0, -5, 0.5, float("nan"), float("inf")])
def test_impossible_sizes_are_refused(size: float) -> None:
    with pytest.raises(BadInputError, match="size"):
        Faf(FIGURE, size)


@pytest.mark.parametrize("cls", [Pbaf, PbafWt, Pmbaf])
def test_an_unknown_lower_form_is_refused(cls: type[BaseController]) -> None:
    with pytest.raises(BadInputError, match="'printed' or 'linear'"):
        cls(FIGURE, 100, lower="cubic")
