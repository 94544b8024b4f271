from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadInputError
from penstock.sample import BatchSample, Status
from penstock.score import SloMetrics, cumulative, distances, hits, percentiles, summarise, throughput_per_s
from penstock.slo import Slo, Verdict

SECOND = Slo.parse("1 s ± 10%")


def run_of(*seconds: float, items: int = 10, **other: Any) -> list[BatchSample]:
    return [BatchSample(index, items, items, value, **other) for index, value in enumerate(seconds)]


@pytest.mark.parametrize(("hit_size", "i_slh"), [(6, 30.0), (14, 70.0)])
def test_thesis_table_4_2(hit_size: int, i_slh: float) -> None:
    items = [6] * 5 + [14] * 5
    values = [1.0 if size == hit_size else 2.0 for size in items]
    metrics = SloMetrics.of(values, items, SECOND)
    assert (metrics.b_slh, metrics.i_slh) == (50.0, i_slh)


def test_spikes_raise_sd_d_much_more_than_mad_d_as_in_figures_4_5_and_4_6() -> None:
    calm = np.linspace(0.6, 1.4, 50)
    spiked = calm.copy()
    spiked[[8, 42]] = 4.0
    items = np.ones(50)
    before, after = SloMetrics.of(calm, items, SECOND), SloMetrics.of(spiked, items, SECOND)
    # By hand: evenly spread distances up to 40% have a mean of 20% and a root mean square of 40%/sqrt(3).
    assert before.mad_d == pytest.approx(20.0, abs=0.5)
    assert before.sd_d == pytest.approx(40.0 / math.sqrt(3), abs=0.6)
    assert after.mad_d == pytest.approx(20.0 + 2 * (300.0 - 26.5) / 50, abs=0.6)
    assert after.sd_d is not None
    assert after.mad_d is not None
    assert after.sd_d - 23.1 > 3 * (after.mad_d - 20.4)


def test_distances_by_hand() -> None:
    metrics = SloMetrics.of([0.7, 1.4], [1, 99], SECOND)
    assert metrics.mad_d == pytest.approx(35.0)
    assert metrics.sd_d == pytest.approx(math.sqrt((30.0**2 + 40.0**2) / 2))


@pytest.mark.parametrize("tolerance", [0.05, 0.10, 0.15, 0.20])
@pytest.mark.parametrize("target", [0.003, 0.4, 1.0, 2.0])
def test_band_edges_are_hits_and_a_hair_beyond_is_not(target: float, tolerance: float) -> None:
    slo = Slo(target, 0.5)
    low, high = round(target * (1 - tolerance), 9), round(target * (1 + tolerance), 9)
    values = [low, high, low - 1e-9, high + 1e-9]
    assert hits(values, slo, tolerance).tolist() == [True, True, False, False]
    assert [slo.holds(value, tolerance) for value in values] == [True, True, False, False]


def test_a_bound_is_met_on_its_side_at_any_tolerance_and_only_beyond_it_is_there_a_distance() -> None:
    at_most, at_least = Slo.parse("<= 2 s"), Slo.parse(">= 100/s")
    assert hits([0.1, 2.0, 2.01], at_most, 0.2).tolist() == [True, True, False]
    assert distances([0.1, 2.0, 3.0], at_most).tolist() == [0.0, 0.0, 50.0]
    assert hits([99.0, 100.0, 1e6], at_least, 0.2).tolist() == [False, True, True]
    assert distances([50.0, 100.0, 1e6], at_least).tolist() == [50.0, 0.0, 0.0]


def test_unknown_values_are_left_out_and_nothing_gives_none() -> None:
    nothing = SloMetrics(None, None, None, None)
    assert SloMetrics.of([], [], SECOND) == nothing
    assert SloMetrics.of([math.nan, math.inf], [1, 1], SECOND) == nothing
    assert SloMetrics.of([1.0, math.nan], [5, 500], SECOND) == SloMetrics(100.0, 100.0, 0.0, 0.0)
    assert SloMetrics.of([1.0], [0], SECOND).i_slh is None
    with pytest.raises(BadInputError, match="items = 1: 1 numbers for 2 values"):
        SloMetrics.of([1.0, 2.0], [1], SECOND)


latencies = st.lists(st.tuples(st.floats(1e-3, 1e3), st.integers(1, 10**6)), min_size=1, max_size=50)


@given(latencies)
def test_metrics_keep_their_order_and_their_ranges(batches: list[tuple[float, int]]) -> None:
    values, items = [value for value, _ in batches], [count for _, count in batches]
    wide, narrow = SloMetrics.of(values, items, SECOND, 0.2), SloMetrics.of(values, items, SECOND, 0.05)
    assert 0.0 <= narrow.b_slh <= wide.b_slh <= 100.0  # type: ignore[operator]
    assert 0.0 <= narrow.i_slh <= wide.i_slh <= 100.0 + 1e-9  # type: ignore[operator]
    assert narrow.mad_d <= narrow.sd_d * (1 + 1e-12)  # type: ignore[operator]
    assert (wide.mad_d, wide.sd_d) == (narrow.mad_d, narrow.sd_d)


@given(latencies)
def test_the_cumulative_series_ends_at_the_metrics_of_the_run(batches: list[tuple[float, int]]) -> None:
    values, items = [value for value, _ in batches], [count for _, count in batches]
    series, metrics = cumulative(values, items, SECOND), SloMetrics.of(values, items, SECOND)
    assert series.items[-1] == sum(items)
    assert series.b_slh[-1] == pytest.approx(metrics.b_slh)
    assert series.i_slh[-1] == pytest.approx(metrics.i_slh)
    assert len(series.items) == len(values)


def test_the_cumulative_series_survives_no_batches_and_no_items() -> None:
    assert cumulative([], [], SECOND).items.size == 0
    assert cumulative([1.0, 1.0], [0, 4], SECOND).i_slh.tolist() == [0.0, 100.0]


def test_percentiles_are_values_that_were_seen_and_count_items() -> None:
    hundred = [float(value) for value in range(1, 101)]
    assert percentiles(hundred) == {"p50": 50.0, "p95": 95.0, "p99": 99.0, "mean": 50.5, "max": 100.0}
    weighted = percentiles([5.0, 1.0, 2.0], items=[1, 90, 9])
    assert weighted == {"p50": 1.0, "p95": 2.0, "p99": 2.0, "mean": pytest.approx(1.13), "max": 5.0}
    assert percentiles([1.0, 3.0], items=[0, 0])["mean"] == 2.0
    assert set(percentiles([math.nan]).values()) == {None}


@given(latencies)
def test_weighting_by_items_is_repeating_the_value(batches: list[tuple[float, int]]) -> None:
    few = [(value, count % 7 + 1) for value, count in batches]
    repeated = percentiles([value for value, count in few for _ in range(count)])
    weighted = percentiles([value for value, _ in few], [count for _, count in few])
    assert weighted == pytest.approx(repeated)


def test_throughput_counts_the_waiting_and_the_ignored_items_in_between() -> None:
    run = [
        BatchSample(0, 50, 50, 9.0, started_s=0.0, status=Status.WARM_UP),
        BatchSample(1, 10, 10, 1.0, started_s=10.0),
        BatchSample(2, 20, 20, 1.0, started_s=12.0, status=Status.REPLAYED),
        BatchSample(3, 99, 99, 1.0, started_s=14.0, status=Status.FAILED),
        BatchSample(4, 30, 30, 2.0, started_s=18.0),
    ]
    assert throughput_per_s(run) == pytest.approx((10 + 20 + 30) / (20.0 - 10.0))


def test_throughput_falls_back_to_processing_time_where_a_start_is_unknown() -> None:
    assert throughput_per_s(run_of(1.0, 3.0)) == 5.0
    assert throughput_per_s([BatchSample(0, 10, 10, 1.0, started_s=5.0), BatchSample(1, 10, 10, 3.0)]) == 5.0
    assert throughput_per_s([]) is None


def test_a_summary_by_hand() -> None:
    run = [
        BatchSample(0, 5, 5, 9.0, status=Status.WARM_UP),
        BatchSample(1, 30, 30, 1.0, 0.5, part="wave", durations_s={"addBatch": 0.8, "walCommit": 0.1}),
        BatchSample(2, 10, 10, 1.18, 0.5, part="wave", durations_s={"addBatch": 1.0}),
        BatchSample(3, 0, 0, 0.1, status=Status.EMPTY),
        BatchSample(4, 60, 60, 2.0, 1.0, part="binary"),
        BatchSample(5, 10, 10, math.nan),
    ]
    summary = summarise(run, SECOND)
    assert summary["slo"] == "1 s ± 10%"
    assert summary["b_slh"] == pytest.approx(100 / 3)
    assert summary["i_slh"] == pytest.approx(30.0)
    assert summary["mad_d"] == pytest.approx((0 + 18 + 100) / 3)
    assert summary["sd_d"] == pytest.approx(math.sqrt((18**2 + 100**2) / 3))
    assert list(summary["at"]) == ["5%", "10%", "15%", "20%"]
    assert summary["at"]["20%"]["i_slh"] == pytest.approx(40.0)
    assert (summary["batches"], summary["items"]) == (3, 100)
    assert summary["ignored"] == {"empty": 1, "unmeasured": 1, "warm-up": 1}
    assert summary["verdicts"] == {"met": 1, "missed": 2, "unknown": 3}
    assert summary["throughput_per_s"] == pytest.approx(100 / 4.18)
    assert summary["latency_s"]["p50"] == 2.0
    assert summary["batch_latency_s"]["p50"] == 1.18
    assert summary["latency_s"]["mean"] == pytest.approx((30 * 1.0 + 10 * 1.18 + 60 * 2.0) / 100)
    assert summary["end_to_end_s"]["max"] == 3.0
    assert summary["wait_s"]["p50"] == 1.0
    assert summary["durations_s"] == {"addBatch": pytest.approx(0.9), "walCommit": pytest.approx(0.1)}
    assert list(summary["patterns"]) == ["wave", "binary"]
    wave = summary["patterns"]["wave"]
    assert (wave["b_slh"], wave["i_slh"], wave["batches"], wave["items"]) == (50.0, 75.0, 2, 40)


def test_a_latency_is_the_one_the_slo_names() -> None:
    run = run_of(1.0, 1.0, wait_s=2.0)
    assert summarise(run, Slo.parse("<= 2 s e2e"))["latency_s"]["max"] == 3.0
    assert summarise(run, Slo.parse("<= 2 s"))["latency_s"]["max"] == 1.0
    assert summarise(run, Slo.parse(">= 5/s"))["latency_s"]["max"] == 1.0


def test_an_unknown_wait_is_never_a_miss() -> None:
    summary = summarise(run_of(1.0, 1.0), Slo.parse("<= 2 s e2e"))
    assert (summary["batches"], summary["b_slh"], summary["end_to_end_s"]) == (0, None, None)
    assert summary["verdicts"] == {"met": 0, "missed": 0, "unknown": 2}
    assert summary["throughput_per_s"] == 10.0


def test_nothing_gives_zeros_and_nulls() -> None:
    summary = summarise([], SECOND)
    assert (summary["b_slh"], summary["sd_d"], summary["throughput_per_s"]) == (None, None, None)
    assert (summary["batches"], summary["items"], summary["ignored"], summary["patterns"]) == (0, 0, {}, {})
    assert set(summary["latency_s"].values()) == {None}


def test_a_percentile_is_kept_as_long_as_the_share_of_the_batches_is_within() -> None:
    slo = Slo.parse("p99 <= 2 s")
    kept, missed = ([1.0] * (100 - late) + [3.0] * late for late in (1, 2))
    assert summarise(run_of(*kept), slo)["percentile"] == {"name": "p99", "value_s": 1.0, "kept": True}
    assert summarise(run_of(*missed), slo)["percentile"] == {"name": "p99", "value_s": 3.0, "kept": False}
    assert summarise([], slo)["percentile"] == {"name": "p99", "value_s": None, "kept": None}
    assert summarise(run_of(*kept), SECOND)["percentile"] is None


def test_of_two_objectives_the_second_and_both_stand_beside_the_first() -> None:
    run = [
        BatchSample(0, 100, 100, 1.0),
        BatchSample(1, 50, 50, 1.0),
        BatchSample(2, 300, 300, 2.0),
        BatchSample(3, 50, 50, 2.0),
    ]
    summary = summarise(run, Slo.parse("1 s ± 10% & >= 100/s"))
    assert (summary["b_slh"], summary["i_slh"]) == (50.0, 30.0)
    also = summary["also"]
    assert (also["slo"], also["b_slh"], also["i_slh"], also["batches"]) == (">= 100/s", 50.0, 80.0, 4)
    assert also["both"] == {"b_slh": 25.0, "i_slh": 20.0}
    assert summary["verdicts"] == {"met": 1, "missed": 3, "unknown": 0}
    assert summarise(run, SECOND)["also"] is None


def test_an_idle_stream_that_is_too_fast_has_met_what_it_holds() -> None:
    idle = [BatchSample(n, 10, 10, 0.65, backlog=0) for n in range(43)]
    summary = summarise([*idle, BatchSample(43, 10, 10, 1.0, backlog=0)], SECOND)
    assert summary["b_slh"] == pytest.approx(100 / 44)
    assert summary["met_percent"] == 100.0
    assert summary["met"] == {"batches": 44, "counted": 44, "early": 43}


@pytest.mark.parametrize(
    ("slo", "batch", "met"),
    [
        ("1 s ± 10%", BatchSample(0, 10, 10, 0.65, backlog=1), 0),  # it left something behind
        ("1 s ± 10%", BatchSample(0, 10, 10, 0.65), 0),  # nobody knows
        ("1 s ± 10%", BatchSample(0, 10, 10, 1.2, backlog=0), 0),  # too slow is too slow
        ("1 s ± 10%", BatchSample(0, 10, 10, 0.65, status=Status.WARM_UP, backlog=0), None),
        ("1 s ± 10% end-to-end", BatchSample(0, 10, 10, 0.3, wait_s=0.1, backlog=0), 1),
        ("1 s ± 10% end-to-end", BatchSample(0, 10, 10, 0.3, backlog=0), None),
        ("50/s ± 10%", BatchSample(0, 10, 10, 1.0, backlog=0), 0),  # too few items a second
        ("<= 1 s", BatchSample(0, 10, 10, 0.65, backlog=500), 1),
        ("1 s ± 10% & >= 10/s", BatchSample(0, 10, 10, 0.65, backlog=0), 1),
        ("1 s ± 10% & >= 100/s", BatchSample(0, 10, 10, 0.65, backlog=0), 0),
    ],
)
def test_only_a_latency_that_is_early_with_nothing_left_is_forgiven(slo: str, batch: BatchSample, met: int) -> None:
    assert summarise([batch], Slo.parse(slo))["met_percent"] == (None if met is None else 100.0 * met)


@pytest.mark.parametrize("slo", ["<= 1.1 s", "p95 <= 1.1 s", ">= 9/s"])
def test_on_a_bound_met_is_the_same_as_batch_hits(slo: str) -> None:
    summary = summarise([BatchSample(n, 10, 10, 1.0 + n / 10, backlog=0) for n in range(4)], Slo.parse(slo))
    assert summary["met_percent"] == summary["b_slh"] == 50.0


odd = st.floats() | st.none()


@given(
    st.lists(
        st.builds(
            BatchSample,
            batch_id=st.integers(0, 100),
            size=st.floats(),
            items=st.integers(0, 10**9),
            processing_s=st.floats(),
            wait_s=odd,
            status=st.sampled_from(Status),
            started_s=odd,
            backlog=odd,
            part=st.sampled_from([None, "a", "b"]),
            durations_s=st.dictionaries(st.sampled_from(["x", "y"]), st.floats()),
        ),
        max_size=8,
    ),
    st.sampled_from(["1 s ± 10%", "<= 2 s e2e", ">= 50k/s", "p99 <= 2 s e2e & 5/s", ">= 5/s & <= 2 s e2e"]),
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_any_samples_make_valid_json(samples: list[BatchSample], slo: str) -> None:
    summary = summarise(samples, Slo.parse(slo))
    json.dumps(summary, allow_nan=False)
    assert summary["batches"] + sum(summary["ignored"].values()) == len(samples)
    judged = [Slo.parse(slo).verdict(sample) for sample in samples]
    assert summary["verdicts"] == {verdict.value: judged.count(verdict) for verdict in Verdict}
    met = summary["met"]
    assert met["batches"] == judged.count(Verdict.MET) + met["early"]
    assert met["early"] or met["counted"] == len(judged) - judged.count(Verdict.UNKNOWN)
