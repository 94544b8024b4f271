"""The findings of the paper that are looked for, in its order; their rules were written after tiny trial runs."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.bench.measures.windows import black_box, devices, latency
from penstock.bench.measures.windows.cases import QUERIES
from penstock.bench.measures.windows.peers import FLINK, SPARK
from penstock.reproduce.finding import (
    Finding,
    Found,
    NoDataError,
    Outcome,
    all_of,
    look,
    rounded,
    untestable,
    vote,
)
from penstock.reproduce.gasser import published
from penstock.reproduce.gasser.scores import Scores, case, known

_NO_GPU = "It needs a GPU, and there is none here; the device `cuda` is tested in a simulator for equality alone."
_TUNER = "It is about the tuner, which comes later: table 5 and figures 12 and 13 come with it."


def _flink(scores: Scores) -> Outcome:
    gains = {case(each): gain for each, gain in scores.known_gains(FLINK).items()}
    low, high = published.OVER_FLINK
    sentence = f"Over PyFlink: {_listed(gains)} (published: {low:g} to {high:g} times Flink's rate)."
    state = all_of([gain >= low for gain in gains.values()])
    return Outcome(state, sentence, rounded(gains), {"low": low, "high": high})


def _small_slides(scores: Scores) -> Outcome:
    gains = scores.known_gains(SPARK, "q1")
    orders: list[bool | None] = []
    for length in sorted({each.length for each in gains}):
        by_slide = sorted((each.every, gain) for each, gain in gains.items() if each.length == length)
        if len(by_slide) > 1:
            orders.append(by_slide[0][1] > by_slide[-1][1])
    said = {case(each): gain for each, gain in gains.items()}
    theirs = {case(each): _theirs(each.query, each.length, each.every) for each in gains}
    sentence = f"Over plain PySpark, which stands for Flink: {_listed(said)} (published over Flink: {_listed(theirs)})."
    return Outcome(all_of(orders), sentence, rounded(said), theirs)


def _theirs(query: str, length: int, every: int) -> float:
    found = published.TABLE_3.get((query, length, every))
    return 0.0 if found is None else found.over_flink


def _by_batch(scores: Scores) -> Outcome:
    return _grows(scores, latency.BY_BATCH, "batch", "B")


def _by_spark_batch(scores: Scores) -> Outcome:
    return _grows(scores, latency.BY_TRIGGER, "trigger_s", "trigger interval")


def _grows(scores: Scores, by: str, name: str, what: str) -> Outcome:
    """Whether the mean latency at the largest value is more than one and a half times that at the smallest."""
    found = scores.results.select(program=latency.PROGRAM, by=by)
    ratios = {}
    for length in sorted({each["length"] for each in found}):
        some = sorted((each[name], each["mean_s"]) for each in found if each["length"] == length)
        if len(some) > 1:
            ratios[f"w = {length:,}"] = some[-1][1] / some[0][1]
    if not ratios:
        raise NoDataError(f"no latency by {what}")
    sentence = f"Mean latency at the largest {what} over that at the smallest: {_listed(ratios)}."
    return Outcome(vote([ratio > 1.5 for ratio in ratios.values()]), sentence, rounded(ratios), {})


def _heavier_later(scores: Scores) -> Outcome:
    lengths = sorted({each["length"] for each in scores.results.select(program=devices.PROGRAM)})
    slides = {query: [_slide(scores, query, length) for length in lengths] for query in QUERIES}
    pairs = list(zip(slides["q1"], slides["q2"], strict=True))
    if not pairs:
        raise NoDataError("no device was measured")
    # Both below the smallest slide, or both above the largest: nothing was seen of an order.
    edges = {float("inf"), float(min(each["every"] for each in scores.results.select(program=devices.PROGRAM)))}
    said = ", ".join(f"w = {length:,}: {one:g} and {two:g}" for length, (one, two) in zip(lengths, pairs, strict=True))
    sentence = f"One thread keeps up with all from these slides on, Q1 and Q2 (inf: beyond all measured): {said}."
    numbers = {query: [str(each) for each in found] for query, found in slides.items()}
    orders = [None if one == two and one in edges else two > one for one, two in pairs]
    return Outcome(all_of(orders), sentence, numbers, {})


def _slide(scores: Scores, query: str, length: int) -> float:
    found = scores.results.break_even(query, length, "numba", "numba-parallel")
    return float("inf") if found is None else float(found)


def _tumbling(scores: Scores) -> Outcome:
    behind = 100 * known(scores.results.penalty(black_box.LENGTH), "no tumbling window")
    sentence = f"The black box is {behind:.0f}% behind with tumbling windows (published {published.TUMBLING_PENALTY}%)."
    numbers, theirs = rounded({"percent": behind}), {"percent": published.TUMBLING_PENALTY}
    return Outcome(all_of([behind <= 20]), sentence, numbers, theirs)


def _half(scores: Scores) -> Outcome:
    slides = [each["every"] for each in scores.results.select(program=black_box.PROGRAM)]
    behind = {str(every): 100 * known(scores.results.penalty(every), "no penalty") for every in slides}
    if not behind:
        raise NoDataError("no black box")
    worst = max(behind, key=behind.__getitem__)
    sentence = f"By slide: {_listed(behind, '{:.0f}%')}; published at most {published.MOST_PENALTY}%, at slide "
    sentence += f"{published.MOST_PENALTY_SLIDE}."
    theirs = {"percent": published.MOST_PENALTY, "slide": published.MOST_PENALTY_SLIDE}
    smallest = behind[str(min(slides))]
    return Outcome(all_of([behind[worst] <= 60, smallest <= 0]), sentence, rounded(behind), theirs)


def _hard_shorter(scores: Scores) -> Outcome:
    ratios = {f"s = {every}, B = {batch}": row.soft / row.hard for (every, batch), row in scores.extents.items()}
    theirs = {f"s = {every}, B = {batch}": row.soft / row.hard for (every, batch), row in published.TABLE_4.items()}
    sentence = f"Soft over hard, on average: {_listed(ratios)} (published: {_listed(theirs)})."
    return Outcome(all_of([ratio > 1 for ratio in ratios.values()]), sentence, rounded(ratios), rounded(theirs))


def _within_a_second(scores: Scores) -> Outcome:
    rate = published.TABLE_4_RATE_PER_S
    hard = max(row.hard for row in scores.extents.values()) / rate
    soft = max(row.soft for row in scores.extents.values()) / rate
    sentence = f"At 1M rows/s the longest average is {soft:.1f} s soft and {hard:.2f} s hard (published 3.5 and 0.75)."
    return Outcome(all_of([hard < 1.0, soft > 1.0]), sentence, rounded({"soft_s": soft, "hard_s": hard}), {})


FINDINGS: tuple[Finding[Scores], ...] = (
    Finding(
        "gpu-gain",
        "V-A, table 3",
        "A GPU sustains 2 to 11.3 times the rate of Gasser's own CPU version.",
        "Needs a GPU.",
        untestable(_NO_GPU),
    ),
    Finding(
        "flink-gain",
        "V-A, table 3",
        "Gasser sustains 6.8 to 66 times the rate of Flink.",
        "Ours at least 6.8 times PyFlink's in every case that PyFlink finishes. Two cores and no GPU against one "
        "Flink task of Python: not the paper's pair.",
        _flink,
    ),
    Finding(
        "small-slides",
        "V-A, table 3",
        "The gain is higher with smaller slides (Q1).",
        "For every window length, the gain over plain PySpark is higher at the smallest slide that it finishes than at "
        "the largest.",
        _small_slides,
    ),
    Finding(
        "latency-batch",
        "V-A, figure 8",
        "Latency increases quickly with longer batches of windows.",
        "For most window lengths, the mean at the largest B is above one and a half times that at the smallest.",
        _by_batch,
        "On Spark a group computes a window as soon as its last row is there, whatever B is: B sets copies of rows and "
        "the length of a call, not the delay.",
    ),
    Finding(
        "latency-spark-batch",
        "V-A, figure 8",
        "Latency increases with longer batches of rows (Spark's batch in the place of Gasser's).",
        "For most window lengths, the mean at the longest trigger interval is above one and a half times that at the "
        "shortest.",
        _by_spark_batch,
    ),
    Finding(
        "break-even",
        "V-A, figure 9",
        "The GPU pays up to slides of about w/100 (Q1) and w/10 (Q2).",
        "Needs a GPU. Our table has the break-even between one thread and all of them.",
        untestable(_NO_GPU),
    ),
    Finding(
        "break-even-heavier",
        "V-A, figure 9",
        "The faster device pays up to larger slides where the query computes more (Q2).",
        "One thread keeps up with all threads from a larger slide on in Q2 than in Q1, for every window length.",
        _heavier_later,
    ),
    Finding(
        "profile", "V-A, figure 10", "GPU occupancy and copies by batch length.", "Needs a GPU.", untestable(_NO_GPU)
    ),
    Finding(
        "tumbling-penalty",
        "V-B, figure 11",
        "With tumbling windows the black box is only 8% behind incremental processing.",
        "At most 20% behind running sums.",
        _tumbling,
    ),
    Finding(
        "most-penalty",
        "V-B, figure 11",
        "The black box is at most 49% behind, at a slide of 128, and ahead at very small slides.",
        "At most 60% behind running sums at any slide, and not behind at the smallest.",
        _half,
        "Saber pays for each of its fragments on a GPU that is idle otherwise; on a core, computing every window from "
        "its rows costs w/s times as much as adding what is new.",
    ),
    Finding(
        "hard-shorter",
        "V-C, table 4",
        "The hard protocol completes a change earlier than the soft one.",
        "On average earlier in all six rows.",
        _hard_shorter,
    ),
    Finding(
        "hard-second",
        "V-C, table 4",
        "On average the hard protocol takes less than a second at 1M rows/s, the soft one up to some seconds.",
        "The longest average of the hard one is below 1 s and that of the soft one above.",
        _within_a_second,
    ),
    Finding(
        "tuner",
        "V-C, table 5, figures 12 and 13",
        "The tuner finds an optimal configuration after about 5 to 14 tries.",
        "Needs the tuner.",
        untestable(_TUNER),
    ),
)


def look_at_all(scores: Scores) -> Found:
    """Every finding with its outcome."""
    return [(finding, look(finding, scores)) for finding in FINDINGS]


def _listed(values: Mapping[str, float], form: str = "{:.2f}") -> str:
    return ", ".join(f"{name} {form.format(value)}" for name, value in values.items())
