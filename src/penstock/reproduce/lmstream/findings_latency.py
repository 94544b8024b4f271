"""The findings on latency under constant traffic (sec. V-B, figure 6)."""

from __future__ import annotations

from penstock.apps.lmstream.queries import QUERIES
from penstock.reproduce.lmstream import published
from penstock.reproduce.lmstream.finding import Finding, below, between, listed, rounded
from penstock.reproduce.lmstream.plan import BASELINE, LMSTREAM, tumbles
from penstock.reproduce.lmstream.scores import KEPT, Scores
from penstock.reproduce.outcomes import Outcome
from penstock.reproduce.thesis.finding import all_of, vote

SLIDING = tuple(query for query in published.QUERIES if not tumbles(QUERIES[query]))
TUMBLING = tuple(query for query in published.QUERIES if tumbles(QUERIES[query]))
_MUCH = 0.75


def _lower(scores: Scores) -> Outcome:
    ratios = {query: scores.latency_ratio(query) for query in published.QUERIES}
    state = vote([below(ratio, _MUCH) for ratio in ratios.values()], share=4.5 / 6)
    return Outcome(state, f"As multiples of the baseline's mean: {listed(ratios)}.", rounded(ratios), {})


def _most(scores: Scores) -> Outcome:
    where, cut = published.LATENCY_CUT
    cuts = {query: 100 * (1 - scores.latency_ratio(query)) for query in published.QUERIES}
    largest = below(max(value for query, value in cuts.items() if query != where) / 100, cuts[where] / 100)
    sentence = f"Reductions: {listed(cuts, '{:.1f}%')} (published: at most {cut}%, in {where.upper()})."
    return Outcome(all_of([largest, 60 <= cuts[where] <= 80]), sentence, rounded(cuts), {where: cut})


def _below_slide(scores: Scores) -> Outcome:
    ratios = {query: (run := scores.known(query, LMSTREAM)).mean_s / run.bound_s for query in SLIDING}
    state = all_of([below(ratio, 1.0) for ratio in ratios.values()])
    return Outcome(state, f"Mean latency as a multiple of the slide: {listed(ratios)}.", rounded(ratios), {})


def _within_slide(scores: Scores) -> Outcome:
    shares = {query: scores.known(query, LMSTREAM).within for query in SLIDING}
    state = all_of([share >= KEPT for share in shares.values()])
    return Outcome(state, f"Batches within the slide: {listed(shares, '{:.0f}%')}.", rounded(shares), {})


def _tumbling_lower(scores: Scores) -> Outcome:
    means = {query: scores.known(query, LMSTREAM).mean_s for query in (*TUMBLING, *SLIDING)}
    ratio = max(means[query] for query in TUMBLING) / min(means[query] for query in SLIDING)
    state = all_of([below(ratio, _MUCH)])
    return Outcome(state, f"Mean latency in seconds: {listed(means)}.", rounded(means), {})


def _near_trigger(scores: Scores) -> Outcome:
    trigger_s = scores.plan.trigger_s
    means = {query: scores.known(query, BASELINE).mean_s for query in TUMBLING}
    batches = {query: scores.known(query, BASELINE).batch_latency_s for query in TUMBLING}
    state = all_of([between(mean / trigger_s, 0.75, 1.25) for mean in means.values()])
    sentence = f"Mean latency of datasets in seconds: {listed(means)}; of the oldest in each batch: {listed(batches)}; "
    return Outcome(state, f"{sentence}the trigger has {trigger_s:g}.", rounded(means), {"trigger_s": trigger_s})


LATENCY = [
    Finding(
        "latency-lower",
        "V-B, figure 6",
        "LMStream's average latency is much lower in almost all queries.",
        "At most three quarters of the baseline's in at least five of the six queries.",
        _lower,
    ),
    Finding(
        "latency-most",
        "V-B, figure 6",
        "Latency falls by up to 70.7%, in LR1T.",
        "The reduction is largest in LR1T, and 60 to 80% there.",
        _most,
    ),
    Finding(
        "latency-below-slide",
        "V-B",
        "With sliding windows the average latency is below the slide.",
        "In all four sliding queries.",
        _below_slide,
    ),
    Finding(
        "latency-bounded",
        "V-B",
        "With sliding windows the maximum latency of each micro-batch is bound to the slide.",
        "At least 95% of the batches within it, in all four sliding queries.",
        _within_slide,
    ),
    Finding(
        "latency-tumbling",
        "V-B",
        "With tumbling windows the average latency is much lower.",
        "The higher of the two tumbling means is at most three quarters of the lowest sliding one.",
        _tumbling_lower,
    ),
    Finding(
        "baseline-trigger",
        "V-B",
        "With tumbling windows the baseline's latency is similar to the trigger time.",
        "Its mean over datasets is within a quarter of it in LR1T and CM1T.",
        _near_trigger,
    ),
]
