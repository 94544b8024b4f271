"""What a row of each source costs beside the others, learned from the batches that mixed them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]

_WINDOW = 64
_BATCHES_A_COST = 4
# A fit costs most of a millisecond, and nothing waits for it.
_BATCHES_A_FIT = 4
# The square of how many standard errors a new belief must be better by. Every batch is another look, and what chance
# does in one of a hundred looks it does every minute.
_CLEARLY = 16.0
# The old belief holds on to a cost with this part of the weight of one batch.
_PRIOR = 0.1
_MOST_APART = 20.0
_FAR_OFF = 2.5
_LEAST_ERROR = 1e-3
# No batch is shorter, and none has more rows: what says so is no measurement, and its square no number.
_SHORTEST_S = 1e-6
_MOST_ROWS = 1e30
_NOTHING = 1e-100


class RowCosts:
    """The weights of one row of each source: 1 is the mean row of the recent mix.

    A batch that took x_i rows of source i is taken to last

        fixed + sum a_i x_i        fixed, a_i >= 0

    fitted to the last 64 batches by least squares of the relative error, and robustly: a batch far off counts less (a
    pause of the machine is no news of its rows). At first all rows are believed to cost the same. The belief changes
    only where the fit explains the batches clearly better, by four standard errors, than the belief does with one
    factor for all; and then by half the way (of the logarithm), so that one odd stretch carries nothing off, while a
    true difference is there again at the next look, four batches later. No row is believed to cost more than 20 times
    another.

    Sources that are always taken in the same proportion teach nothing: their costs cannot be told apart, and as long as
    they come in that proportion need not be. A source that brings no rows for a while keeps its cost.

    Weights are normalised so that the mean over the mix (the shares of a batch, averaged over the window) is 1. The sum
    of weighted rows then is still a number of rows, and for the usual mix the same one whatever was learned.

    >>> costs = RowCosts(2)
    >>> for left, right in [(100, 10), (200, 5), (50, 40)] * 12:
    ...     costs.add((left, right), 0.1 + 0.001 * left + 0.01 * right)
    >>> round(costs.weights[1] / costs.weights[0])
    10
    """

    def __init__(self, sources: int) -> None:
        # Loaded only for queries of several sources, and before they wait for a fit: it takes a quarter of a second.
        import scipy.optimize  # noqa: F401

        self.weights: tuple[float, ...] = (1.0,) * sources
        self._past: deque[tuple[tuple[float, ...], float]] = deque(maxlen=_WINDOW)
        self._costs: _Floats = np.ones(sources)
        self._mix: _Floats = np.zeros(sources)
        self._batches = 0

    def add(self, rows: Sequence[float], processing_s: float) -> None:
        """Learn from one batch; one that cannot teach is left out."""
        total = sum(rows)
        if not (0 < total < _MOST_ROWS and _SHORTEST_S < processing_s < math.inf):
            return
        self._past.append((tuple(rows), processing_s))
        self._batches += 1
        self._mix += (np.asarray(rows) / total - self._mix) / len(self._past)
        if self._batches % _BATCHES_A_FIT == 0:
            self._look()
        # Until something is known the weights are 1 to the last digit: a gate rounds down.
        if np.ptp(self._costs) > 0:
            weights = self._costs / float(self._mix @ self._costs)
            self.weights = tuple(weights.clip(1 / _MOST_APART, _MOST_APART).tolist())

    def _look(self) -> None:
        taken = np.array([rows for rows, _ in self._past], dtype=np.float64)
        took_s = np.array([took_s for _, took_s in self._past])
        here = taken.any(axis=0)
        sources = int(here.sum())
        if sources > 1 and len(taken) >= _BATCHES_A_COST * (sources + 1):
            self._costs[here] = _believed(taken[:, here], took_s, self._costs[here], self._mix[here])


def _believed(taken: _Floats, took_s: _Floats, costs: _Floats, mix: _Floats) -> _Floats:
    """The old costs, or half way to new ones where those are clearly better."""
    # Divided by what the batch took, every batch should come to 1, and what it lacks is its relative error.
    design = np.column_stack((np.ones(len(taken)), taken)) / took_s[:, None]
    # The belief as a fit of two numbers: a fixed part, and one factor for all costs.
    belief = np.zeros((len(costs) + 1, 2))
    belief[0, 0], belief[1:, 1] = 1.0, costs
    as_believed = design @ belief
    factor = _nonnegative(as_believed, np.ones(len(taken)))[1]
    # In proportion to their rows, so that sources which cannot be told apart move together.
    usual = design[:, 1:].mean(axis=0)
    held = np.append(0.0, _PRIOR * np.sqrt(usual * usual.sum()))
    prior, prior_target = np.diag(held), held * np.append(0.0, factor * costs)
    # The square roots of how much each batch counts.
    trust = np.ones(len(taken))
    for _ in range(2):
        fitted = _nonnegative(np.vstack((design * trust[:, None], prior)), np.append(trust, prior_target))
        errors = np.abs(1 - design @ fitted)
        allowed = _FAR_OFF * (1.5 * float(np.median(errors)) + _LEAST_ERROR)
        trust = np.sqrt(np.minimum(1.0, allowed / np.maximum(errors, _LEAST_ERROR)))
    refitted = _nonnegative(as_believed * trust[:, None], trust)
    old = float(np.sum((trust * (1 - as_believed @ refitted)) ** 2))
    new = float(np.sum((trust * (1 - design @ fitted)) ** 2))
    noise = new / (len(taken) - len(costs) - 1) + _LEAST_ERROR**2
    if old - new <= _CLEARLY * noise * (len(costs) - 1):
        return costs
    # On the scale of the old ones, so that a source which is not here now keeps its place beside these.
    found = fitted[1:] * float(mix @ costs) / float(mix @ fitted[1:])
    half_way: _Floats = np.sqrt(costs * found.clip(found.max() / _MOST_APART))
    return half_way


def _nonnegative(design: _Floats, target: _Floats) -> _Floats:
    """Least squares with nothing below zero."""
    from scipy.optimize import nnls

    # A fixed second beside a thousand rows: brought to one size, no number drowns in the rounding of another.
    unit = np.linalg.norm(design, axis=0)
    unit[unit <= _NOTHING] = np.inf
    found: _Floats = nnls(design / unit, target)[0] / unit
    return found
