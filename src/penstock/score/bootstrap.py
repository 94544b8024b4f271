"""How sure a mean over a few runs is: bootstrap intervals, and what may be said of two of them.

Draw as many values as there are, with replacement, `resamples` times; the 2.5th and the 97.5th percentile of the means
are a first interval of level 95%. With few values that one is too narrow: of three runs it covers the true mean three
times in four. So both its sides are widened by what the few values cost, as in Student's interval:

    sqrt(n / (n - 1)) * t(n - 1) / z        2.7 times at 3 runs, 1.2 times at 10
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from penstock.errors import BadInputError

LEVEL = 0.95
RESAMPLES = 2000

Order = Literal["above", "below", "cannot tell"]


@dataclass(frozen=True, slots=True)
class Interval:
    """The mean of some values and where it may really be; the bounds are None with fewer than two values."""

    mean: float | None
    low: float | None
    high: float | None
    values: tuple[float, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Mean, low, high and the values, ready for JSON."""
        return {**asdict(self), "values": list(self.values)}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Interval:
        """What `to_json` gave."""
        return cls(fields["mean"], fields["low"], fields["high"], tuple(fields["values"]))


def interval_of(
    values: Iterable[float | None], level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """The mean with its bootstrap interval; values that are None or not finite are unknown and left out.

    >>> few = interval_of([80.0, 82.0, None, 84.0])
    >>> few.mean, round(few.low, 1), round(few.high, 1)
    (82.0, 76.6, 87.4)
    >>> interval_of([80.0])
    Interval(mean=80.0, low=None, high=None, values=(80.0,))
    """
    if not 0 < level < 1:
        raise BadInputError("level", level, "not between 0 and 1", "give e.g. 0.95")
    if resamples < 1:
        raise BadInputError("resamples", resamples, "nothing to draw", "give 1 or more, e.g. 2000")
    known = tuple(float(value) for value in values if value is not None and math.isfinite(value))
    if not known:
        return Interval(None, None, None)
    array = np.asarray(known)
    mean = float(array.mean())
    if len(known) == 1:
        return Interval(mean, None, None, known)
    drawn = np.random.default_rng(seed).integers(len(known), size=(resamples, len(known)))
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(array[drawn].mean(axis=1), [tail, 1.0 - tail])
    wider = _wider(len(known), tail)
    return Interval(mean, mean - wider * (mean - float(low)), mean + wider * (float(high) - mean), known)


def _wider(count: int, tail: float) -> float:
    from scipy.special import ndtri, stdtrit

    return math.sqrt(count / (count - 1)) * float(stdtrit(count - 1, 1 - tail)) / float(ndtri(1 - tail))


def compare(a: Interval, b: Interval) -> Order:
    """Where `a` is against `b`; nothing can be told where the intervals meet or one of them is not known.

    >>> compare(interval_of([80.0, 81.0, 82.0]), interval_of([60.0, 61.0, 62.0]))
    'above'
    >>> compare(interval_of([80.0]), interval_of([60.0, 61.0]))
    'cannot tell'
    """
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return "cannot tell"
    if a.low > b.high:
        return "above"
    return "below" if a.high < b.low else "cannot tell"
