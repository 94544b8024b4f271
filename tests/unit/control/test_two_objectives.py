"""Two objectives: both hold where they can, the first where they cannot, and the user hears of it once."""

from __future__ import annotations

import statistics

import pytest

from penstock.control.faf import Faf
from penstock.control.fixed import Fixed
from penstock.control.protocol import news_of
from penstock.control.registry import create
from penstock.control.two_objectives import TwoObjectives
from penstock.errors import BadInputError
from penstock.sample import BatchSample, Decision, Status
from penstock.sim.form import form_of, has_oracle
from penstock.sim.run import SimSpec, simulate
from penstock.slo import Slo, Verdict
from penstock.testing.fakes import LinearPlant, closed_loop

SETTLED = 100
# 20,000 items in a second: 0.2 s for the batch and 40 us for each of them.
FIXED_S, EACH_S = 0.2, 4e-5
NAMES = ["pmbaf", "pid", "das", "predictive"]


class Run:
    """A closed loop, its batches and its news."""

    def __init__(self, text: str, name: str, noise: float = 0.03, batches: int = 400, alone: bool = False) -> None:
        self.slo = Slo.parse(text)
        slo = self.slo.plain if alone else self.slo
        self.plant = LinearPlant(FIXED_S, EACH_S, noise=noise, seed=5)
        self.controller = create(name, slo, 2000, live=True)
        self.batches: list[BatchSample] = []
        self.news: list[str] = []
        self.go(batches)

    def go(self, batches: int) -> None:
        for sample, _ in closed_loop(self.controller, self.plant, batches):
            self.batches.append(sample)
            if news := news_of(self.controller):
                self.news.append(news)

    def share(self, slo: Slo) -> float:
        tail = self.batches[SETTLED:]
        return sum(slo.verdict(sample) is Verdict.MET for sample in tail) / len(tail)

    @property
    def first(self) -> float:
        return self.share(self.slo.plain)

    @property
    def second(self) -> float:
        assert self.slo.also is not None
        return self.share(self.slo.also)

    @property
    def latency_s(self) -> float:
        return statistics.mean(sample.processing_s for sample in self.batches[SETTLED:])


def batch(index: int, size: float, processing_s: float, backlog: float | None = None) -> BatchSample:
    return BatchSample(index, size, round(size), processing_s, backlog=backlog)


@pytest.mark.parametrize("name", NAMES)
def test_a_throughput_that_needs_the_upper_part_of_the_band_is_held_there(name: str) -> None:
    text = "1 s ± 10% & >= 20k/s"
    both, alone = Run(text, name, noise=0.01), Run(text, name, noise=0.01, alone=True)
    assert both.first > 0.95
    assert both.second > alone.second + 0.25
    assert both.latency_s > alone.latency_s + 0.02
    assert not both.news


@pytest.mark.parametrize("name", NAMES)
def test_where_the_throughput_holds_anyway_the_latency_is_held_as_if_alone(name: str) -> None:
    both, alone = Run("1 s ± 10% & >= 15k/s", name), Run("1 s ± 10%", name)
    assert [sample.items for sample in both.batches] == [sample.items for sample in alone.batches]
    assert (both.second, both.news) == (1.0, [])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["1 s ± 10% & >= 30k/s", "<= 1 s & >= 23k/s", "<= 60 s & >= 30k/s"])
def test_a_throughput_that_no_latency_allows_gives_way_and_is_told_once(name: str, text: str) -> None:
    both, alone = Run(text, name), Run(text, name, alone=True)
    assert both.first >= alone.first - 0.05
    assert len(both.news) == 1
    assert both.news[0].startswith(f"{both.slo.also} cannot hold together with {both.slo.plain}: throughput ")
    assert "the throughput gives way" in both.news[0]
    assert "Ask for less of either" in both.news[0]


@pytest.mark.parametrize("name", NAMES)
def test_both_is_told_again_when_the_load_gets_lighter_and_only_then(name: str) -> None:
    run = Run("1 s ± 10% & >= 30k/s", name)
    run.plant.per_item_s = EACH_S / 2
    run.go(200)
    assert len(run.news) == 2
    assert run.news[1].startswith("both objectives hold again (1 s ± 10% & >= 30k/s): throughput ")
    run.plant.per_item_s = EACH_S
    run.go(200)
    assert [news.split()[0] for news in run.news] == [">=", "both", ">="]


@pytest.mark.parametrize("name", NAMES)
def test_the_first_has_priority_whichever_it_is(name: str) -> None:
    throughput, latency = Run(">= 22k/s & <= 1 s", name, noise=0.01), Run("<= 1 s & >= 22k/s", name, noise=0.01)
    assert throughput.first > 0.9
    assert latency.first > 0.9
    assert throughput.latency_s > 1.5
    assert len(throughput.news) == len(latency.news) == 1
    assert throughput.news[0].startswith("<= 1 s cannot hold together with >= 22k/s: ")
    assert "the latency gives way" in throughput.news[0]


@pytest.mark.parametrize("name", NAMES)
def test_above_a_lower_bound_the_throughput_goes_where_the_latency_wants_it(name: str) -> None:
    both, alone = Run(">= 15k/s & 1 s ± 10%", name), Run(">= 15k/s & 1 s ± 10%", name, alone=True)
    assert both.first > 0.99
    assert both.second > 0.75
    assert alone.second < 0.1
    assert not both.news


@pytest.mark.parametrize("name", NAMES)
def test_below_an_upper_bound_the_latency_goes_where_the_throughput_wants_it(name: str) -> None:
    run = Run("<= 2 s & 15k/s ± 10%", name)
    assert run.first > 0.99
    assert run.second > 0.9
    assert not run.news


def test_a_percentile_keeps_its_share_beside_a_throughput() -> None:
    run = Run("p99 <= 1 s & >= 15k/s", "pmbaf", noise=0.05, batches=1500)
    assert 0.985 < run.first < 1
    assert (run.second, run.news) == (1.0, [])
    short = Run("p99 <= 1 s & >= 30k/s", "pmbaf", noise=0.05, batches=1500)
    assert 0.985 < short.first < 1
    assert len(short.news) == 1


def test_a_miss_for_the_sake_of_the_second_takes_the_aim_back() -> None:
    slo = Slo.parse("1 s ± 10% & >= 100/s")
    controller = TwoObjectives(Fixed(slo.plain, 95), slo)
    for index in range(20):
        controller.decide(batch(index, 95, 1.0))
    assert controller.aim == pytest.approx(1.07)
    assert controller.decide(batch(20, 95, 1.12)).reason.startswith("latency 1.12 s")
    assert controller.aim == 1.0


def test_a_throughput_better_than_asked_gives_the_room_back() -> None:
    slo = Slo.parse("1 s ± 10% & >= 100/s")
    controller = TwoObjectives(Fixed(slo.plain, 95), slo)
    for index in range(20):
        controller.decide(batch(index, 95, 1.0))
    aims = []
    for index in range(20):
        controller.decide(batch(index, 200, 1.0))
        aims.append(controller.aim)
    assert aims == sorted(aims, reverse=True)
    assert aims[-1] == 1.0


def test_growing_batches_and_scarce_ones_are_no_news() -> None:
    slo = Slo.parse("<= 10 s & >= 100/s")
    growing = TwoObjectives(Faf(slo.plain, 100, step="20%"), slo)
    index = 0
    while growing.size < 600:
        growing.decide(batch(index, growing.size, 0.012 * growing.size))
        index += 1
    assert index > 5
    assert growing.news() is None
    scarce = TwoObjectives(Fixed(slo.plain, 1000), slo)
    for index in range(100):
        scarce.decide(batch(index, 10, 1.0, backlog=0.0))
    assert scarce.news() is None


def test_a_controller_that_rests_far_from_its_aim_is_news_after_a_while() -> None:
    slo = Slo.parse("<= 10 s & >= 100/s")
    controller = create("faf", slo, 100, max_size=100)
    assert isinstance(controller, TwoObjectives)
    told = []
    for index in range(100):
        controller.decide(batch(index, 100, 1.2))
        told += [index] if controller.news() else []
    assert len(told) == 1
    assert 20 <= told[0] < 30


def test_news_comes_once_and_that_of_the_controller_inside_is_not_lost() -> None:
    class Talkative(Faf):
        """Says something with every decision."""

        told: str | None = None

        def decide(self, sample: BatchSample) -> Decision:
            self.told = f"batch {sample.batch_id}"
            return super().decide(sample)

        def news(self) -> str | None:
            told, self.told = self.told, None
            return told

    slo = Slo.parse("1 s ± 10% & >= 500/s")
    controller = TwoObjectives(Talkative(slo.plain, 100), slo)
    heard: list[str | None] = []
    for index in range(6):
        controller.decide(batch(index, 100, 1.0))
        heard += [controller.news(), controller.news()]
    assert [text for text in heard if text is not None and not text.startswith(">=")] == [
        f"batch {i}" for i in range(6)
    ]
    assert [index for index, text in enumerate(heard) if text is not None and text.startswith(">=")] == [8]


def test_only_two_objectives_make_a_pair() -> None:
    slo = Slo.parse("1 s ± 10%")
    with pytest.raises(BadInputError, match="a single objective"):
        TwoObjectives(Faf(slo, 100), slo)


def test_virtual_time_runs_two_objectives_and_has_no_oracle_for_them() -> None:
    text = "3 ms ± 5% & >= 1k/s"
    slo = Slo.parse(text)
    assert not has_oracle(slo)
    assert form_of(create("faf", slo, 10), slo) is None
    run = simulate(SimSpec(controller="faf", items=5000, slo=text))
    assert int(run.items.sum()) == 5000


class Waits:
    """Always waits as long as the bound allows, by the clock that it sees."""

    size = 100.0

    def decide(self, sample: BatchSample) -> Decision:
        return Decision(self.size, "seen", min_size=50.0, max_wait_s=1.0)


def test_an_empty_batch_makes_nobody_wait_on_another_clock() -> None:
    slo = Slo.parse("<= 2 s end-to-end & 60/s ± 10%")
    controller = TwoObjectives(Waits(), slo)
    for number in range(30):
        seen = controller.decide(BatchSample(number, 100, 100, 1.0, wait_s=0.1, backlog=0))
    assert seen.max_wait_s != pytest.approx(1.0, rel=0.05)
    empty = controller.decide(BatchSample(30, 0, 0, 0.1, status=Status.EMPTY))
    assert empty.max_wait_s == seen.max_wait_s
