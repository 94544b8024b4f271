"""The fixed time of a batch, told apart from the time of its items by what would have been predicted best."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

# Guesses of the fixed time, in targets; and of the items that would take as long, in sizes of the first batch.
_SHARES = (0.0, 0.01, 0.02, 0.035, 0.06, 0.1, 0.15, 0.2, 0.25, 0.3, 0.37, 0.45, 0.55, 0.67, 0.82, 1.0, 1.5, 2.2, 3.3)
_EXTRAS = tuple(2.0 ** (half / 2) for half in range(-10, 7))
# No guess may be longer than this share of the shortest batch seen lately.
_SHORTER = 0.98
# Batches whose sizes differ by less, as logarithms, tell no guess from another.
_ALIKE = 0.05
_USUAL_GAIN = 0.3
_FORGET = 0.995
# In a queue a batch is told to a few percent, and counts by how much its size differs: in full from here on.
_DIFFERENT, _FORGET_IN_QUEUE = 1.0, 0.99
# There no guess is given up for another that is not clearly better.
_BETTER = 0.8
# A shortest batch is believed for some thousands of batches.
_RISE = 1.0002
_GAIN, _TREND = 0.6, 0.1
# No error counts for more.
_FARTHEST, _FARTHEST_IN_QUEUE = 1.0, 0.25
_LEAST_SHARE = 0.05
# What speaks against extra items before anything is known.
_HANDICAP = 0.3
# A guess whose losses are more than so many variances of noise beyond the best one's is ruled out.
_IN_DOUBT = 4.0


class Overhead:
    """Learns how much of a batch's time is there whatever its size.

    A loop that holds a latency makes batches small when items are heavy, so size and time hardly vary together, and a
    line through them says nothing. Instead each guess g of the fixed time predicts the next batch from the last ones,

        log((value - g) / n)  followed with gain 0.6
        error = log(value / (g + n each))

    and the guess with the smallest squared errors of late is believed, if no batch was shorter. An error beyond 1
    counts as 1: a load that jumps proves no guess wrong. Guesses are shares and multiples of the target.

    In a queue (`in_queue`), what is there whatever the size is mostly the depth of an item, which is heavier where
    items are: there value = (n + extra) each is tried too, and levels are followed with their trend, since a loop that
    is late makes sizes move against the load all the time.

    >>> overhead = Overhead(target=1.0)
    >>> for size in (100, 400, 800, 200, 900, 300):
    ...     overhead.learn(size, 0.2 + 0.001 * size)
    >>> overhead.fixed, overhead.extra
    (0.2, 0.0)
    """

    def __init__(self, target: float) -> None:
        self.fixed = 0.0
        """The part of a value that does not depend on the size."""
        self.extra = 0.0
        """So many items more would take as long as what a batch has beside its items; only in a queue."""
        self.varied = 0
        """So many batches differed enough in size to tell guesses apart."""
        self._shares = array("d", (target * share for share in _SHARES))
        self._fixed = np.concatenate((self._shares, np.zeros(len(_EXTRAS))))
        self._extras = np.zeros(self._fixed.size)
        self._losses = np.concatenate((np.zeros(len(_SHARES)), np.full(len(_EXTRAS), _HANDICAP)))
        self._slopes = np.zeros(self._fixed.size)
        self._levels: NDArray[np.float64] | None = None
        self._shortest = math.inf
        self._usual = 0.0
        self._best = 0

    def learn(self, size: float, value: float, in_queue: bool = False) -> None:
        """One more batch; whether it is the time in a queue's slowest stage."""
        self._shortest = min(value, self._shortest * _RISE)
        if self._levels is None:
            self._extras[len(self._shares) :] = size * np.array(_EXTRAS)
        sizes = size + self._extras
        seen = np.maximum(value - self._fixed, _LEAST_SHARE * value)
        seen /= sizes
        np.log(seen, out=seen)
        if self._levels is None:
            self._levels, self._usual = seen, math.log(size)
            return
        if in_queue:
            self._levels += self._slopes
        varied = abs(change := math.log(size + self.extra) - self._usual)
        self._usual += _USUAL_GAIN * change
        if varied > _ALIKE:
            self.varied += 1
            foreseen = np.exp(self._levels)
            foreseen *= sizes
            foreseen += self._fixed
            errors = value / foreseen
            np.log(errors, out=errors)
            errors *= errors
            if in_queue:
                told = min(varied / _DIFFERENT, 1.0) ** 2
                self._losses *= 1 - (1 - _FORGET_IN_QUEUE) * told
                self._losses += told * np.minimum(errors, _FARTHEST_IN_QUEUE)
            else:
                self._losses *= _FORGET
                self._losses += np.minimum(errors, _FARTHEST)
        seen -= self._levels
        self._levels += _GAIN * seen
        if in_queue:
            self._slopes += _TREND * seen
        self._believe(in_queue)

    def most(self, item: float, noise: float, in_queue: bool = False) -> float:
        """The most that is there whatever the size, in items of this value, of all that is not ruled out.

        By batches whose value has so much noise, as a share of it.
        """
        losses = self._losses.copy()
        count = len(self._shares)
        losses[self._possible() : count] = math.inf
        if not in_queue:
            losses[count:] = math.inf
        left = losses <= losses.min() + _IN_DOUBT * noise * noise
        return float((self._fixed[left] / item + self._extras[left]).max())

    def _possible(self) -> int:
        """So many guesses are no longer than the shortest batch."""
        return max(bisect_right(self._shares, _SHORTER * self._shortest), 1)

    def _believe(self, in_queue: bool) -> None:
        """The best guess, of those that are possible."""
        best = int(self._losses[: self._possible()].argmin())
        if in_queue:
            count = len(self._shares)
            other = count + int(self._losses[count:].argmin())
            if self._losses[other] < self._losses[best]:
                best = other
            if self._best >= count and self._losses[best] > _BETTER * self._losses[self._best]:
                best = self._best
        self._best = best
        self.fixed, self.extra = float(self._fixed[best]), float(self._extras[best])
