from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadInputError
from penstock.sample import BatchSample, Status
from penstock.slo import Kind, Metric, Slo, Verdict


@pytest.mark.parametrize(
    ("text", "slo"),
    [
        ("1 s ± 10%", Slo(1.0, 0.10)),
        ("3 ms +- 5%", Slo(0.003, 0.05)),
        ("3ms+/-5%", Slo(0.003, 0.05)),
        ("2 s", Slo(2.0, 0.10)),
        ("<= 2 s", Slo(2.0, kind=Kind.AT_MOST)),
        ("≤ 2 s end to end", Slo(2.0, kind=Kind.AT_MOST, metric=Metric.END_TO_END)),
        ("1 s ± 5% e2e", Slo(1.0, 0.05, metric=Metric.END_TO_END)),
        ("1 s processing", Slo(1.0)),
        (">= 50k/s", Slo(50_000.0, kind=Kind.AT_LEAST, metric=Metric.THROUGHPUT)),
        ("50k per s ± 20%", Slo(50_000.0, 0.2, metric=Metric.THROUGHPUT)),
    ],
)
def test_objectives_as_people_write_them(text: str, slo: Slo) -> None:
    assert Slo.parse(text) == slo


NO_OBJECTIVES = """
fast | 1 | 1 s ± 10 | 1 s ± 5% ± 6% | 0 s | -1 s | 1 s ± 0% | 1 s ± 100% | >= 2 s | <= 50k/s | >= 50k/s e2e | <= | < 1 s
| 1__0 s | 1e999 s
"""


@pytest.mark.parametrize("text", ["", *(text.strip() for text in NO_OBJECTIVES.split("|"))])
def test_what_is_no_objective_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(BadInputError, match="write"):
        Slo.parse(text)


slos = st.builds(
    lambda target, percent, form: Slo(target, percent / 100, *form),
    st.floats(1e-9, 1e9),
    st.integers(1, 99),
    st.sampled_from(
        [(Kind.HOLD, metric) for metric in Metric]
        + [(Kind.AT_MOST, Metric.PROCESSING), (Kind.AT_MOST, Metric.END_TO_END), (Kind.AT_LEAST, Metric.THROUGHPUT)]
    ),
)


@given(slos)
def test_an_objective_survives_being_written_down(slo: Slo) -> None:
    again = Slo.parse(str(slo))
    assert (again.kind, again.metric, again.target) == (slo.kind, slo.metric, slo.target)
    assert again.tolerance == pytest.approx(slo.tolerance, rel=1e-9)


@given(slos)
def test_target_and_aim_meet_the_objective(slo: Slo) -> None:
    assert slo.holds(slo.target)
    assert slo.holds(slo.aim)
    assert slo.low <= slo.target <= slo.high


def test_a_bound_that_no_short_decimal_can_write_is_still_inclusive() -> None:
    bound = Slo(1 / 3, kind=Kind.AT_MOST)
    assert bound.holds(1 / 3)
    assert not bound.holds(math.nextafter(1 / 3, 1))


def test_verdicts() -> None:
    slo = Slo.parse("1 s ± 10%")
    assert slo.verdict(BatchSample(0, 1, 1, 1.1)) is Verdict.MET
    assert slo.verdict(BatchSample(0, 1, 1, 1.2)) is Verdict.MISSED
    assert slo.verdict(BatchSample(0, 1, 1, 1.2), tolerance=0.2) is Verdict.MET
    assert slo.verdict(BatchSample(0, 1, 1, 1.0, status=Status.FAILED)) is Verdict.UNKNOWN
    assert slo.verdict(BatchSample(0, 1, 1, math.nan)) is Verdict.UNKNOWN
    end_to_end = Slo.parse("<= 2 s e2e")
    assert end_to_end.verdict(BatchSample(0, 1, 1, 1.0)) is Verdict.UNKNOWN
    assert end_to_end.verdict(BatchSample(0, 1, 1, 1.0, wait_s=1.5)) is Verdict.MISSED
    assert Slo.parse(">= 10/s").verdict(BatchSample(0, 1, 20, 2.0)) is Verdict.MET
