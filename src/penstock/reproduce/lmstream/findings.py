"""All findings of the paper that are looked for, in its order. Their rules were written before the full run."""

from __future__ import annotations

from penstock.apps.lmstream.queries import QUERIES
from penstock.reproduce.finding import NOT, REPRODUCED, Finding, Found, Outcome, all_of, look, rounded, vote
from penstock.reproduce.lmstream import published
from penstock.reproduce.lmstream.paper_runs import BASELINE, LMSTREAM, RANDOM, tumbles
from penstock.reproduce.lmstream.rules import above, below, between, growth, listed
from penstock.reproduce.lmstream.scores import KEPT, Measured, Scores

SLIDING = tuple(query for query in published.QUERIES if not tumbles(QUERIES[query]))
TUMBLING = tuple(query for query in published.QUERIES if tumbles(QUERIES[query]))
_MUCH = 0.75


def _lower(scores: Scores) -> Outcome:
    ratios = {query: scores.latency_ratio(query) for query in published.QUERIES}
    state = vote([below(ratio, _MUCH) for ratio in ratios.values()], share=4.5 / 6)
    return Outcome(state, f"As multiples of the baseline's mean: {listed(ratios)}.", rounded(ratios, 3), {})


def _most_latency(scores: Scores) -> Outcome:
    where, cut = published.LATENCY_CUT
    cuts = {query: 100 * (1 - scores.latency_ratio(query)) for query in published.QUERIES}
    largest = below(max(value for query, value in cuts.items() if query != where) / 100, cuts[where] / 100)
    sentence = f"Reductions: {listed(cuts, '{:.1f}%')} (published: at most {cut}%, in {where.upper()})."
    return Outcome(all_of([largest, 60 <= cuts[where] <= 80]), sentence, rounded(cuts, 3), {where: cut})


def _below_slide(scores: Scores) -> Outcome:
    ratios = {query: (run := scores.known(query, LMSTREAM)).mean_s / run.bound_s for query in SLIDING}
    state = all_of([below(ratio, 1.0) for ratio in ratios.values()])
    return Outcome(state, f"Mean latency as a multiple of the slide: {listed(ratios)}.", rounded(ratios, 3), {})


def _within_slide(scores: Scores) -> Outcome:
    shares = {query: scores.known(query, LMSTREAM).within for query in SLIDING}
    state = all_of([share >= KEPT for share in shares.values()])
    return Outcome(state, f"Batches within the slide: {listed(shares, '{:.0f}%')}.", rounded(shares, 3), {})


def _tumbling_lower(scores: Scores) -> Outcome:
    means = {query: scores.known(query, LMSTREAM).mean_s for query in (*TUMBLING, *SLIDING)}
    ratio = max(means[query] for query in TUMBLING) / min(means[query] for query in SLIDING)
    state = all_of([below(ratio, _MUCH)])
    return Outcome(state, f"Mean latency in seconds: {listed(means)}.", rounded(means, 3), {})


def _near_trigger(scores: Scores) -> Outcome:
    trigger_s = scores.plan.trigger_s
    means = {query: scores.known(query, BASELINE).mean_s for query in TUMBLING}
    batches = {query: scores.known(query, BASELINE).batch_latency_s for query in TUMBLING}
    state = all_of([between(mean / trigger_s, 0.75, 1.25) for mean in means.values()])
    sentence = f"Mean latency of datasets in seconds: {listed(means)}; of the oldest in each batch: {listed(batches)}; "
    return Outcome(state, f"{sentence}the trigger has {trigger_s:g}.", rounded(means, 3), {"trigger_s": trigger_s})


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
        _most_latency,
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


_HEAVY = ("lr1s", "lr2s", "cm2s")
_LIKE = "cm1s"


def _kept(scores: Scores) -> Outcome:
    ratios = {query: scores.throughput_ratio(query) for query in published.QUERIES}
    state = all_of([above(ratio, 0.9) for ratio in ratios.values()])
    return Outcome(state, f"As multiples of the baseline's: {listed(ratios)}.", rounded(ratios, 3), {})


def _most_throughput(scores: Scores) -> Outcome:
    where, gain = published.THROUGHPUT_GAIN
    ratios = {query: scores.throughput_ratio(query) for query in published.QUERIES}
    highest = above(ratios[where], max(ratio for query, ratio in ratios.items() if query != where))
    sentence = f"As multiples of the baseline's: {listed(ratios)} (published: at most {gain}, in {where.upper()})."
    return Outcome(all_of([highest, between(ratios[where], 1.5, 2.0)]), sentence, rounded(ratios, 3), {where: gain})


def _equal(scores: Scores) -> Outcome:
    ratios = {query: scores.throughput_ratio(query) for query in TUMBLING}
    state = all_of([between(ratio, 0.85, 1.15) for ratio in ratios.values()])
    return Outcome(state, f"As multiples of the baseline's: {listed(ratios)}.", rounded(ratios, 3), {})


def _both_better(scores: Scores) -> Outcome:
    latency = {query: scores.latency_ratio(query) for query in _HEAVY}
    throughput = {query: scores.throughput_ratio(query) for query in _HEAVY}
    orders = [below(ratio, 1.0) for ratio in latency.values()] + [above(ratio, 1.0) for ratio in throughput.values()]
    sentence = f"Latency as multiples of the baseline's: {listed(latency)}; throughput: {listed(throughput)}."
    numbers = {"latency": rounded(latency, 3), "throughput": rounded(throughput, 3)}
    return Outcome(all_of(orders), sentence, numbers, {})


def _similar(scores: Scores) -> Outcome:
    latency, throughput = scores.latency_ratio(_LIKE), scores.throughput_ratio(_LIKE)
    state = all_of([between(ratio, 0.75, 1.3) for ratio in (latency, throughput)])
    sentence = f"Latency {latency:.2f} times the baseline's, throughput {throughput:.2f} times."
    return Outcome(state, sentence, rounded({"latency": latency, "throughput": throughput}, 3), {})


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
        _most_throughput,
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


_SLIDING, _TUMBLING = "lr1s", "lr1t"
_GROWS = 1.15
_MINOR = 25.0


def _sizes(scores: Scores) -> Outcome:
    base, ours = _pair(scores, _SLIDING)
    rows = {BASELINE: base.mean_rows, LMSTREAM: ours.mean_rows}
    state = all_of([above(base.mean_rows / ours.mean_rows, 1.5)])
    sentence = f"Rows of a batch: {base.mean_rows:,.0f} under the baseline, {ours.mean_rows:,.0f} under LMStream."
    return Outcome(state, sentence, rounded(rows, 3), {})


def _grows(scores: Scores) -> Outcome:
    grown = growth(scores.known(_SLIDING, BASELINE, RANDOM))
    sentence = f"The last third of its batches has {grown:.2f} times the maximum latency of the first third."
    return Outcome(all_of([above(grown, _GROWS)]), sentence, rounded({"growth": grown}, 3), {})


def _stays(scores: Scores) -> Outcome:
    grown = growth(scores.known(_SLIDING, LMSTREAM, RANDOM))
    sentence = f"The last third of its batches has {grown:.2f} times the maximum latency of the first third."
    return Outcome(all_of([below(grown, _GROWS)]), sentence, rounded({"growth": grown}, 3), {})


def _lower_in_time(scores: Scores) -> Outcome:
    base, ours = (run.batch_latency_s for run in _pair(scores, _TUMBLING))
    sentence = f"Mean of the batches' maximum latency: {base:.2f} s under the baseline, {ours:.2f} s under LMStream."
    numbers = rounded({BASELINE: base, LMSTREAM: ours}, 3)
    return Outcome(all_of([below(ours / base, 0.75)]), sentence, numbers, {})


def _escapes(scores: Scores) -> Outcome:
    grown = growth(scores.known(_TUMBLING, BASELINE, RANDOM))
    sentence = f"The last third of its batches has {grown:.2f} times the maximum latency of the first third."
    return Outcome(all_of([below(grown, _GROWS)]), sentence, rounded({"growth": grown}, 3), {})


def _overhead(scores: Scores) -> Outcome:
    shares = {query: scores.known(query, LMSTREAM).split.control for query in published.QUERIES}
    steps = ("construct", "map_device", "optimisation")
    theirs = {query: sum(published.share(query, step) for step in steps) for query in published.QUERIES}
    sentence = f"Deciding took {listed(shares, '{:.2f}%')} of the time "
    sentence += f"(published, with device mapping and optimisation: {listed(theirs, '{:.2f}%')})."
    return Outcome(vote([share < 1.0 for share in shares.values()]), sentence, rounded(shares, 3), rounded(theirs, 3))


def _minor(scores: Scores) -> Outcome:
    share, theirs = scores.known("cm1t", LMSTREAM).split.buffering, published.share("cm1t", "buffering")
    sentence = f"Buffering took {share:.1f}% of the time (published {theirs}%)."
    state = REPRODUCED if share < _MINOR else NOT
    return Outcome(state, sentence, rounded({"percent": share}, 3), {"percent": theirs})


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
        _lower_in_time,
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


FINDINGS: tuple[Finding[Scores], ...] = (*LATENCY, *THROUGHPUT, *TIME)


def look_at_all(scores: Scores) -> Found:
    """Every finding with its outcome."""
    return [(finding, look(finding, scores)) for finding in FINDINGS]
