"""The findings on throughput, and on both together, under constant traffic (sec. V-B, figure 7)."""

from __future__ import annotations

from penstock.reproduce.lmstream import published
from penstock.reproduce.lmstream.finding import Finding, above, below, between, listed, rounded
from penstock.reproduce.lmstream.findings_latency import TUMBLING
from penstock.reproduce.lmstream.scores import Scores
from penstock.reproduce.outcomes import Outcome
from penstock.reproduce.thesis.finding import all_of

_HEAVY = ("lr1s", "lr2s", "cm2s")
_LIKE = "cm1s"


def _kept(scores: Scores) -> Outcome:
    ratios = {query: scores.throughput_ratio(query) for query in published.QUERIES}
    state = all_of([above(ratio, 0.9) for ratio in ratios.values()])
    return Outcome(state, f"As multiples of the baseline's: {listed(ratios)}.", rounded(ratios), {})


def _most(scores: Scores) -> Outcome:
    where, gain = published.THROUGHPUT_GAIN
    ratios = {query: scores.throughput_ratio(query) for query in published.QUERIES}
    highest = above(ratios[where], max(ratio for query, ratio in ratios.items() if query != where))
    sentence = f"As multiples of the baseline's: {listed(ratios)} (published: at most {gain}, in {where.upper()})."
    return Outcome(all_of([highest, between(ratios[where], 1.5, 2.0)]), sentence, rounded(ratios), {where: gain})


def _equal(scores: Scores) -> Outcome:
    ratios = {query: scores.throughput_ratio(query) for query in TUMBLING}
    state = all_of([between(ratio, 0.85, 1.15) for ratio in ratios.values()])
    return Outcome(state, f"As multiples of the baseline's: {listed(ratios)}.", rounded(ratios), {})


def _both_better(scores: Scores) -> Outcome:
    latency = {query: scores.latency_ratio(query) for query in _HEAVY}
    throughput = {query: scores.throughput_ratio(query) for query in _HEAVY}
    orders = [below(ratio, 1.0) for ratio in latency.values()] + [above(ratio, 1.0) for ratio in throughput.values()]
    sentence = f"Latency as multiples of the baseline's: {listed(latency)}; throughput: {listed(throughput)}."
    numbers = {"latency": rounded(latency), "throughput": rounded(throughput)}
    return Outcome(all_of(orders), sentence, numbers, {})


def _similar(scores: Scores) -> Outcome:
    latency, throughput = scores.latency_ratio(_LIKE), scores.throughput_ratio(_LIKE)
    state = all_of([between(ratio, 0.75, 1.3) for ratio in (latency, throughput)])
    sentence = f"Latency {latency:.2f} times the baseline's, throughput {throughput:.2f} times."
    return Outcome(state, sentence, rounded({"latency": latency, "throughput": throughput}), {})


THROUGHPUT = [
    Finding(
        "throughput-kept",
        "V-B, figure 7",
        "Throughput is similar to the baseline's or slightly higher.",
        "At least nine tenths of it, in all six queries.",
        _kept,
    ),
    Finding(
        "throughput-most",
        "V-B, figure 7",
        "Throughput improves by up to 1.74 times, in LR1S.",
        "The ratio is highest in LR1S, and 1.5 to 2 there.",
        _most,
    ),
    Finding(
        "throughput-tumbling",
        "V-B, figure 7",
        "With tumbling windows both have the same throughput.",
        "0.85 to 1.15 times the baseline's, in LR1T and CM1T.",
        _equal,
    ),
    Finding(
        "both-sliding",
        "V-B",
        "In LR1S, LR2S and CM2S both latency and throughput are better than the baseline's.",
        "Latency lower and throughput higher in all three.",
        _both_better,
    ),
    Finding(
        "similar-cm1s",
        "V-B",
        "In CM1S, whose slide is the trigger time, both show similar results.",
        "Latency and throughput 0.75 to 1.3 times the baseline's.",
        _similar,
    ),
]
