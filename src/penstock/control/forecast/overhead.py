"""The fixed time of a batch, told apart from the time of its items by what would have been predicted best."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

# Guesses of the fixed time, in targets.
_SHARES = (0.0, 0.01, 0.02, 0.035, 0.06, 0.1, 0.15, 0.2, 0.25, 0.3, 0.37, 0.45, 0.55, 0.67, 0.82, 1.0, 1.5, 2.2, 3.3)
# No guess may be longer than this share of the shortest batch seen lately.
_SHORTER = 0.98
# Batches whose sizes differ by less, as logarithms, tell no guess from another.
_ALIKE = 0.05
_USUAL_GAIN = 0.3
_FORGET = 0.995
# A shortest batch is believed for some thousands of batches.
_RISE = 1.0002
_GAIN = 0.6
_FARTHEST = 1.0
_LEAST_SHARE = 0.05


class Overhead:
    """Learns how much of a batch's time is there whatever its size.

    A loop that holds a latency makes batches small when items are heavy, so size and time hardly vary together, and a
    line through them says nothing. Instead each guess g of the fixed time predicts the next batch from the last ones,

        log((value - g) / n)  followed with gain 0.6
        error = log(value / (g + n each))

    and the guess with the smallest squared errors of late is believed, if no batch was shorter. An error beyond 1
    counts as 1: a load that jumps proves no guess wrong. Guesses are shares and multiples of the target.

    >>> overhead = Overhead(target=1.0)
    >>> for size in (100, 400, 800, 200, 900, 300):
    ...     overhead.learn(size, 0.2 + 0.001 * size)
    >>> overhead.fixed
    0.2
    """

    def __init__(self, target: float) -> None:
        self.fixed = 0.0
        """The part of a value that does not depend on the size."""
        self._guesses = target * np.array(_SHARES)
        self._shortest = math.inf
        self._levels: NDArray[np.float64] | None = None
        self._losses = np.zeros(len(_SHARES))
        self._usual = 0.0

    def learn(self, size: float, value: float) -> None:
        """One more batch."""
        self._shortest = min(value, self._shortest * _RISE)
        seen = np.log(np.maximum(value - self._guesses, _LEAST_SHARE * value) / size)
        if self._levels is None:
            self._levels, self._usual = seen, math.log(size)
            return
        varied = math.log(size) - self._usual
        self._usual += _USUAL_GAIN * varied
        if abs(varied) > _ALIKE:
            errors = np.log(value / (self._guesses + size * np.exp(self._levels)))
            self._losses *= _FORGET
            self._losses += np.minimum(errors * errors, _FARTHEST)
        self._levels += _GAIN * (seen - self._levels)
        possible = int(self._guesses.searchsorted(_SHORTER * self._shortest, side="right"))
        self.fixed = float(self._guesses[self._losses[: max(possible, 1)].argmin()])
