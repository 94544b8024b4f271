"""The fixed time of a batch, told apart from the time of its items by what would have been predicted best."""

from __future__ import annotations

import math
from array import array

# Of the shortest batch seen lately, so many shares are tried as the fixed time: no batch is shorter than it.
_SHARES = (0.0, 0.25, 0.5, 0.7, 0.85, 0.95)
_FORGET = 0.99
# A shortest batch is believed for some thousands of batches.
_RISE = 1.0002
_GAIN = 0.6
_FARTHEST = 0.25
_LEAST_SHARE = 0.05


class Overhead:
    """Learns how much of a batch's time is there whatever its size.

    A loop that holds a latency makes batches small when items are heavy, so size and time hardly vary together, and a
    line through them says nothing. Instead each guess g of the fixed time predicts the next batch from the last ones,

        log((value - g) / n)  followed with gain 0.6
        error = log(value / (g + n each))

    and the guess with the smallest squared errors of late is believed. An error beyond 0.5 counts as 0.5: a load that
    jumps proves no guess wrong.

    >>> overhead = Overhead()
    >>> for size in (100, 400, 800, 200, 900, 300):
    ...     overhead.learn(size, 0.2 + 0.001 * size)
    >>> round(overhead.fixed, 3)
    0.21
    """

    def __init__(self) -> None:
        self._shortest = math.inf
        self._levels = array("d")
        self._losses = array("d", [0.0] * len(_SHARES))
        self._share = 0.0

    @property
    def fixed(self) -> float:
        """The part of a value that does not depend on the size."""
        return self._share * self._shortest if self._share else 0.0

    def learn(self, size: float, value: float) -> None:
        """One more batch."""
        self._shortest = min(value, self._shortest * _RISE)
        guesses = [share * self._shortest for share in _SHARES]
        seen = [math.log(max(value - guess, _LEAST_SHARE * value) / size) for guess in guesses]
        if not self._levels:
            self._levels.extend(seen)
            return
        for number, guess in enumerate(guesses):
            error = math.log(value / (guess + size * math.exp(self._levels[number])))
            self._losses[number] = _FORGET * self._losses[number] + min(error * error, _FARTHEST)
            self._levels[number] += _GAIN * (seen[number] - self._levels[number])
        self._share = _SHARES[min(range(len(_SHARES)), key=self._losses.__getitem__)]
