"""Sizes of batches that are on their way together: each is made for what is ahead of it."""

from __future__ import annotations

import math
from array import array

from penstock.model.echo import Echo
from penstock.model.lines import Lines
from penstock.model.overhead import Overhead
from penstock.model.queue import Queue, Seen
from penstock.size import SMALLEST, clamp

# A batch has so much less or more work than one of a row that all take the goal. In the first batches after the load
# has returned to a known level it may have more: those ahead of it were made for another.
_LESS, _MORE = 0.7, 1.3
_MUCH_MORE, _AT_ONCE = 4.0, 3
# A batch is at most so many times the largest of the last ones that are through; at a known level, than any was.
_GROWTH, _RECENT = 4.0, 32
# Some of the goal is always for items, also where the fixed part is beyond it.
_LEAST_SHARE = 0.03
# A size depends on the items that it reaches to: so many rounds.
_ROUNDS = 2
# A cycle that says something else than what was just seen, by more than this as a logarithm, is not believed.
_APART = 0.4
_REMEMBERED = 64


class Pipeline:
    """Learns what batches take in a pipeline, and sizes each for the moment in which it is admitted.

    With all that is ahead of it in the slowest stage, and the stages behind that (`penstock.model.queue`),
    a batch of work w that is admitted at t leaves at

        t + sum of the work ahead + (1 + tail) w

    so w follows from the goal: whatever went wrong with those before, this one is made right. What items take is
    followed over their place (`penstock.model.lines`), or foreseen by a slow cycle
    (`penstock.model.echo`); what is there whatever the size as elsewhere
    (`penstock.model.overhead`).
    """

    def __init__(self, target: float, cycles: bool = True) -> None:
        self.cycles = cycles
        self.overhead = Overhead(target, in_queue=True)
        self.lines = Lines()
        self._echo = Echo()
        self._queue = Queue()
        # What an item would take without a cycle, as it was foreseen for the last batches.
        self._foreseen = array("d")
        # Of the last batches that are through and clear; and the largest of all that took no longer than the target.
        self._sizes, self._own_s = array("d"), array("d")
        self._target, self._largest = target, 0.0

    @property
    def depth(self) -> int:
        """How many batches are mostly on their way when one leaves; 0 where none overlap."""
        return self._queue.depth

    @property
    def started(self) -> bool:
        """Whether enough is known to size batches."""
        return self.lines.started

    @property
    def period(self) -> float | None:
        """Of the cycle that is foreseen, in items; None where it is not."""
        return self._echo.period if self._believed else None

    def left(self, left_s: float, size: float, admitted_s: float) -> None:
        """The batch that was admitted then has left."""
        self._learn(self._queue.left(left_s, size, admitted_s))

    def lose(self) -> None:
        """The oldest batch has left, nobody knows when."""
        self._queue.lose()

    def admit(self, at_s: float, idle: bool, goal: float, at_most: float = math.inf) -> float | None:
        """The size of a batch that is admitted now, so that it takes the goal; None while too little is known.

        A place that was `idle` until there were items tells nothing about those before.
        """
        if not idle:
            self._learn(self._queue.admit(at_s, self.overhead.extra))
        return min(self._size_for(at_s, goal), at_most) if self.started and self.depth else None

    def add(self, at_s: float, size: float) -> None:
        """A batch of this size is admitted."""
        self._queue.add(at_s, size)

    def correct(self, size: float) -> None:
        """The last batch was admitted with another size than was answered."""
        self._queue.correct(size)

    def _size_for(self, at_s: float, goal: float) -> float:
        fixed, extra, queue = self.overhead.fixed, self.overhead.extra, self._queue
        believed = self._believed
        ahead, place = (at_s if queue.through_s is None else queue.through_s) - at_s, 0.0
        for size in queue.ahead:
            ahead += fixed + (size + extra) * self._item(believed, place, size)
            place += size
        own = (goal - max(ahead, 0.0)) / (1 + queue.tail)
        in_a_row = goal / (queue.depth + queue.tail)
        work = max(in_a_row - fixed, _LEAST_SHARE * in_a_row)
        more = _MUCH_MORE if self.lines.returned and self.lines.since <= _AT_ONCE else _MORE
        level = self.lines.item(place)
        size = work / level
        for _ in range(_ROUNDS):
            item = self._item(believed, place, size)
            size = max(clamp(own - fixed, _LESS * work, more * work) / item - extra, SMALLEST)
        size = min(size, max(_GROWTH * max(self._sizes), _MUCH_MORE * self._largest if self.lines.returned else 0.0))
        self._foreseen.append(level)
        del self._foreseen[:-_REMEMBERED]
        self._echo.foresee(place, size)
        return size

    @property
    def _believed(self) -> bool:
        """Whether there is a slow cycle that foresees well, and has foreseen what was just seen."""
        if not (self.cycles and self._echo.trusted and self._sizes):
            return False
        last = self._sizes[-1]
        return abs(math.log(self._echo.item(-last, last) / self.lines.item(-last / 2))) < _APART

    def _item(self, by_cycle: bool, place: float, size: float) -> float:
        """What one of so many items takes, of those that come after so many others."""
        return self._echo.item(place, size) if by_cycle else self.lines.item(place + size / 2)

    def _learn(self, seen: Seen) -> None:
        for size, own_s in seen:
            if own_s is None:
                self.lines.skip(size)
                # The place counts, whatever was there.
                if self.lines.started:
                    extra = self.overhead.extra
                    self._echo.learn(size, self.lines.item(-size / 2) * (size + extra), extra, 0.0, None)
            else:
                self._learn_clear(size, own_s)

    def _learn_clear(self, size: float, own_s: float) -> None:
        before = self.overhead.fixed, self.overhead.extra
        self.overhead.learn(size, own_s)
        extra = self.overhead.extra
        self._sizes.append(size)
        self._own_s.append(own_s)
        del self._sizes[:-_RECENT], self._own_s[:-_RECENT]
        if own_s < self._target:
            self._largest = max(size, self._largest)
        work = self._work(own_s)
        believed = True
        if before == (self.overhead.fixed, extra):
            believed = self.lines.learn(size, math.log(work / (size + extra)))
        else:
            self.lines.skip(size)
            seen = zip(self._sizes, self._own_s, strict=True)
            self.lines.learn_again(self._sizes, [math.log(self._work(own) / (size + extra)) for size, own in seen])
        if not self.cycles:
            return
        if not believed:
            # A stall does not come back with the cycle.
            work = self.lines.item(-size / 2) * (size + extra)
        lag = len(self._queue.ahead) + 1
        error = math.log(work / (size + extra) / self._foreseen[-lag]) if len(self._foreseen) >= lag else 0.0
        self._echo.learn(size, work, extra, error, lag)

    def _work(self, own_s: float) -> float:
        return max(own_s - self.overhead.fixed, _LEAST_SHARE * own_s)
