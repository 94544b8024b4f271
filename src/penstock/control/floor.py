"""How many items a batch may have for hardly any time, measured where nothing can be modelled."""

from __future__ import annotations

import math

# So many batches tell what is usual; as many are then let be before larger ones are tried again, at most so many.
_ROUND, _AGAIN, _MOST_PATIENCE = 8, 40, 640
_GAIN = 0.1
_FIRST_NOISE = 0.1
# Larger batches are tried in these steps, until one takes surely longer: by this factor, or so many deviations.
_STEP = 4.0
_LONGER, _SURELY = math.log(1.5), 2.0
# If that one takes half as long again, so many times fewer items take hardly longer than one; a quarter of them not at
# all, which is for batches that are in time, or nearly.
_BACK, _WHERE_IN_TIME, _NEARLY = 16.0, 4.0, math.log(1.1)
# Batches that take so many times the usual ones, in a row, are another load's.
_OTHER, _IN_A_ROW = math.log(2.0), 2
_ALIKE = 1.25


class Floor:
    """The size below which batches are hardly faster, found by trying larger ones.

    Batches of one or two items tell a fixed time and the time of an item hardly apart: who takes the one for the other
    has small batches for ever. And where the fixed time is beyond the objective, small batches do not help. So once in
    a while, each batch has four times the items of the last, until one takes half as long again as was usual:

        size = items of that one / 16,   where usual batches are in time: / 64

    The time of such a batch is within 3% to 12% (1% to 3%) of that of the smallest.

    >>> floor = Floor(size=1.0, high=1.1)
    >>> for _ in range(40):
    ...     known = floor.learn(floor.size, 1.5 + 0.001 * floor.size)
    >>> known, floor.size
    (True, 64.0)
    """

    def __init__(self, size: float, high: float) -> None:
        self.size = self._smallest = max(size, 1.0)
        self._high = math.log(high)
        # Of batches of that size or less, as logarithms.
        self._usual = self._variance = 0.0
        self._seen = self._odd = 0
        self._trying = False
        self._rest, self._patience = _ROUND, _AGAIN

    def learn(self, size: float, took: float) -> bool:
        """One more batch; whether it is still the load that the size is for."""
        time = math.log(took)
        if self._trying and size > self.size / _ALIKE:
            self._try(time)
            return True
        if size > self.size * _ALIKE:
            return True
        if not self._seen:
            self._usual, self._variance = time, _FIRST_NOISE**2
        self._seen += 1
        self._rest -= 1
        off = time - self._usual
        self._odd = self._odd + 1 if off > max(_OTHER, _SURELY * self._noise) else 0
        gain = max(_GAIN, 1 / self._seen)
        self._usual += gain * off
        self._variance += _GAIN * (min(off * off, _OTHER**2) - self._variance)
        if self._rest <= 0 and not self._trying:
            self._trying = True
            self.size *= _STEP
        return self._odd < _IN_A_ROW

    @property
    def _noise(self) -> float:
        return math.sqrt(self._variance)

    def _try(self, time: float) -> None:
        if time - self._usual < max(_LONGER, _SURELY * self._noise):
            self.size *= _STEP
            return
        self._trying = False
        back = _BACK * (1.0 if self._usual > self._high + _NEARLY else _WHERE_IN_TIME)
        self.size = max(self.size / back, self._smallest)
        self._rest, self._patience = self._patience, min(2 * self._patience, _MOST_PATIENCE)
