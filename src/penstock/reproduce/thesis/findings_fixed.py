"""The findings on fixed sizes (5.2)."""

from __future__ import annotations

from penstock.reproduce.outcomes import NoDataError, Outcome
from penstock.reproduce.thesis import published
from penstock.reproduce.thesis.finding import Finding, all_of, ratio, within
from penstock.reproduce.thesis.scores import Scores


def _fixed(scores: Scores, *sizes: int) -> dict[int, tuple[float, float]]:
    """Latency and throughput by size, with these sizes among them."""
    fixed = scores.fixed()
    if not fixed or not set(sizes) <= set(fixed):
        raise NoDataError(f"fixed sizes {', '.join(map(str, sizes)) or 'of any kind'}")
    return fixed


def _cutoff(scores: Scores) -> Outcome:
    fixed = _fixed(scores)
    top = max(rate for _, rate in fixed.values())
    size = next(size for size, (_, rate) in fixed.items() if rate >= 0.9 * top)
    sentence = f"Nine tenths of the highest throughput ({top:,.0f} items a second) are reached at a size of {size} "
    sentence += f"(published cutoff: about {published.THROUGHPUT_CUTOFF})."
    return Outcome(within(size, 77, 173), sentence, {"size": size}, {"size": published.THROUGHPUT_CUTOFF})


def _gain(scores: Scores) -> Outcome:
    fixed = _fixed(scores, 1)
    gain = ratio(max(rate for _, rate in fixed.values()), fixed[1][1])
    sentence = f"Batching gives up to {gain:.1f} times the throughput of single items "
    sentence += f"(published {published.BATCHING_GAIN:g})."
    numbers = {"times": round(gain, 2)}
    return Outcome(within(gain, 20, 30), sentence, numbers, {"times": published.BATCHING_GAIN})


def _slope(scores: Scores) -> Outcome:
    low, middle = 10, 100
    fixed = _fixed(scores, low, middle)
    high = max(fixed)
    if high == middle:
        raise NoDataError(f"fixed sizes above {middle}")

    def ms_for_ten(a: int, b: int) -> float:
        return 1e4 * (fixed[b][0] - fixed[a][0]) / (b - a)

    first, later = ms_for_ten(low, middle), ms_for_ten(middle, high)
    sentence = f"Ten more items take {first:.2f} ms more between sizes {low} and {middle}, {later:.2f} ms beyond "
    sentence += "(published about 1 ms, and less beyond 100)."
    numbers = {"below_100_ms": round(first, 3), "above_100_ms": round(later, 3)}
    state = all_of([0.5 <= first <= 1.5, later < first])
    return Outcome(state, sentence, numbers, {"below_100_ms": published.MS_FOR_TEN_ITEMS})


FIXED = [
    Finding(
        "fixed-throughput-flat",
        "5.2",
        "Throughput is flat beyond a fixed size of about 115.",
        "90% of the highest throughput is reached at a size within a factor of 1.5 of 115.",
        "Throughput rises here as n / (n + constant), without a sharp knee.",
        _cutoff,
    ),
    Finding(
        "fixed-gain",
        "5.2",
        "Batching gives up to 25 times the throughput of single items.",
        "20 to 30 times.",
        "No evidence of its own: the plant was solved for this number.",
        _gain,
    ),
    Finding(
        "fixed-latency-slope",
        "5.2",
        "Ten more items take about 1 ms more, and less beyond a size of 100.",
        "0.5 to 1.5 ms between sizes 10 and 100, and less beyond.",
        "Only just under the rule, but a batch of this model takes a time of its own and a time for each item, so the "
        "line is straight and cannot bend at 100. The published facts do not quite fit each other here: with 300 light "
        "items in 3 ms, a size of 100 runs at 131k items a second (`--controller fixed --size 100`), the million in "
        "7.6 s, at about 6 ms (figure 5.1), where the thesis saw about 12 s and 10 ms.",
        _slope,
    ),
]
