"""One budget over several sources: split by what waits, counted by what rows cost, and no jump when that is learned."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyspark", reason="the gates need Spark's classes")

from penstock.errors import UnsupportedError
from penstock.sample import BatchSample, Decision, Status
from penstock.spark.gates import SplitGate
from penstock.spark.gates.row_costs import RowCosts
from penstock.spark.observe.sampler import Admitted
from penstock.testing.fakes import FakeGate

FIXED_S = 0.1
CHEAP_S, DEAR_S = 0.001, 0.01


class Source(FakeGate):
    """A gate in front of a queue: the next batch takes what was admitted, and not more than waits."""

    first_size = 1000.0
    waits = True

    def __init__(self, waiting: float = math.inf, unit: str = "rows", row_cost: float | None = None) -> None:
        super().__init__(unit)
        self.waiting = waiting
        self.next = Admitted(0.0)
        self.row_cost = row_cost

    def take(self) -> float:
        assert self.size is not None
        rows = min(math.floor(self.size / (self.row_cost or 1)), self.waiting)
        self.waiting -= rows
        self.next = (
            Admitted(float(rows), backlog=self.waiting)
            if self.row_cost is None
            else Admitted(rows * self.row_cost, backlog=self.waiting, rows=float(rows))
        )
        return rows

    def admitted(self, sources: object) -> Admitted:
        return self.next


def split(*sources: Source) -> SplitGate:
    return SplitGate(cast(Any, sources))


def batch(
    gate: SplitGate, sources: Sequence[Source], costs_s: Sequence[float], budget: float, noise: float = 1.0
) -> Any:
    """Run one batch through the gate as the handle does, and give what was taken and how long it lasted."""
    gate.apply(Decision(budget, "why"))
    taken = [source.take() for source in sources]
    took_s = FIXED_S + sum(n * c for n, c in zip(taken, costs_s, strict=True))
    admitted = gate.admitted(())
    gate.learn(BatchSample(0, admitted.size, int(sum(taken)), took_s, backlog=admitted.backlog))
    return taken, took_s, admitted


def mixes(count: int, seed: int = 0) -> Iterable[tuple[float, float]]:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        rows, dear = rng.uniform(500, 1500), rng.uniform(0.05, 0.5)
        yield float(round(rows * (1 - dear))), float(round(rows * dear))


def learned(costs_s: Sequence[float], rows: Iterable[Sequence[float]], noise: float = 0.0, seed: int = 0) -> RowCosts:
    costs, rng = RowCosts(len(costs_s)), np.random.default_rng(seed)
    for taken in rows:
        costs.add(taken, (FIXED_S + float(np.dot(taken, costs_s))) * float(np.exp(noise * rng.standard_normal())))
    return costs


def test_at_first_every_source_gets_the_same() -> None:
    sources = Source(), Source()
    split(*sources).apply(Decision(1000.0, "why"))
    assert [source.size for source in sources] == [500.0, 500.0]


def test_sources_with_ten_to_one_in_backlog_drain_together() -> None:
    sources = Source(10_000), Source(1_000)
    gate = split(*sources)
    parts = []
    while all(source.waiting for source in sources):
        had = [source.waiting for source in sources]
        taken, _, _ = batch(gate, sources, (CHEAP_S, CHEAP_S), 1000.0)
        parts.append([n / waiting for n, waiting in zip(taken, had, strict=True)])
    # The first split knows nothing, the second not yet what comes in; what is kept for both favours the shorter.
    assert all(many <= few < 2 * many for many, few in parts[2:7])
    assert sources[0].waiting < 1500


def test_what_comes_in_counts_as_well_as_what_is_left() -> None:
    sources = Source(0), Source(0)
    gate = split(*sources)
    for _ in range(10):
        for source, comes in zip(sources, (900, 100), strict=True):
            source.waiting += comes
        taken, _, admitted = batch(gate, sources, (CHEAP_S, CHEAP_S), 1100.0)
    assert taken == [900, 100]
    assert admitted.backlog == 0


def test_an_empty_batch_leaves_the_split_as_it_is() -> None:
    sources = Source(), Source()
    gate = split(*sources)
    for sizes in ((900.0, 100.0), (0.0, 0.0)):
        for source, size in zip(sources, sizes, strict=True):
            source.next = Admitted(size, backlog=0.0)
        gate.admitted(())
        gate.apply(Decision(1000.0, "why"))
    assert [source.applied[0] for source in sources] == [source.applied[1] for source in sources]


def test_a_source_that_is_empty_is_not_shut_off() -> None:
    sources = Source(1e6), Source(0)
    gate = split(*sources)
    for _ in range(50):
        batch(gate, sources, (CHEAP_S, DEAR_S), 1000.0)
    sources[1].waiting = 500.0
    taken, _, _ = batch(gate, sources, (CHEAP_S, DEAR_S), 1000.0)
    assert taken[1] >= 25
    assert taken[0] >= 900


def test_a_budget_of_one_still_admits_a_row_of_each() -> None:
    sources = Source(), Source(), Source()
    split(*sources).apply(Decision(1.0, "why"))
    assert [source.size for source in sources] == [1.0, 1.0, 1.0]


def test_the_cost_of_a_row_is_learned_ten_to_one() -> None:
    costs = learned((CHEAP_S, DEAR_S), mixes(48))
    assert costs.weights[1] / costs.weights[0] == pytest.approx(10, rel=0.05)


def test_the_cost_of_a_row_is_learned_from_noisy_batches() -> None:
    for seed in range(5):
        costs = learned((CHEAP_S, DEAR_S), mixes(100, seed), noise=0.05, seed=seed)
        assert costs.weights[1] / costs.weights[0] == pytest.approx(10, rel=0.4)


def test_rows_that_cost_the_same_weigh_one_whatever_the_noise() -> None:
    for seed in range(5):
        assert learned((CHEAP_S, CHEAP_S), mixes(300, seed), noise=0.1, seed=seed).weights == (1.0, 1.0)


def test_a_constant_proportion_teaches_nothing() -> None:
    rows = [(10 * n, n) for n in range(20, 120)]
    assert learned((CHEAP_S, DEAR_S), rows, noise=0.05).weights == (1.0, 1.0)


def test_a_few_batches_teach_nothing() -> None:
    assert learned((CHEAP_S, DEAR_S), mixes(11)).weights == (1.0, 1.0)


def test_pauses_of_the_machine_are_no_news_of_the_rows() -> None:
    ratios = []
    for seed in range(9):
        costs, rng = RowCosts(2), np.random.default_rng(100 + seed)
        for taken in mixes(64, seed):
            pause = rng.uniform(3, 10) if rng.random() < 0.25 else rng.uniform(0.95, 1.05)
            costs.add(taken, (FIXED_S + CHEAP_S * taken[0] + DEAR_S * taken[1]) * pause)
        ratios.append(costs.weights[1] / costs.weights[0])
    assert np.median(ratios) > 5.5
    assert max(ratios) < 15


def three(count: int, seed: int = 0, third: bool = True) -> Iterable[tuple[float, float, float]]:
    """Rows of three sources, the second always half the first."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        first, last = rng.uniform(100, 1000), rng.uniform(100, 1000)
        yield first, first / 2, last if third else 0.0


def test_sources_that_cannot_be_told_apart_keep_their_ratio_while_another_is_learned() -> None:
    costs = learned((CHEAP_S, CHEAP_S, DEAR_S), three(100), noise=0.05)
    assert costs.weights[1] / costs.weights[0] == pytest.approx(1, rel=0.1)
    assert costs.weights[2] / costs.weights[0] > 5


def test_a_source_that_is_away_while_the_others_change_keeps_its_place_beside_them() -> None:
    costs = learned((CHEAP_S, CHEAP_S, DEAR_S), three(100))
    place = costs.weights[2] / (2 / 3 * costs.weights[0] + 1 / 3 * costs.weights[1])
    rng = np.random.default_rng(1)
    for _ in range(100):
        # All of the machine is ten times slower too, which is no news of the third source.
        first, second = rng.uniform(100, 1000), rng.uniform(50, 500)
        costs.add((first, second, 0.0), 10 * (FIXED_S + CHEAP_S * first + 4 * CHEAP_S * second))
    assert costs.weights[1] / costs.weights[0] == pytest.approx(4, rel=0.2)
    now = costs.weights[2] / (2 / 3 * costs.weights[0] + 1 / 3 * costs.weights[1])
    assert now == pytest.approx(place, rel=0.2)


def test_a_cost_that_changed_is_learned_anew() -> None:
    costs = learned((CHEAP_S, DEAR_S), mixes(100))
    for taken in mixes(160, seed=1):
        costs.add(taken, FIXED_S + CHEAP_S * sum(taken))
    assert costs.weights == pytest.approx((1.0, 1.0), rel=0.1)


def test_a_source_that_is_quiet_for_long_keeps_its_cost() -> None:
    costs = learned((CHEAP_S, DEAR_S), mixes(64))
    ratio = costs.weights[1] / costs.weights[0]
    for cheap in range(500, 700):
        costs.add((float(cheap), 0.0), FIXED_S + CHEAP_S * cheap)
    assert costs.weights[1] / costs.weights[0] == pytest.approx(ratio, rel=0.05)
    assert costs.weights[0] == pytest.approx(1, rel=0.1)


def test_rows_for_nothing_still_weigh_something() -> None:
    costs = learned((0.0, DEAR_S), mixes(100))
    assert costs.weights[1] / costs.weights[0] == pytest.approx(20)


@given(
    st.lists(
        st.tuples(st.lists(st.floats(min_value=0), min_size=3, max_size=3), st.floats()),
        max_size=40,
    )
)
def test_weights_stay_within_bounds_whatever_comes(batches: list[tuple[list[float], float]]) -> None:
    costs = RowCosts(3)
    for rows, took_s in batches:
        costs.add(rows, took_s)
    assert all(1 / 20 <= weight <= 20 for weight in costs.weights)


def test_the_mean_row_of_the_recent_mix_weighs_one() -> None:
    rows = list(mixes(64))
    weights = learned((CHEAP_S, DEAR_S), rows).weights
    shares = np.mean([np.array(taken) / sum(taken) for taken in rows], axis=0)
    assert float(np.dot(shares, weights)) == pytest.approx(1)


def swinging(rng: np.random.Generator) -> tuple[float, float]:
    dear = rng.uniform(0.05, 0.5)
    return 1e5 * (1 - dear), 1e5 * dear


def test_learning_the_weights_does_not_change_what_the_usual_mix_is_admitted() -> None:
    sources = Source(), Source()
    gate, rng = split(*sources), np.random.default_rng(1)
    rows, weights = [], []
    for _ in range(60):
        for source, waiting in zip(sources, swinging(rng), strict=True):
            source.waiting = waiting
        taken, _, admitted = batch(gate, sources, (CHEAP_S, DEAR_S), 1000.0)
        rows.append(sum(taken))
        weights.append(gate.weights)
        assert admitted.size == pytest.approx(1000, rel=0.02)
        assert admitted.rows == sum(taken)
    assert weights[5] == (1.0, 1.0)
    assert weights[-1][1] / weights[-1][0] > 7
    assert np.mean(rows[40:]) == pytest.approx(1000, rel=0.2)


def test_a_budget_lasts_as_long_whatever_the_mix_once_the_costs_are_known() -> None:
    sources = Source(), Source()
    gate, rng = split(*sources), np.random.default_rng(2)
    took: list[float] = []
    for _ in range(100):
        for source, waiting in zip(sources, swinging(rng), strict=True):
            source.waiting = waiting
        took.append(batch(gate, sources, (CHEAP_S, DEAR_S), 1000.0)[1])

    def spread(part: list[float]) -> float:
        return float(np.std(part) / np.mean(part))

    assert spread(took[60:]) < 0.3 * spread(took[:12])


def test_weights_decide_how_much_and_not_who() -> None:
    sources = Source(), Source()
    gate, rng = split(*sources), np.random.default_rng(3)
    for _ in range(60):
        for source, waiting in zip(sources, swinging(rng), strict=True):
            source.waiting = waiting
        batch(gate, sources, (CHEAP_S, DEAR_S), 1000.0)
    for source, waiting in zip(sources, (90_000.0, 9_000.0), strict=True):
        source.waiting = waiting
    batch(gate, sources, (CHEAP_S, DEAR_S), 1000.0)
    (cheap, dear), _, _ = batch(gate, sources, (CHEAP_S, DEAR_S), 1000.0)
    assert cheap / dear == pytest.approx(10, rel=0.15)


def test_sizes_in_cost_and_backlogs_in_rows_drain_together_too() -> None:
    sources = Source(10_000, "cost", row_cost=1.0), Source(1_000, "cost", row_cost=10.0)
    gate = split(*sources)
    for _ in range(4):
        taken, _, _ = batch(gate, sources, (CHEAP_S, DEAR_S), 2000.0)
    assert taken[0] / taken[1] == pytest.approx(10, rel=0.1)


def test_a_sample_of_another_batch_or_one_that_teaches_nothing_is_not_learned_from() -> None:
    sources = Source(), Source()
    gate, rng = split(*sources), np.random.default_rng(4)
    for number in range(60):
        for source, waiting in zip(sources, swinging(rng), strict=True):
            source.waiting = waiting
        gate.apply(Decision(1000.0, "why"))
        taken = [source.take() for source in sources]
        size = gate.admitted(()).size
        took_s = FIXED_S + taken[0] * CHEAP_S + taken[1] * DEAR_S
        gate.learn(BatchSample(number, size, 1, took_s, status=Status.REPLAYED))
        gate.learn(BatchSample(number, size + 1, 1, took_s))
    assert gate.weights == (1.0, 1.0)


def test_waiting_terms_are_shared_so_that_a_part_of_the_queue_stands_for_the_whole() -> None:
    sources = Source(), Source()
    gate = split(*sources)
    sources[0].next, sources[1].next = Admitted(900.0, backlog=0.0), Admitted(100.0, backlog=0.0)
    gate.admitted(())
    gate.apply(Decision(1000.0, "why", 500.0, 2.0, 0.001))
    shares = [0.025 + 0.95 * 0.9, 0.025 + 0.95 * 0.1]
    for source, share in zip(sources, shares, strict=True):
        (applied,) = source.applied
        assert applied.size == pytest.approx(1000 * share)
        assert applied.min_size == pytest.approx(500 * share)
        assert applied.max_wait_s == 2.0
        assert applied.item_s * applied.min_size == pytest.approx(0.001 * 500)


@pytest.mark.parametrize(
    ("left", "both"),
    [((0.0, 0.0), 0.0), ((5.0, None), 5.0), ((0.0, None), None), ((None, None), None), ((2.0, 3.0), 5.0)],
)
def test_a_backlog_that_cannot_be_told_is_not_an_empty_one(
    left: tuple[float | None, float | None], both: float | None
) -> None:
    sources = Source(), Source()
    gate = split(*sources)
    for source, backlog in zip(sources, left, strict=True):
        source.next = Admitted(10.0, backlog=backlog)
    assert gate.admitted(()).backlog == both


def test_a_source_that_cannot_tell_what_it_took_leaves_the_split_as_it_is() -> None:
    sources = Source(), Source()
    gate = split(*sources)
    sources[0].next, sources[1].next = Admitted(900.0), Admitted(100.0)
    gate.admitted(())
    gate.apply(Decision(1000.0, "why"))
    sources[0].next = Admitted(math.nan)
    assert math.isnan(gate.admitted(()).size)
    gate.apply(Decision(1000.0, "why"))
    assert [source.applied[1].size for source in sources] == [source.applied[0].size for source in sources]


def test_rows_are_told_of_sources_in_rows_only() -> None:
    for unit, rows in (("rows", 30.0), ("files", None)):
        sources = Source(unit=unit), Source(unit=unit)
        sources[0].next, sources[1].next = Admitted(10.0), Admitted(20.0)
        assert split(*sources).admitted(()).rows == rows


def test_restoring_restores_every_source_and_units_may_not_differ() -> None:
    sources = Source(), Source()
    gate = split(*sources)
    gate.restore()
    assert all(source.restored for source in sources)
    assert (gate.unit, gate.first_size, gate.waits) == ("rows", 2000.0, True)
    with pytest.raises(UnsupportedError, match="limited in bytes and files"):
        split(Source(unit="files"), Source(unit="bytes"))
