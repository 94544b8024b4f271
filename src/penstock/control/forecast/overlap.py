"""Batches that overlap in a queue: how large those were that left during a batch's stay, and what it took itself."""

from __future__ import annotations

import math
from array import array

from penstock.sample import BatchSample

_RECENT = 32
# A batch that began so much of its own time before another's end did not overlap: clocks are read at both ends.
_MOMENT = 0.05
# How fast it is learned how many intervals between departures a stay is; no interval is shorter than this part of it.
_STAY_GAIN = 0.02
_SHORTEST = 0.02
# How fast it is learned how many usually leave during a stay; so many times more are unusual, until four times as many
# have left.
_USUAL_GAIN, _UNUSUAL, _PATIENCE = 0.03, math.log(1.5), 4


class Overlap:
    """Tells the time of one batch from that of several that were on their way together.

    In a queue of which one stage is the slowest, a batch leaves when those before it have left: its time is that of all
    which left during its stay, so of a batch of their mean size. It says nothing about the one batch. The interval
    between two departures does, but is noisy: times the number of intervals in a stay, it is what the batch would have
    taken among others like it.

    Behind a slow batch others pile up in the stages after the slowest, and then leave faster than it could let them
    through: while far more leave during a stay than usually do, times are too short to tell anything.

    >>> overlap = Overlap()
    >>> for number, size in enumerate((10, 10, 10, 10, 30)):
    ...     began_s, left_s = max(number - 3.0, 0.0), number + 1.0 + 2.0 * (size == 30)
    ...     sample = BatchSample(number, size, size, left_s - began_s, started_s=began_s)
    ...     mean_size = overlap.learn(sample, sample.processing_s)
    >>> overlap.count, mean_size, overlap.own(sample.processing_s)
    (4, 15.0, 12.0)
    """

    def __init__(self) -> None:
        self.count = 1
        """So many batches left during the last one's stay, itself among them."""
        self.sizes = array("d")
        """Of the last batches."""
        self.unusual = False
        """Whether far more than usual left during the last one's stay: what had piled up leaves at once."""
        self._usual = 1.0
        self._unusually = 0
        self._ends_s = array("d")
        self._intervals: float | None = None

    def learn(self, sample: BatchSample, took: float) -> float:
        """One more batch; the mean size of those that left during its stay, its own where none overlap."""
        began_s = math.inf if sample.started_s is None else sample.started_s
        total, count = sample.size, 1
        while count <= len(self._ends_s) and self._ends_s[-count] > began_s + _MOMENT * sample.processing_s:
            total += self.sizes[-count]
            count += 1
        # An end that is not known is later than nothing, and nothing can be counted from it.
        self._ends_s.append(math.nan if sample.started_s is None else sample.started_s + sample.processing_s)
        self.sizes.append(sample.size)
        if len(self._ends_s) > count > 1:
            between_s = self._ends_s[-1] - self._ends_s[-1 - count]
            if between_s > 0:
                seen = count * took / between_s
                before = seen if self._intervals is None else self._intervals
                self._intervals = before + _STAY_GAIN * (seen - before)
        self.count = count
        self._compare_with_usual(count)
        del self._ends_s[:-_RECENT], self.sizes[:-_RECENT]
        return total / count

    @property
    def overlaps(self) -> bool:
        """Whether the last batch overlapped with others."""
        return self.count > 1

    def own(self, took: float) -> float:
        """What the last batch would have taken among others like it."""
        if not self.overlaps or self._intervals is None:
            return took
        shortest_s = _SHORTEST * took / self.count
        return self._intervals * max(shortest_s, self._ends_s[-1] - self._ends_s[-2])

    def _compare_with_usual(self, count: int) -> None:
        off = math.log(count / self._usual)
        self.unusual = off > _UNUSUAL and count - self._usual > 1
        self._usual *= math.exp(_USUAL_GAIN * min(max(off, -_UNUSUAL), _UNUSUAL))
        self._unusually = self._unusually + 1 if self.unusual else 0
        if self._unusually > _PATIENCE * self._usual:
            self._usual, self._unusually, self.unusual = float(count), 0, False
