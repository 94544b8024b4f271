"""Batches that are on their way together: when each was through the slowest stage, and what it took there."""

from __future__ import annotations

import math
from array import array

# How many are on their way is what it mostly was of late.
_FADE, _FORGOTTEN = 0.98, 0.01
# After so many times as many as are on their way at once have left, all places in the queue have been taken.
_FILLED = 2
# How fast it is learned how much of a batch comes after the slowest stage: quickly at first, then in such steps.
_FIRST_TAIL, _FIRST_STEP, _TAIL_STEP = 1.0, 0.5, 0.01
# Before the slowest stage a batch takes this share of its time there, or less.
_BEFORE = 0.2
# So many are on their way at the most.
_MOST = 256

Seen = list[tuple[float, float | None]]
"""Batches that are through the slowest stage: the size of each, and what it took there if that is clear."""


class Queue:
    """Tells what each batch takes in the slowest stage of a pipeline from when others are admitted and leave.

    Where items wait, a batch is admitted as soon as a place is free, which is when another one, `depth` batches before
    it, is through the slowest stage. So the time between two admissions is what that one took there, and is known long
    before it leaves. It leaves when the stages behind are done with it as well, `tail` times as long again.

    An admission right behind a batch of many times the size tells how long that one took in the first stage instead;
    and a batch may leave before that admission, where the first stage was late. Then it is known to be through, and
    not what it took.

    >>> queue = Queue()
    >>> seen = []
    >>> for number in range(12):
    ...     if number >= 3:
    ...         seen += queue.left(left_s=number - 0.5, size=100.0)
    ...     seen += queue.admit(at_s=float(number), extra=0.0)
    ...     queue.add(at_s=float(number), size=100.0)
    >>> queue.depth, seen[-1], list(queue.ahead)
    (2, (100.0, 1.0), [100.0, 100.0])
    """

    def __init__(self) -> None:
        self.depth = 0
        """So many batches after its own, the one is admitted that tells when it was through; 0 where none overlap."""
        self.tail = _FIRST_TAIL
        """How long a batch takes behind the slowest stage, in times of its stay there."""
        self.through_s: float | None = None
        """When the last one was through, if that is known."""
        # Of batches from the oldest that has not left on: size, admission, and the time in the slowest stage if clear.
        self._sizes, self._admitted_s, self._own_s = array("d"), array("d"), array("d")
        self._gone = 0
        # The number of the last that is known to be through, and whether an admission told it.
        self._through, self._clear = -1, False
        self._depths: dict[int, float] = {}
        self._tails = 0

    @property
    def ahead(self) -> array[float]:
        """The sizes of batches that are not known to be through."""
        return self._sizes[max(self._through + 1 - self._gone, 0) :]

    def add(self, at_s: float, size: float) -> None:
        """A batch is admitted."""
        self._sizes.append(size)
        self._admitted_s.append(at_s)
        self._own_s.append(math.nan)
        if len(self._sizes) > _MOST:
            self.lose()

    def correct(self, size: float) -> None:
        """The last batch that was admitted has this size."""
        if self._sizes:
            self._sizes[-1] = size

    def admit(self, at_s: float, extra: float) -> Seen:
        """A batch is about to be admitted, as a place is free: what that tells.

        `extra` is what a batch has beside its items, in items.
        """
        number = self._gone + len(self._sizes) - self.depth
        if not self._filled or number <= self._through or number < self._gone:
            return []
        if (self._sizes[-1] + extra) * _BEFORE > self._sizes[number - self._gone] + extra:
            return []
        return self._pass(number, at_s, clear=True)

    def left(self, left_s: float, size: float, admitted_s: float | None = None) -> Seen:
        """The oldest batch has left, and had this size: what that tells.

        With `admitted_s` it is the one that was admitted then: those before it have left too, and nobody has said so.
        """
        while admitted_s is not None and self._sizes and self._admitted_s[0] < admitted_s:
            self.lose()
        if not self._sizes or (admitted_s is not None and self._admitted_s[0] != admitted_s):
            return []
        self._sizes[0] = size
        self._count(sum(1 for admitted_s in self._admitted_s if admitted_s <= left_s) - 1)
        seen: Seen = []
        if self._through >= self._gone:
            self._learn_tail(left_s)
        elif self._filled:
            own_s = 0.0 if self.through_s is None else max((left_s - self.through_s) / (1 + self.tail), 0.0)
            seen = self._pass(self._gone, left_s - self.tail * own_s, clear=False)
        self.lose()
        return seen

    def lose(self) -> None:
        """The oldest batch has left, nobody knows when."""
        if self._sizes:
            del self._sizes[0], self._admitted_s[0], self._own_s[0]
            self._gone += 1

    @property
    def _filled(self) -> bool:
        return self.depth > 0 and self._gone >= _FILLED * (self.depth + 1)

    def _count(self, on_their_way: int) -> None:
        """Learn how many others are on their way when one leaves."""
        depths = self._depths
        for depth in list(depths):
            depths[depth] *= _FADE
            if depths[depth] < _FORGOTTEN:
                del depths[depth]
        on_their_way = max(on_their_way, 0)
        depths[on_their_way] = depths.get(on_their_way, 0.0) + 1.0
        self.depth = max(depths, key=depths.__getitem__)

    def _pass(self, number: int, through_s: float, clear: bool) -> Seen:
        """All batches up to this one are through; this one since then."""
        first = max(self._through + 1, self._gone)
        seen: Seen = [(self._sizes[each - self._gone], None) for each in range(first, number)]
        own_s = None
        if clear and self._clear and not seen and self.through_s is not None and through_s > self.through_s:
            own_s = self._own_s[number - self._gone] = through_s - self.through_s
        self._through, self.through_s, self._clear = number, through_s, clear
        return [*seen, (self._sizes[number - self._gone], own_s)]

    def _learn_tail(self, left_s: float) -> None:
        """The median of what batches take behind the slowest stage."""
        own_s = self._own_s[0]
        if not own_s > 0 or self.depth >= len(self._sizes):
            return
        behind_s = left_s - self._admitted_s[self.depth]
        if behind_s > 0:
            self._tails += 1
            step = max(_TAIL_STEP, _FIRST_STEP / (self._tails + 1))
            self.tail *= math.exp(step if behind_s > self.tail * own_s else -step)
