"""LMStream's dynamic batching against values computed by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from penstock.control import registry
from penstock.control.lmstream import Lmstream
from penstock.control.wrappers import Bounded
from penstock.errors import BadInputError
from penstock.sample import BatchSample, Decision, Status, longest_wait_s
from penstock.size import LARGEST
from penstock.slo import Slo
from penstock.testing.fakes import LinearPlant
from penstock.testing.queueing import queue_loop

BOUND = Slo.parse("<= 5 s end-to-end")
HOLD = Slo.parse("1 s ± 10%")
# size, wait, processing: 9,500 in 1.2 s; latencies of 0.6, 1.4 and 0.5 s.
BATCHES = [(1000, 0.1, 0.5), (8000, 1.0, 0.4), (500, 0.2, 0.3)]


def batch(size: float, wait_s: float | None, processing_s: float, **fields: Any) -> BatchSample:
    return BatchSample(fields.pop("batch_id", 0), size, int(size), processing_s, wait_s=wait_s, **fields)


def decisions(controller: Lmstream) -> list[Decision]:
    return [controller.decide(batch(*each)) for each in BATCHES]


def test_an_item_counts_the_mean_time_of_all_items_so_far() -> None:
    counted = [decision.item_s for decision in decisions(Lmstream(BOUND, 100))]
    assert counted == pytest.approx([0.5 / 1000, 0.9 / 9000, 1.2 / 9500])


def test_sliding_windows_bound_the_estimate_by_the_slide() -> None:
    assert [decision.max_wait_s for decision in decisions(Lmstream(HOLD, 100, slide="5 s"))] == [5.0, 5.0, 5.0]


def test_tumbling_windows_bound_it_by_the_mean_of_all_past_latencies() -> None:
    bounds = [decision.max_wait_s for decision in decisions(Lmstream(HOLD, 100, slide=0))]
    assert bounds == pytest.approx([0.6, 2.0 / 2, 2.5 / 3])


def test_a_batch_starts_when_wait_plus_queue_over_throughput_reaches_the_bound() -> None:
    decision = decisions(Lmstream(BOUND, 100))[1]
    held = [longest_wait_s(queued, decision.min_size, decision.max_wait_s, decision.item_s) for queued in (0, 2e4, 6e4)]
    assert held == pytest.approx([5.0, 3.0, 0.0])


def test_the_first_batch_starts_at_once_also_when_ignored_ones_come_before_it() -> None:
    controller = Lmstream(BOUND, 100)
    decision = controller.decide(batch(1000, 0.1, 0.5, status=Status.WARM_UP))
    assert (decision.min_size, decision.max_wait_s, decision.item_s) == (None, None, 0.0)
    assert decision.reason == "batch 0 is ignored (warm-up): starts at once"


def test_it_takes_the_whole_queue_unless_somebody_limits_it() -> None:
    free = decisions(Lmstream(BOUND, 100))[-1]
    assert (free.size, free.min_size) == (LARGEST, LARGEST)
    limited = registry.create("lmstream", BOUND, 100, live=True, waits=True, max_size="20k").decide(batch(*BATCHES[0]))
    assert (limited.size, limited.min_size, limited.max_wait_s) == (20_000, 20_000, 5.0)


def test_an_unknown_wait_leaves_the_processing_and_is_said() -> None:
    for unknown in (None, math.nan, math.inf, -1.0):
        controller = Lmstream(HOLD, 100)
        decision = controller.decide(batch(1000, unknown, 0.5))
        assert decision.max_wait_s == 0.5
        assert "came to 500 ms without its wait, which is not known" in decision.reason


def test_reasons_name_the_bound_and_compare_the_estimate_with_what_came() -> None:
    assert decisions(Lmstream(HOLD, 100))[1].reason == (
        "starts when wait + 100 µs an item reach 1 s (mean of 2); batch 0 came to 1.4 s, 5 s were estimated"
    )


@pytest.mark.parametrize(
    ("slo", "settings", "slide_s"),
    [
        ("<= 5 s end-to-end", {}, 5.0),
        ("<= 5 s end-to-end", {"slide": 0}, 0.0),
        ("<= 5 s end-to-end", {"slide": "0"}, 0.0),
        ("<= 5 s end-to-end", {"slide": "10 s"}, 10.0),
        ("5 s end-to-end", {}, 0.0),
        ("<= 5 s", {}, 0.0),
        (">= 5k/s", {}, 0.0),
        ("1 s", {"slide": 2.5}, 2.5),
    ],
)
def test_the_slide_is_given_or_the_end_to_end_bound_or_none(slo: str, settings: dict[str, Any], slide_s: float) -> None:
    controller = registry.create("lmstream", Slo.parse(slo), 100, **settings)
    assert isinstance(controller, Lmstream)
    assert controller.slide_s == slide_s


@pytest.mark.parametrize("slide", [-1, math.nan, math.inf, "5", "soon", "-1 s"])
def test_an_impossible_slide_is_refused(slide: object) -> None:
    with pytest.raises(BadInputError, match="slide"):
        registry.create("lmstream", BOUND, 100, slide=slide)


def test_it_is_refused_where_the_source_cannot_wait() -> None:
    with pytest.raises(BadInputError, match="this source cannot wait; choose one that decides a size"):
        registry.create("lmstream", BOUND, 100, live=True, waits=False)


@pytest.mark.parametrize("setting", [{"sample": 5}, {"warm_up": True}, {"slew": 2}, {"wait": True}, {"pays": 0.1}])
def test_settings_that_steer_a_size_are_refused(setting: dict[str, object]) -> None:
    with pytest.raises(BadInputError, match=f"{next(iter(setting))} = .* decides when a batch starts"):
        registry.create("lmstream", BOUND, 100, **setting)


def test_no_wrapper_of_a_live_query_comes_between() -> None:
    controller = registry.create("lmstream", HOLD, 100, live=True, waits=True)
    assert controller.decide(batch(1000, 0.1, 0.5)).max_wait_s == pytest.approx(0.6)
    assert not isinstance(controller, Bounded)


def test_what_waits_is_admitted_when_traffic_stops() -> None:
    arrivals_s = [0.0, 0.1, 0.2, 60.0]
    batches = queue_loop(Lmstream(BOUND, 100), LinearPlant(0.05, 0.0), arrivals_s)
    assert [each.items for each in batches] == [1, 2, 1]
    assert batches[1].end_to_end_s == pytest.approx(5.0, abs=0.1)
