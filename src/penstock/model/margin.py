"""How far below a bound to aim: by the spread of forecasts, corrected by the share of batches that missed."""

from __future__ import annotations

import math
from statistics import NormalDist

from penstock.slo import Slo

# The share of batches that a bound is kept for where no percentile is named.
DEFAULT_SHARE = 0.95
# Errors of forecasts have heavier tails than normal ones, and a load that moves adds to them.
_TAILS = 1.15
# By how much of its logarithm a miss moves the margin; the learned part stays within these.
_STEP = 0.06
_LEAST, _MOST = -0.2, 0.4
# The goal is at least this share of the bound, and leaves at least this share of what the fixed time leaves: below
# that, a batch is soon all fixed time, and hardly shorter.
_LEAST_GOAL, _LEAST_ROOM = 0.6, 0.4
# So many misses in a row that chance alone brings them in fewer than one case of a thousand.
_BY_CHANCE = 1e-3


class Margin:
    """Aims below a bound T so that a share q of the batches keeps it.

    With z the q-quantile of the normal distribution and s the standard deviation of a forecast, as a share of it:

        goal = max(T exp(-max(1.15 z s + c, 0)), 0.6 T, 0.6 fixed + 0.4 T)
        c += 0.06 (1[miss] - (1 - q))        after each batch

    The first part is there before anything has missed; c is what the model of the noise got wrong, learned by
    stochastic approximation (Robbins and Monro 1951). Misses in a row beyond chance are a change of the load, which no
    margin foresees: the second such counts half, the third a third, and so on. On a machine so noisy that a margin of
    40% does not keep the share, throughput comes first: a goal near the fixed time of a batch would cost nearly all
    of it, for hardly shorter batches.

    >>> margin = Margin(Slo.parse("p95 <= 1 s"))
    >>> round(margin.goal(0.1), 3), margin.goal(0.5)
    (0.828, 0.6)
    >>> margin.learn(1.2)
    >>> round(margin.goal(0.1), 3)
    0.782
    """

    def __init__(self, slo: Slo) -> None:
        self._bound = slo.target
        self._share = DEFAULT_SHARE if slo.share is None else slo.share
        self._quantile = _TAILS * NormalDist().inv_cdf(self._share)
        self._expected = max(math.floor(math.log(_BY_CHANCE) / math.log1p(-self._share)), 1)
        self._correction = 0.0
        self._row = 0

    def goal(self, spread: float, fixed: float = 0.0) -> float:
        """What to aim at, where forecasts have this standard deviation and a batch has this fixed time."""
        margin = max(self._quantile * spread + self._correction, 0.0)
        half_way = fixed + _LEAST_ROOM * max(self._bound - fixed, 0.0)
        return max(self._bound * max(math.exp(-margin), _LEAST_GOAL), half_way)

    def learn(self, value: float) -> None:
        """One more batch whose size the margin decided."""
        missed = value > self._bound
        self._row = self._row + 1 if missed else 0
        weight = 1 / max(self._row - self._expected + 1, 1)
        moved = self._correction + _STEP * (missed * weight - (1 - self._share))
        self._correction = min(max(moved, _LEAST), _MOST)
