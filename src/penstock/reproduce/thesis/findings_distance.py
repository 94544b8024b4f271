"""The findings on SLO distances (5.3.2)."""

from __future__ import annotations

from penstock.bench.compare.grid import STEPPING
from penstock.reproduce.outcomes import Outcome
from penstock.reproduce.thesis import published
from penstock.reproduce.thesis.finding import (
    Finding,
    all_of,
    better,
    differences,
    known,
    order_of,
    paired,
    pmbaf_lead,
    ratio,
    rounded,
    vote,
    within,
)
from penstock.reproduce.thesis.grid import THRESHOLDS, Config
from penstock.reproduce.thesis.scores import Scores


def _pmbaf_mad(scores: Scores) -> Outcome:
    orders, ours, theirs = pmbaf_lead(scores, "mad_d")
    sentence = f"PMBAF's best MAD-D against the smallest of the other four: {differences(ours, theirs, 2)}, in points."
    state = all_of([order_of(all_of(at_threshold)) for at_threshold in orders])
    return Outcome(state, sentence, rounded(ours), rounded(theirs))


def _forty_percent(scores: Scores) -> Outcome:
    def less(mine: float, other: float) -> float:
        return 100.0 * (1 - ratio(mine, other))

    ours = paired(known(scores, "pmbaf", "mad_d", 5), known(scores, "mbaf", "mad_d", 5), less)
    theirs = less(published.distance(5, "pmbaf", "mad_d"), published.distance(5, "mbaf", "mad_d"))
    percent = ours.mean or 0.0
    sentence = f"At 5%, PMBAF's best MAD-D is {percent:.0f}% under MBAF's (published {theirs:.0f}%)."
    return Outcome(within(ours, 30, 50), sentence, {"percent": round(percent, 1)}, {"percent": round(theirs, 1)})


def _slow_convergence(scores: Scores) -> Outcome:
    rows = [(h, name) for h in THRESHOLDS for name in STEPPING]

    def slow(config: Config) -> bool:
        return config.step == 1 and config.sample == 1

    count = sum(slow(known(scores, name, "sd_d", h).config) for h, name in rows)
    theirs = sum((best := published.DISTANCES[h][name][1]).step == best.sample == 1 for h, name in rows)
    orders = [
        better(scores.best(name, "sd_d", h, slow), scores.best(name, "sd_d", h, lambda c: not slow(c)), "sd_d")
        for h, name in rows
    ]
    sentence = f"Step 1 with sample 1 has the best SD-D in {count} of {len(rows)} rows (published {theirs})."
    return Outcome(vote(orders), sentence, {"rows": count}, {"rows": theirs})


def _half_throughput(scores: Scores) -> Outcome:
    slow, reactive = (scores.score(Config("pmbaf", 5, step=step, sample=1), "throughput_per_s") for step in (1, 10))
    share = paired(slow, reactive, ratio)
    theirs = published.SLOW_PER_S / published.REACTIVE_PER_S
    sentence = f"PMBAF at 5%, sample 1: {slow.mean:,.0f} items a second with step 1, {reactive.mean:,.0f} with "
    sentence += f"step 10; ratio {share.mean or 0:.2f} (published {published.SLOW_PER_S:,.0f} and "
    sentence += f"{published.REACTIVE_PER_S:,.0f}, {theirs:.2f})."
    numbers = {"slow_per_s": round(slow.mean), "reactive_per_s": round(reactive.mean), "ratio": share.mean or 0.0}
    claimed = {"slow_per_s": published.SLOW_PER_S, "reactive_per_s": published.REACTIVE_PER_S, "ratio": theirs}
    return Outcome(within(share, 0.35, 0.7), sentence, rounded(numbers), rounded(claimed))


DISTANCES = [
    Finding(
        "pmbaf-smallest-mad",
        "table 5.4",
        "PMBAF has the smallest MAD-D of the step algorithms at every threshold.",
        "Below all four others, intervals apart, at every threshold.",
        "Smallest beyond doubt at 5 and 10%, level with MBAF at 15 and 20%. All values but PBAF-WT's are far below the "
        "published ones, as most batches hold one heavy item and hit (cause 1).",
        _pmbaf_mad,
    ),
    Finding(
        "pmbaf-forty-percent",
        "5.3.2",
        "PMBAF's MAD-D is about 40% under MBAF's, the second best.",
        "30 to 50% under it at the 5% threshold.",
        "The order is the published one, the distance is not. Where most batches hit by themselves (cause 1), a large "
        "part of what is left of MAD-D are the late batches after a jump, which both have alike (figure 5.6).",
        _forty_percent,
    ),
    Finding(
        "slow-convergence",
        "table 5.4",
        "Slow convergence (step 1, sample 1) gives the best SD-D.",
        "Better than every other configuration, intervals apart, in more than half of the 20 rows.",
        "It is best only for MBAF (5 and 10%) and PMBAF (all four), which multiply the step far from the target. The "
        "others need some 300 decisions of one item to come down after a jump, and nearly all of SD-D is made of the "
        "late batches there: `--controller faf --set step=1` has an SD-D of 132.3, with `--set step=15` 47.4. Why that "
        "did not cost PBAF and PBAF-WT as much in the thesis is not known.",
        _slow_convergence,
    ),
    Finding(
        "slow-is-half-as-fast",
        "5.3.2",
        "Slow convergence costs about half of the throughput of the reactive strategy.",
        "Its throughput is 0.35 to 0.7 of the other's (PMBAF, step 1 and 10; the thesis names no algorithm).",
        "At the edge of the rule. Both rates are below the published ones, as most of the time goes into batches of "
        "one heavy item (cause 1): the oracle, which meets the target with nearly all items, has 17k items a second "
        "(`--controller oracle`). The rate of step 10 is that of a run which swings and hits few items (figure 5.7).",
        _half_throughput,
    ),
]
