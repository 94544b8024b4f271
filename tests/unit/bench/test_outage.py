from __future__ import annotations

from dataclasses import asdict

import pytest

from penstock.bench.outage.drain import OutageSpec, caught_up, measure
from penstock.errors import BadInputError
from penstock.reproduce.results.outage import outage_section
from penstock.sample import BatchSample
from penstock.slo import Slo

SLO = Slo.parse("2 s ± 10%")


def batch(number: int, items: int, started_s: float, processing_s: float, wait_s: float) -> BatchSample:
    return BatchSample(
        batch_id=number,
        size=items,
        items=items,
        processing_s=processing_s,
        wait_s=wait_s,
        started_s=started_s,
        backlog=max(1000 - items, 0),
    )


def test_the_drain_ends_with_the_batch_that_takes_the_last_of_the_backlog():
    samples = [
        batch(0, 100, 100.0, 0.5, 1.0),
        batch(1, 500, 100.5, 2.0, 1.5),
        batch(2, 500, 102.5, 2.5, 3.5),
        batch(3, 80, 105.0, 1.0, 2.0),
    ]
    row = measure(samples, records=1000, slo=SLO, began_s=99.0)
    assert (row["drain_s"], row["caught_up_s"], row["batches"]) == (6.0, 7.0, 3)
    assert (row["first_batch"], row["largest_batch"]) == (100, 500)
    # Of the batches before the last one: 0.5 s missed, 2 s met.
    assert row["b_slh"] == 50.0
    assert row["i_slh"] == pytest.approx(100 * 500 / 600)
    assert row["lag_max_s"] == 6.0


def test_the_section_of_the_page_has_a_row_for_each_and_the_command():
    row = {
        "contender": "plain",
        "rounds": 2,
        "first_batch": 1_000_000,
        "largest_batch": 1_000_000,
        "drain_s": 31.25,
        "drain_ratio": 1.0,
        "drain_ratios": [1.0, 1.0],
        "caught_up_s": None,
        "processing_mean_s": 30.0,
        "processing_max_s": 30.0,
        "i_slh": 0.0,
        "end_to_end_mean_s": 2.0,
        "lag_max_s": 30.5,
        "lag_max_items": 0.0,
        "counted_once": True,
    }
    section = outage_section({"spec": asdict(OutageSpec()), "contenders": [row]}, "penstock outage")
    cells = (
        "plain | 2 | 1,000,000 | 1,000,000 | 31.2 | 1.00 (1.00, 1.00) | – | 30.00 | 30.0 | 0.0 | 2.0 | 30.5 | 0 | yes"
    )
    assert section.splitlines()[-1] == f"| {cells} |"
    assert "`penstock outage`" in section


def test_who_never_drains_has_no_time():
    row = measure([batch(0, 100, 100.0, 0.5, 1.0)], records=1000, slo=SLO, began_s=99.0)
    assert (row["drain_s"], row["caught_up_s"]) == (None, None)
    assert caught_up([], 1000, SLO) is None


def test_without_a_backlog_every_batch_is_judged_end_to_end_once_the_query_has_settled():
    slo = Slo.parse("<= 3 s end-to-end")
    samples = [batch(0, 10, 20.0, 1.0, 1.0), batch(1, 30, 21.0, 1.0, 2.5), batch(2, 60, 22.0, 1.0, 1.5)]
    samples = [batch(0, 500, 3.0, 1.0, 9.0), *samples]
    row = measure(samples, records=0, slo=slo, began_s=0.0)
    assert row["i_slh"] == pytest.approx(70.0)
    assert (row["end_to_end_mean_s"], row["lag_max_s"]) == (pytest.approx((2 * 10 + 3.5 * 30 + 2.5 * 60) / 100), 3.5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"records": -1},
        {"after_s": 0},
        {"rounds": 0},
        {"slo": "soon"},
        {"contenders": ("pmbag",)},
        {"arrivals": "constant:rate=0"},
    ],
)
def test_a_mistake_is_told_before_anything_starts(wrong: dict[str, object]):
    with pytest.raises(BadInputError):
        OutageSpec(**wrong)  # type: ignore[arg-type]
