"""How many items a batch may have for hardly any time, measured where nothing can be modelled."""

from __future__ import annotations

import math

# So many batches tell what is usual. After a trial so many are let be, then twice as many, and so on.
_ROUND, _AGAIN, _MOST_PATIENCE = 8, 40, 640
_GAIN = 0.1
_FIRST_NOISE = 0.1
# Larger batches are tried in these steps, until one takes surely longer: by this factor, and by so many deviations.
_STEP = 4.0
_LONGER, _SURELY = math.log(1.5), 2.0
# If that one takes half as long again, so many times fewer items take hardly longer than one.
_BACK = 16.0
# A size that no batch reaches, since there is not as much or a bound is below it, is given up after so many; what they
# had was too much if they took longer than usual by this.
_HELD, _RATHER_LONGER = 24, math.log(1.1)
# Batches that take so many times the usual ones, in a row, are another load's.
_OTHER, _IN_A_ROW = math.log(2.0), 2
_ALIKE = 1.25


class Floor:
    """The size below which batches are hardly faster, found by trying larger ones.

    Batches of one or two items tell a fixed time and the time of an item hardly apart: who takes the one for the other
    has small batches for ever. And where the fixed time is beyond the objective, small batches do not help. So once in
    a while, each batch has four times the items of the last, until one takes half as long again as was usual:

        size = items of that one / 16

    Without noise, the time of such a batch is within 3% to 12% of that of the smallest; noise ends a trial sooner or
    later.

    >>> floor = Floor(size=1.0)
    >>> for _ in range(40):
    ...     known = floor.learn(floor.size, 1.5 + 0.001 * floor.size)
    >>> known, floor.size
    (True, 64.0)
    """

    def __init__(self, size: float) -> None:
        self.size = self._settled = self._smallest = max(size, 1.0)
        # Of batches up to the settled size: the logarithm of their time.
        self._usual = self._variance = 0.0
        self._seen = self._odd = 0
        self.trying = False
        """Whether the size is a trial."""
        # Of a trial that nobody reaches.
        self._held, self._held_size, self._held_time = 0, 0.0, 0.0
        self._rest, self._patience = _ROUND, _AGAIN

    def learn(self, size: float, took: float) -> bool:
        """One more batch; whether it is still the load that the size is for."""
        time = math.log(took)
        if self.trying and size > self.size / _ALIKE:
            self._try(time)
            return True
        if size > self._settled * _ALIKE:
            if self.trying:
                self._hold(size, time)
            return True
        if not self._seen:
            self._usual, self._variance = time, _FIRST_NOISE**2
        self._seen += 1
        self._rest -= 1
        off = time - self._usual
        self._odd = self._odd + 1 if off > max(_OTHER, _SURELY * math.sqrt(self._variance)) else 0
        gain = max(_GAIN, 1 / self._seen)
        self._usual += gain * off
        self._variance += _GAIN * (min(off * off, _OTHER**2) - self._variance)
        if self._rest <= 0 and not self.trying:
            self.trying = True
            self.size *= _STEP
        return self._odd < _IN_A_ROW

    def _try(self, time: float) -> None:
        self._held, self._held_size = 0, 0.0
        if time - self._usual < max(_LONGER, _SURELY * math.sqrt(self._variance)):
            self.size *= _STEP
        else:
            self._settle(self.size / _BACK)

    def _hold(self, size: float, time: float) -> None:
        """A batch that is smaller than what is tried: after some of them, that is all that can be had."""
        self._held += 1
        self._held_size = max(size, self._held_size)
        self._held_time = time if self._held == 1 else self._held_time + _GAIN * (time - self._held_time)
        if self._held >= _HELD:
            longer = self._held_time - self._usual > _RATHER_LONGER
            self._settle(self._held_size / (_BACK if longer else 1.0))

    def _settle(self, size: float) -> None:
        self.size = self._settled = max(size, self._smallest)
        self.trying = False
        self._held, self._held_size = 0, 0.0
        self._rest, self._patience = self._patience, min(2 * self._patience, _MOST_PATIENCE)
