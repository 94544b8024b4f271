"""How means over runs, with their intervals, become the rows and states of a finding."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.bench.compare.grid import STEPPING
from penstock.reproduce.finding import NOT, REPRODUCED, UNKNOWN, NoDataError, State
from penstock.reproduce.thesis import published
from penstock.reproduce.thesis.grid import THRESHOLDS
from penstock.reproduce.thesis.scores import HIGHER_IS_BETTER, Score, Scores
from penstock.score import Interval, compare, interval_of


def known(scores: Scores, algorithm: str, metric: str, threshold: int) -> Score:
    """The best score, which a whole grid always has; a `NoDataError` where it has none."""
    score = scores.best(algorithm, metric, threshold)
    if score is None:
        raise NoDataError(f"{algorithm} at {threshold}%")
    return score


def ratio(a: float, b: float) -> float:
    """A number as a multiple of another; of nothing there is none.

    >>> ratio(3.0, 2.0)
    1.5
    """
    if b == 0:
        raise NoDataError("a ratio to 0")
    return a / b


def above(a: Interval, b: Interval) -> bool | None:
    """Whether a mean is above another; None where their intervals meet."""
    return {"above": True, "below": False, "cannot tell": None}[compare(a, b)]


def better(a: Score | None, b: Score | None, metric: str) -> bool | None:
    """Whether a configuration is better than another by a metric; one that is absent loses."""
    if a is None or b is None:
        return None if a is b else b is None
    order = above(a.interval, b.interval)
    return order if order is None or HIGHER_IS_BETTER[metric] else not order


def within(value: float | Interval, low: float, high: float) -> State:
    """Whether a number, or a mean with its whole interval, is in a range.

    >>> within(2.0, 1, 3), within(Interval(2.9, 2.5, 3.5), 1, 3), within(Interval(4.0, 3.5, 4.5), 1, 3)
    ('reproduced', 'cannot tell', 'not reproduced')
    """
    if not isinstance(value, Interval):
        return REPRODUCED if low <= value <= high else NOT
    if value.low is None or value.high is None:
        return UNKNOWN
    if low <= value.low and value.high <= high:
        return REPRODUCED
    return NOT if value.high < low or value.low > high else UNKNOWN


def paired(a: Score, b: Score, combine: Callable[[float, float], float]) -> Interval:
    """A number from two configurations, run by run: runs of one seed met the same noise.

    >>> from operator import sub
    >>> from penstock.reproduce.thesis.grid import Config
    >>> paired(Score(Config("pid"), (5.0, 7.0)), Score(Config("faf"), (1.0, 2.0)), sub).mean
    4.5
    """
    return interval_of(combine(x, y) for x, y in zip(a.values, b.values, strict=False))


def pmbaf_lead(scores: Scores, metric: str) -> tuple[list[list[bool | None]], dict[str, float], dict[str, float]]:
    """PMBAF's best against the best of each other step algorithm, by threshold.

    Whether it is better than each of them, the nearest first; then its distance from the nearest, ours and published.
    """
    sign = -1.0 if HIGHER_IS_BETTER[metric] else 1.0
    orders: list[list[bool | None]] = []
    ours: dict[str, float] = {}
    theirs: dict[str, float] = {}
    others = [name for name in STEPPING if name != "pmbaf"]
    for h in THRESHOLDS:
        mine = known(scores, "pmbaf", metric, h)
        rest = sorted((known(scores, name, metric, h) for name in others), key=lambda score: sign * score.mean)
        orders.append([better(mine, other, metric) for other in rest])
        ours[f"{h}%"] = mine.mean - rest[0].mean
        nearest = min((published.best(h, name, metric) for name in others), key=lambda value: sign * value)
        theirs[f"{h}%"] = published.best(h, "pmbaf", metric) - nearest
    return orders, ours, theirs


def differences(ours: Mapping[str, float], theirs: Mapping[str, float], digits: int = 1) -> str:
    """Differences by threshold in a sentence, the published ones behind.

    >>> differences({"5%": 1.55, "10%": -2}, {"5%": 20.5, "10%": 8.2})
    '+1.6 at 5%, -2.0 at 10% (published +20.5, +8.2)'
    """
    mine = ", ".join(f"{value:+.{digits}f} at {h}" for h, value in ours.items())
    return f"{mine} (published {', '.join(f'{value:+.{digits}f}' for value in theirs.values())})"


def points(values: Mapping[str, float]) -> str:
    """Named numbers in a sentence.

    >>> points({"faf": 1.25, "pbaf": 3})
    'FAF 1.2, PBAF 3.0'
    """
    return ", ".join(f"{name.upper()} {value:.1f}" for name, value in values.items())
