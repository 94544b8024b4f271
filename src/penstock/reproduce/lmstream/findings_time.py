"""The findings on runs in time under random traffic (sec. V-C, figures 8 and 9) and on overhead (V-E, table IV)."""

from __future__ import annotations

from penstock.reproduce.lmstream import published
from penstock.reproduce.lmstream.finding import Finding, above, below, growth, listed, rounded
from penstock.reproduce.lmstream.plan import BASELINE, LMSTREAM, RANDOM
from penstock.reproduce.lmstream.scores import Measured, Scores
from penstock.reproduce.outcomes import NOT, REPRODUCED, Outcome
from penstock.reproduce.thesis.finding import all_of, vote

_SLIDING, _TUMBLING = "lr1s", "lr1t"
_GROWS = 1.15
_MINOR = 25.0


def _sizes(scores: Scores) -> Outcome:
    base, ours = _pair(scores, _SLIDING)
    rows = {BASELINE: base.mean_rows, LMSTREAM: ours.mean_rows}
    state = all_of([above(base.mean_rows / ours.mean_rows, 1.5)])
    sentence = f"Rows of a batch: {base.mean_rows:,.0f} under the baseline, {ours.mean_rows:,.0f} under LMStream."
    return Outcome(state, sentence, rounded(rows), {})


def _grows(scores: Scores) -> Outcome:
    grown = growth(scores.known(_SLIDING, BASELINE, RANDOM))
    sentence = f"The last third of its batches has {grown:.2f} times the maximum latency of the first third."
    return Outcome(all_of([above(grown, _GROWS)]), sentence, rounded({"growth": grown}), {})


def _stays(scores: Scores) -> Outcome:
    grown = growth(scores.known(_SLIDING, LMSTREAM, RANDOM))
    sentence = f"The last third of its batches has {grown:.2f} times the maximum latency of the first third."
    return Outcome(all_of([below(grown, _GROWS)]), sentence, rounded({"growth": grown}), {})


def _lower(scores: Scores) -> Outcome:
    base, ours = (run.batch_latency_s for run in _pair(scores, _TUMBLING))
    sentence = f"Mean of the batches' maximum latency: {base:.2f} s under the baseline, {ours:.2f} s under LMStream."
    numbers = rounded({BASELINE: base, LMSTREAM: ours})
    return Outcome(all_of([below(ours / base, 0.75)]), sentence, numbers, {})


def _escapes(scores: Scores) -> Outcome:
    grown = growth(scores.known(_TUMBLING, BASELINE, RANDOM))
    sentence = f"The last third of its batches has {grown:.2f} times the maximum latency of the first third."
    return Outcome(all_of([below(grown, _GROWS)]), sentence, rounded({"growth": grown}), {})


def _overhead(scores: Scores) -> Outcome:
    shares = {query: scores.known(query, LMSTREAM).split.control for query in published.QUERIES}
    steps = ("construct", "map_device", "optimisation")
    theirs = {query: sum(published.share(query, step) for step in steps) for query in published.QUERIES}
    sentence = f"Deciding took {listed(shares, '{:.2f}%')} of the time "
    sentence += f"(published, with device mapping and optimisation: {listed(theirs, '{:.2f}%')})."
    return Outcome(vote([share < 1.0 for share in shares.values()]), sentence, rounded(shares), rounded(theirs))


def _minor(scores: Scores) -> Outcome:
    share, theirs = scores.known("cm1t", LMSTREAM).split.buffering, published.share("cm1t", "buffering")
    sentence = f"Buffering took {share:.1f}% of the time (published {theirs}%)."
    state = REPRODUCED if share < _MINOR else NOT
    return Outcome(state, sentence, rounded({"percent": share}), {"percent": theirs})


def _pair(scores: Scores, query: str) -> tuple[Measured, Measured]:
    return scores.known(query, BASELINE, RANDOM), scores.known(query, LMSTREAM, RANDOM)


TIME = [
    Finding(
        "batches-larger",
        "V-C, figure 8",
        "The baseline's batches are much larger than LMStream's (LR1S).",
        "One and a half times as many rows, or more.",
        _sizes,
    ),
    Finding(
        "baseline-grows",
        "V-C, figure 8",
        "The baseline's maximum latency grows gradually (LR1S).",
        "The last third of its batches has more than 1.15 times the maximum latency of the first third.",
        _grows,
    ),
    Finding(
        "lmstream-stays",
        "V-C, figure 8",
        "LMStream's maximum latency stays as it is (LR1S).",
        "The last third of its batches has less than 1.15 times the maximum latency of the first third.",
        _stays,
    ),
    Finding(
        "tumbling-lower",
        "V-C, figure 9",
        "LMStream keeps the maximum latency of batches low (LR1T).",
        "Its mean is at most three quarters of the baseline's.",
        _lower,
    ),
    Finding(
        "tumbling-escapes",
        "V-C, figure 9",
        "With little computation the baseline's latency need not grow (LR1T).",
        "The last third of its batches has less than 1.15 times the maximum latency of the first third.",
        _escapes,
    ),
    Finding(
        "overhead",
        "V-E, table IV",
        "LMStream's own steps take less than 1% of the time in most workloads.",
        "Deciding takes less than 1% in more than half of the queries; the other two steps are not built.",
        _overhead,
    ),
    Finding(
        "minor-buffering",
        "V-E, table IV",
        "CM1T is processed with minor buffering.",
        "Less than a quarter of the time.",
        _minor,
    ),
]
