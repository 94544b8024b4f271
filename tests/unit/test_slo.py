from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadInputError
from penstock.sample import BatchSample, Status
from penstock.slo import Kind, Metric, Slo, Verdict

RATE = Slo(20_000.0, kind=Kind.AT_LEAST, metric=Metric.THROUGHPUT)


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
        ("p99 <= 2 s", Slo(2.0, kind=Kind.AT_MOST, share=0.99)),
        ("P95 ≤ 2 s", Slo(2.0, kind=Kind.AT_MOST, share=0.95)),
        ("p99.9<=500ms end-to-end", Slo(0.5, kind=Kind.AT_MOST, metric=Metric.END_TO_END, share=0.999)),
        ("1 s ± 10% & >= 20k/s", Slo(1.0, also=RATE)),
        ("1 s and >= 20k/s", Slo(1.0, also=RATE)),
        ("p50 <= 1 s & >= 20k/s", Slo(1.0, kind=Kind.AT_MOST, share=0.5, also=RATE)),
    ],
)
def test_objectives_as_people_write_them(text: str, slo: Slo) -> None:
    assert Slo.parse(text) == slo


NO_OBJECTIVES = """
fast | 1 | 1 s ± 10 | 1 s ± 5% ± 6% | 0 s | -1 s | 1 s ± 0% | 1 s ± 100% | >= 2 s | <= 50k/s | >= 50k/s e2e | <= | < 1 s
| 1__0 s | 1e999 s | p99 | p99 2 s | p99 1 s ± 10% | p99 >= 5k/s | p0 <= 1 s | p100 <= 1 s | p101 <= 1 s | p <= 1 s
| p99 p95 <= 1 s | 1 s & | & 1 s | & | 1 s & <= 2 s | >= 5k/s & 6k/s | 1 s & >= 5k/s & <= 2 s | 1 s & fast
| >= 20k/s & p50 <= 1 s
"""


@pytest.mark.parametrize("text", ["", *(text.strip() for text in NO_OBJECTIVES.split("|"))])
def test_what_is_no_objective_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(BadInputError, match="write"):
        Slo.parse(text)


latencies = st.builds(
    lambda target, percent, form: Slo(target, percent / 100, *form),
    st.floats(1e-9, 1e9),
    st.integers(1, 99),
    st.sampled_from(
        [(Kind.HOLD, Metric.PROCESSING), (Kind.HOLD, Metric.END_TO_END)]
        + [(Kind.AT_MOST, metric, share) for metric in list(Metric)[:2] for share in (None, 0.5, 0.99, 0.999, 0.9999)]
    ),
)
rates = st.builds(
    lambda target, percent, kind: Slo(target, percent / 100, kind, Metric.THROUGHPUT),
    st.floats(1e-9, 1e9),
    st.integers(1, 99),
    st.sampled_from([Kind.HOLD, Kind.AT_LEAST]),
)
both = st.builds(lambda first, also: replace(first, also=also), latencies, rates) | st.builds(
    lambda first, also: replace(first, also=replace(also, share=None)), rates, latencies
)
slos = latencies | rates | both


@given(slos)
def test_an_objective_survives_being_written_down(slo: Slo) -> None:
    again = Slo.parse(str(slo))
    for part, same in zip((slo, slo.also), (again, again.also), strict=True):
        if part is None or same is None:
            assert part is same
            continue
        assert (same.kind, same.metric, same.target, same.share) == (part.kind, part.metric, part.target, part.share)
        assert same.tolerance == pytest.approx(part.tolerance, rel=1e-9)


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


def test_a_percentile_judges_a_batch_as_its_bound_does_and_keeps_its_share_at_another_tolerance() -> None:
    slo = Slo.parse("p99 <= 2 s")
    assert [slo.verdict(BatchSample(0, 1, 1, took_s), tolerance=0.2) for took_s in (2.0, 2.1)] == [
        Verdict.MET,
        Verdict.MISSED,
    ]
    assert (slo.aim, slo.plain) == (Slo.parse("<= 2 s").aim, Slo.parse("<= 2 s"))


@pytest.mark.parametrize(
    ("took_s", "items", "verdict"),
    [
        (1.0, 200, Verdict.MET),
        (1.0, 50, Verdict.MISSED),
        (2.0, 400, Verdict.MISSED),
        (2.0, 50, Verdict.MISSED),
    ],
)
def test_two_objectives_are_met_by_a_batch_that_meets_both(took_s: float, items: int, verdict: Verdict) -> None:
    slo = Slo.parse("1 s ± 10% & >= 100/s")
    assert slo.verdict(BatchSample(0, items, items, took_s)) is verdict
    assert (slo.measure(BatchSample(0, items, items, took_s)), slo.target, slo.low) == (took_s, 1.0, 0.9)


def test_of_two_objectives_one_that_nobody_measured_is_unknown_unless_the_first_is_missed() -> None:
    unmeasured = BatchSample(0, 100, 100, 1.0)
    assert Slo.parse("<= 2 s end-to-end & >= 200/s").verdict(unmeasured) is Verdict.UNKNOWN
    assert Slo.parse(">= 50/s & <= 2 s end-to-end").verdict(unmeasured) is Verdict.UNKNOWN
    assert Slo.parse(">= 200/s & <= 2 s end-to-end").verdict(unmeasured) is Verdict.MISSED


def test_the_second_objective_is_judged_at_the_other_tolerance_too() -> None:
    slo = Slo.parse("1 s ± 10% & 100/s ± 10%")
    batch = BatchSample(0, 118, 118, 1.0)
    assert slo.verdict(batch) is Verdict.MISSED
    assert slo.verdict(batch, tolerance=0.2) is Verdict.MET
