"""The fixed time of a batch, told apart from the time of its items by what would have been predicted best."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from math import exp, inf, log

# Guesses of the fixed time, in targets; and of the items that would take as long, in sizes of the first batch.
_SHARES = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.37, 0.45, 0.55, 0.67, 0.82, 1.0, 1.5, 2.2, 3.3)
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

        log each follows log((value - g) / n) with gain 0.6
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

    def __init__(self, target: float, in_queue: bool = False) -> None:
        self.fixed = 0.0
        """The part of a value that does not depend on the size."""
        self.extra = 0.0
        """So many items more would take as long as what a batch has beside its items; only in a queue."""
        self.varied = 0
        """So many batches differed enough in size to tell guesses apart."""
        self.in_queue = in_queue
        # Of each guess: the fixed time or the extra items, what it has lost, what an item takes if it is right, and
        # how that moves. Guesses of a fixed time come first; those beyond the shortest batch are not followed.
        self._fixed = array("d", (target * share for share in _SHARES))
        self._extras, self._losses, self._each, self._slopes = (array("d", [0.0]) * len(_SHARES) for _ in range(4))
        self._possible = len(_SHARES)
        self._shortest = inf
        self._usual = 0.0
        self._best = 0
        self._started = False

    def learn(self, size: float, value: float) -> None:
        """One more batch; in a queue, by its time in the slowest stage."""
        self._shortest = min(value, self._shortest * _RISE)
        if not self._started:
            self._start(size, value)
            self._rule_out(size, value)
            return
        varied = abs(change := log(size + self.extra) - self._usual)
        self._usual += _USUAL_GAIN * change
        told, keep, farthest, in_queue = 0.0, 1.0, 0.0, self.in_queue
        if varied > _ALIKE:
            self.varied += 1
            told, keep, farthest = 1.0, _FORGET, _FARTHEST
            if in_queue:
                told = min(varied / _DIFFERENT, 1.0) ** 2
                keep, farthest = 1 - (1 - _FORGET_IN_QUEUE) * told, _FARTHEST_IN_QUEUE
        guesses, each, losses, slopes = self._fixed, self._each, self._losses, self._slopes
        least, items = _LEAST_SHARE * value, size
        for number in self._followed:
            fixed, item = guesses[number], each[number]
            if in_queue:
                items = size + self._extras[number]
                item *= exp(slopes[number])
            foreseen = item * items
            if told:
                error = log(value / (fixed + foreseen))
                error *= error
                losses[number] = keep * losses[number] + told * (error if error < farthest else farthest)
            work = value - fixed
            off = (work if work > least else least) / foreseen
            each[number] = item * off**_GAIN
            if in_queue:
                slopes[number] += _TREND * log(off)
        self._rule_out(size, value)
        self._believe()

    def most(self, item: float, noise: float) -> float:
        """The most that is there whatever the size, in items of this value, of all that is not ruled out.

        By batches whose value has so much noise, as a share of it.
        """
        losses, followed = self._losses, self._followed
        limit = min(losses[number] for number in followed) + _IN_DOUBT * noise * noise
        left = [number for number in followed if losses[number] <= limit]
        return max(self._fixed[number] / item + self._extras[number] for number in left)

    @property
    def _followed(self) -> Sequence[int]:
        """The numbers of the guesses that are no longer than the shortest batch."""
        if not self.in_queue:
            return range(self._possible)
        return [*range(self._possible), *range(len(_SHARES), len(self._fixed))]

    def _start(self, size: float, value: float) -> None:
        """With the first batch every guess is right."""
        self._started = True
        self._usual = log(size)
        if self.in_queue:
            self._extras.extend(size * extra for extra in _EXTRAS)
            self._losses.extend([_HANDICAP] * len(_EXTRAS))
            for other in (self._fixed, self._each, self._slopes):
                other.extend([0.0] * len(_EXTRAS))
        for number, (fixed, extra) in enumerate(zip(self._fixed, self._extras, strict=True)):
            self._each[number] = max(value - fixed, _LEAST_SHARE * value) / (size + extra)

    def _rule_out(self, size: float, value: float) -> None:
        """Follow no guess that is longer than the shortest batch; one that no longer is, from here on."""
        possible = max(bisect_right(self._fixed, _SHORTER * self._shortest, 0, len(_SHARES)), 1)
        for number in range(self._possible, possible):
            self._losses[number] = max(self._losses[number], self._losses[number - 1])
            self._each[number] = max(value - self._fixed[number], _LEAST_SHARE * value) / size
            self._slopes[number] = 0.0
        self._possible = possible

    def _believe(self) -> None:
        """The best guess, of those that are followed."""
        losses = self._losses
        best = min(self._followed, key=losses.__getitem__)
        # In a queue the extra items of before are not given up for a guess that is hardly better.
        if self._best < len(_SHARES) or losses[best] <= _BETTER * losses[self._best]:
            self._best = best
        self.fixed, self.extra = self._fixed[self._best], self._extras[self._best]
