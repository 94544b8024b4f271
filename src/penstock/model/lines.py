"""How heavy items are and how that moves from item to item: straight lines through the last batches."""

from __future__ import annotations

import math
from array import array
from operator import mul

# A line for each of these memories, in batches.
_MEMORIES = (2.0, 4.0, 8.0, 16.0, 32.0)
# Lines are judged by where each was so many batches ago, over the last few; how much more the better ones count.
_AHEAD, _LOSS_GAIN, _SHARPNESS = 3, 0.2, 3.0
_FIRST_LOSS, _LEAST_LOSS, _FARTHEST = 0.01, 1e-6, 0.25
# After a change slopes are believed in part: the fifth of one after two batches, the half after so many.
_NO_SLOPE = 4.0
# Beyond this, as a logarithm, a batch is odd: the second in a row is another load.
_ODD = 0.8
# So many levels that have ended are remembered; nearer ones than this are one.
_KNOWN_LEVELS, _SAME = 4, 0.5
# No forecast is farther from what was seen last.
_REACH = 1.0
# Of a line: batches, places, squares of them, values, and products of places and values, all as sums that fade.
_NO_SUMS = (0.0,) * 5


class Lines:
    """Follows the logarithm of an item's time over the place of items, by lines of several memories.

    Each line is a least-squares fit in which a batch counts 1 - 1 / memory times as much as the next one. The forecast
    is their mean, weighed by how well each has lately foreseen what came three batches later: long ones count where the
    load moves steadily, short ones where it turns. One odd batch is left out, as it may be a stall; two in a row begin
    anew, at a level that is known from before if there is one near.

    >>> lines = Lines()
    >>> for batch in range(40):
    ...     _ = lines.learn(100.0, math.log(0.001) + 0.02 * batch)
    >>> round(math.log(lines.item(500.0) / lines.item(0.0)), 2)
    0.1
    """

    def __init__(self) -> None:
        self.started = False
        """Whether anything was learned."""
        self.returned = False
        """Whether the load is at a level that was known before it came."""
        self.since = 0
        """So many batches were learned since the last change."""
        self._sums = [array("d", _NO_SUMS) for _ in _MEMORIES]
        self._losses = array("d", [_FIRST_LOSS] * len(_MEMORIES))
        self._values = array("d", bytes(8 * len(_MEMORIES)))
        self._slopes = array("d", bytes(8 * len(_MEMORIES)))
        # The mean of all lines, which is a line.
        self._value = self._slope = 0.0
        # Of each of the last batches: where it was, and the values and slopes of the lines there.
        self._past = array("d")
        # Where the last batch ends, and where the last one that was learned has its middle.
        self._end = self._middle = 0.0
        self._last = 0.0
        self._odd = False
        self._known = array("d")

    @property
    def noise(self) -> float:
        """How far off the best line was of late, as a share."""
        return math.sqrt(min(self._losses))

    def skip(self, size: float) -> None:
        """A batch of which nothing is known but its size."""
        self._end += size

    def learn(self, size: float, seen: float) -> bool:
        """One more batch, by the logarithm of an item's time; whether it is believed."""
        middle = self._end + size / 2
        self._end += size
        odd = self.started and abs(seen - self._last) > _ODD
        if odd and not self._odd:
            self._odd = True
            return False
        self._odd = False
        if odd:
            seen = self._begin_anew(seen)
        else:
            self._judge(middle, seen)
        self._follow(middle, seen)
        self._last = (self._last + seen) / 2 if self.started and not odd else seen
        self.started = True
        return True

    def learn_again(self, sizes: array[float], seen: list[float]) -> None:
        """Forget the last batches, and learn them as they look now."""
        # A batch that is odd among them changes no level.
        self._reset()
        self.started = self._odd = False
        known, returned = self._known, self.returned
        self._end -= sum(sizes)
        for size, each in zip(sizes, seen, strict=True):
            self.learn(size, each)
        self._known, self.returned = known, returned

    def item(self, ahead: float) -> float:
        """The time of an item that is so many items after the last one of all batches learned or skipped."""
        seen = self._value + self._slope * (self._end + ahead - self._middle)
        return math.exp(min(max(seen, self._last - _REACH), self._last + _REACH))

    def _begin_anew(self, seen: float) -> float:
        """Remember the level that has ended; the known level that this one is, or else as it was seen."""
        count, _, _, values, _ = self._sums[-1]
        ended = values / count
        self._known = array("d", [ended, *(each for each in self._known if abs(each - ended) > _SAME)])[:_KNOWN_LEVELS]
        self._reset()
        # Of a batch that is small beside what it has more than its items, the item tells little: the level tells more.
        nearest = min(self._known, key=lambda each: abs(each - seen))
        self.returned = abs(nearest - seen) < _SAME
        return nearest if self.returned else seen

    def _reset(self) -> None:
        for sums in self._sums:
            sums[:] = array("d", _NO_SUMS)
        self._losses = array("d", [_FIRST_LOSS] * len(_MEMORIES))
        self.since = 0
        del self._past[:]

    def _judge(self, middle: float, seen: float) -> None:
        count = len(_MEMORIES)
        each = 1 + 2 * count
        if len(self._past) < _AHEAD * each:
            return
        place = self._past[0]
        for number, (loss, value, slope) in enumerate(
            zip(self._losses, self._past[1 : 1 + count], self._past[1 + count : each], strict=True)
        ):
            off = seen - value - slope * (middle - place)
            self._losses[number] = max(loss + _LOSS_GAIN * (min(off * off, _FARTHEST) - loss), _LEAST_LOSS)
        del self._past[:each]

    def _follow(self, middle: float, seen: float) -> None:
        self.since += 1
        doubt = 1 + (_NO_SLOPE / self.since) ** 2
        # Places count from this batch on.
        moved = middle - self._middle
        for number, (memory, sums) in enumerate(zip(_MEMORIES, self._sums, strict=True)):
            keep = 1 - 1 / memory
            count, places, squares, values, both = sums
            sums[1] = keep * (places - moved * count)
            sums[2] = keep * (squares - moved * (2 * places - moved * count))
            sums[3] = keep * values + seen
            sums[4] = keep * (both - moved * values)
            sums[0] = count = keep * count + 1
            place, value = sums[1] / count, sums[3] / count
            spread = sums[2] / count - place * place
            slope = (sums[4] / count - place * value) / (spread * doubt) if spread > 0 else 0.0
            self._slopes[number], self._values[number] = slope, value - slope * place
        weights = [1 / loss**_SHARPNESS for loss in self._losses]
        total = sum(weights)
        self._value = sum(map(mul, weights, self._values)) / total
        self._slope = sum(map(mul, weights, self._slopes)) / total
        self._middle = middle
        self._past.append(middle)
        self._past.extend(self._values)
        self._past.extend(self._slopes)
