"""Waiting for more: only while it pays, never past the bound."""

from __future__ import annotations

import random
from typing import Any

import pytest

from penstock.control import registry
from penstock.control.draining import Draining
from penstock.control.fixed import Fixed
from penstock.control.pmbaf import Pmbaf
from penstock.control.waiting import Waiting, may_wait
from penstock.errors import BadInputError
from penstock.sample import BatchSample, Decision, Status
from penstock.slo import Slo
from penstock.testing.contract import Check, breach, contract_checks
from penstock.testing.fakes import LinearPlant
from penstock.testing.queueing import queue_loop

SLO = Slo.parse("<= 5 s end-to-end")
# On the line 200 ms + 100 µs an item.
LINE = [(1000, 0.3), (4000, 0.6), (2000, 0.4)]


def batch(size: float, processing_s: float, **fields: Any) -> BatchSample:
    fields = {"wait_s": 0.1, "backlog": 0.0, **fields}
    return BatchSample(fields.pop("batch_id", 0), size, int(size), processing_s, **fields)


def taught(size: float = 50_000, pays: float = 0.05) -> tuple[Waiting, Decision]:
    controller = Waiting(Fixed(SLO, size), SLO, pays)
    for each in LINE:
        decision = controller.decide(batch(*each))
    return controller, decision


def terms(decision: Decision) -> tuple[float | None, float | None, float]:
    return decision.min_size, decision.max_wait_s, decision.item_s


def test_it_waits_until_wait_and_time_with_margin_reach_the_aim() -> None:
    _, decision = taught()
    assert decision.max_wait_s == pytest.approx(SLO.aim - 1.5 * 0.2)
    assert decision.item_s == pytest.approx(1.5e-4)


@pytest.mark.parametrize(("pays", "enough"), [(0.05, 38_000), (0.5, 2_000), (0.04, 48_000), (0.01, 50_000)])
def test_it_waits_for_no_more_than_pays_nor_than_the_size(pays: float, enough: float) -> None:
    assert taught(pays=pays)[1].min_size == pytest.approx(enough)


def test_before_a_line_is_known_it_waits_up_to_the_bound_in_proportion() -> None:
    decision = Waiting(Fixed(SLO, 50_000), SLO).decide(batch(1000, 0.3))
    assert terms(decision) == (50_000, pytest.approx(SLO.aim), pytest.approx(1.5 * 0.3 / 1000))


def test_it_does_not_wait_while_there_is_a_backlog_and_does_again_after_it() -> None:
    controller, _ = taught()
    behind = controller.decide(batch(4000, 0.6, backlog=2001.0))
    assert terms(behind) == (None, None, 0.0)
    assert behind.reason.endswith("does not wait: there is a backlog")
    assert controller.decide(batch(4000, 0.6, backlog=2000.0)).min_size == pytest.approx(38_000)


def test_it_does_not_wait_where_there_is_no_fixed_cost_to_share() -> None:
    controller = Waiting(Fixed(SLO, 50_000), SLO)
    for size in (1000, 4000, 2000):
        decision = controller.decide(batch(size, 0.0001 * size))
    assert terms(decision) == (None, None, 0.0)


def test_it_does_not_wait_where_one_batch_alone_takes_as_long_as_the_bound() -> None:
    controller = Waiting(Fixed(SLO, 50_000), SLO)
    for size in (1000, 4000, 2000):
        decision = controller.decide(batch(size, 4.2 + 0.0002 * size))
    assert terms(decision) == (None, None, 0.0)
    assert "does not wait: a batch takes 4.2 s + 200 µs an item" in decision.reason


def test_items_that_come_many_at_once_widen_the_margin() -> None:
    controller, decision = taught()
    assert decision.max_wait_s is not None
    # The last thousand came just before the bound: 0.1 s more than was to spare.
    wait_s = decision.max_wait_s - decision.item_s * 4000 + 0.1
    widened = controller.decide(batch(4000, 0.9, wait_s=wait_s))
    assert widened.item_s / 1e-4 == pytest.approx((0.9 + 0.1) / 0.6)


def test_a_batch_that_waited_for_the_one_before_it_widens_nothing() -> None:
    controller, decision = taught()
    again = controller.decide(batch(4000, 0.6, wait_s=9.0))
    assert again.item_s == pytest.approx(decision.item_s)


def test_the_size_is_not_blamed_for_a_wait_that_was_wanted() -> None:
    waiting, _ = taught()
    waiting.inner = Pmbaf(SLO, 50_000, step="50%")
    assert waiting.decide(batch(4000, 0.6, wait_s=4.4)).size > 50_000
    plain = Pmbaf(SLO, 50_000, step="50%")
    assert plain.decide(batch(4000, 0.6, wait_s=4.4)).size == 50_000


def test_a_size_whose_batches_would_keep_each_other_waiting_past_the_bound_shrinks() -> None:
    waiting, _ = taught()
    waiting.inner = Pmbaf(SLO, 50_000, step="50%")
    assert waiting.decide(batch(40_000, 4.2, wait_s=4.3)).size < 50_000


def test_a_controller_that_waits_by_itself_has_the_last_word() -> None:
    controller, _ = taught()
    controller.inner = registry.create("lmstream", SLO, 100, slide="2 s")
    assert controller.decide(batch(4000, 0.6)).max_wait_s == 2.0


def test_an_ignored_batch_leaves_the_terms_as_they_are() -> None:
    controller, decision = taught()
    ignored = controller.decide(batch(9000, 4.0, backlog=5.0, status=Status.WARM_UP))
    assert terms(ignored) == terms(decision)


def test_the_reason_says_what_it_believes() -> None:
    assert taught()[1].reason.endswith(
        "; waits until 38,000 are there or the oldest is 4.25 s old, less 150 µs for each that waits "
        "(a batch takes 200 ms + 100 µs an item, margin 50%, aim 4.55 s)"
    )


@pytest.mark.parametrize("slo", ["<= 5 s", "5 s ± 10% end-to-end", ">= 5k/s", "1 s"])
def test_only_an_end_to_end_bound_leaves_time_to_wait(slo: str) -> None:
    assert not may_wait(Slo.parse(slo))
    with pytest.raises(BadInputError, match="leaves no time to wait"):
        registry.create("pmbaf", Slo.parse(slo), 100, wait=True)
    assert not isinstance(registry.create("pmbaf", Slo.parse(slo), 100, live=True, waits=True), Waiting)


@pytest.mark.parametrize("pays", [0, 1, -0.1, "much"])
def test_an_impossible_share_is_refused(pays: object) -> None:
    with pytest.raises(BadInputError, match="pays"):
        registry.create("pmbaf", SLO, 100, wait=True, pays=pays)


@pytest.mark.parametrize("name", ["pmbaf", "predictive", "fixed"])
def test_a_live_query_waits_only_where_it_is_asked_to(name: str) -> None:
    assert isinstance(registry.create(name, SLO, 100, live=True, waits=True), Draining)
    assert isinstance(registry.create(name, SLO, 100, live=True), Draining)
    assert isinstance(registry.create(name, SLO, 100, live=True, waits=True, wait=True), Waiting)
    assert isinstance(registry.create(name, SLO, 100, wait="true", pays="10%"), Waiting)


def test_asking_to_wait_where_the_gate_cannot_is_refused() -> None:
    with pytest.raises(BadInputError, match="wait = True: this source cannot wait for more"):
        registry.create("pmbaf", SLO, 100, live=True, waits=False, wait=True)
    with pytest.raises(BadInputError, match="nothing is waited for"):
        registry.create("pmbaf", SLO, 100, pays=0.1)


def waiting_pmbaf(slo: Slo, size: float) -> Any:
    return Waiting(Pmbaf(slo, size), slo) if may_wait(slo) else Pmbaf(slo, size)


@pytest.mark.parametrize("check", contract_checks(), ids=lambda check: check.__name__)
def test_contract(check: Check) -> None:
    assert breach(check, waiting_pmbaf) is None


def datasets(seconds: int, seed: int = 3) -> list[float]:
    """About a thousand rows every second, all at once."""
    source = random.Random(seed)
    return [float(second) for second in range(seconds) for _ in range(round(source.gauss(1000, 250)))]


def steady(seconds: int) -> list[float]:
    return [index / 1000 for index in range(1000 * seconds)]


@pytest.mark.parametrize("arrivals_s", [datasets(300), steady(300)], ids=["datasets", "steady"])
@pytest.mark.parametrize("plant", [(0.25, 4e-5, 0.06), (0.3, 1e-4, 0.15), (0.5, 3e-4, 0.06)], ids=str)
def test_the_bound_is_kept_with_far_fewer_batches_than_without_waiting_and_oftener_than_by_lmstream_at_that_bound(
    plant: tuple[float, float, float], arrivals_s: list[float]
) -> None:
    # A slide somewhat below the target keeps it too; how much below differs by machine and load.
    def run(name: str, **settings: Any) -> tuple[int, float, float]:
        controller = registry.create(name, SLO, 1000, live=True, waits=True, **settings)
        batches = queue_loop(controller, LinearPlant(*plant, seed=1), arrivals_s)
        latencies_s = [each.end_to_end_s or 0.0 for each in batches]
        assert max(latencies_s) <= 1.15 * SLO.target
        kept = sum(map(SLO.holds, latencies_s)) / len(batches)
        return len(batches), kept, sum(each.processing_s for each in batches)

    waiting, kept, busy_s = run("pmbaf", wait=True)
    plain, _, plain_busy_s = run("pmbaf")
    _, lmstream_kept, lmstream_busy_s = run("lmstream")
    assert kept >= 0.95
    assert waiting < plain / 2
    assert busy_s < 0.85 * plain_busy_s
    assert kept > lmstream_kept
    assert busy_s < 1.15 * lmstream_busy_s
