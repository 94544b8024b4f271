"""How heavy items are now: several models of how it moves, weighed by how well each has predicted of late."""

from __future__ import annotations

from array import array
from enum import StrEnum
from math import exp, inf, log, sqrt
from typing import NamedTuple

# Beyond so many standard deviations a batch is a surprise, not noise; within so many a known level explains it.
_SURPRISE = 3.5
_ALIKE = 2.0
# A surprise is in doubt for so many batches: did it stay, or has it passed?
_DOUBT = 3
# What is off in so many batches after a change is more than noise.
_NEW = 2
_FORGET = 0.9
_FIRST_NOISE, _LEAST_VARIANCE, _MOST_VARIANCE = 0.07, 0.005**2, 0.3**2
# Quickly at first, then slowly.
_NOISE_GAIN = 0.08
# Of the square of a normal error, in variances.
_MEDIAN = 0.455
_LEAST_SHARE = 0.03
_KNOWN_LEVELS = 4
# Two levels nearer than this, as logarithms, are one.
_SAME = 0.25
_LEAST_DOUBT, _MOST_DOUBT = 0.003, 1.0
_STEADIER = 80.0
# Of a known level that comes back: it may have moved since, and noise at a change is larger.
_MOVED, _LOOSE = 0.0064, 1.3
# The fixed time is known to about this share of it, which matters where it is most of a batch.
_FIXED_DOUBT = 0.15
_LEAST_WEIGHT = 1e-3
# A trend doubles the load in a batch at most. Sizes beyond all use need no number of their own.
_STEEPEST, _LARGEST = log(2.0), 40.0
# No forecast goes farther than this, however late samples come. No item is so light or heavy as the farthest logarithm.
_FAR_AHEAD, _FARTHEST = log(4.0), 100.0


class News(StrEnum):
    """What a batch was to the level."""

    EXPECTED = ""
    CHANGED = "the load has changed"
    RETURNED = "the load is back at a level known from before"


class Dynamics(NamedTuple):
    """How the load may move: how far in a batch, how fast a trend is believed, how long noise lasts."""

    moves: float
    trend: float
    memory: float


DYNAMICS = (
    Dynamics(0.02, 0.0, 0.5),
    Dynamics(0.1, 0.0, 0.5),
    Dynamics(0.25, 0.0, 0.0),
    Dynamics(0.08, 0.1, 0.3),
    Dynamics(0.02, 0.02, 0.0),
)


_STEADY_DYNAMICS = tuple(each for each in DYNAMICS if not each.trend)
# The numbers of so many models, by which of them comes first.
_BEST_FIRST = {
    count: tuple((best, *(number for number in range(count) if number != best)) for best in range(count))
    for count in (len(DYNAMICS), len(_STEADY_DYNAMICS))
}


class Level:
    """Follows the time of an item, as a logarithm, by a Kalman filter for each model of how it moves.

    A batch of n takes (fixed + n item) times noise, so what it tells about the item depends on how much of its time
    is the item's: a small batch tells little, and the filter knows. The forecast is the mean of the models, weighed by
    the likelihood of the last ten batches or so.

    A batch that no noise explains starts the level anew, and the old one is kept in mind, up to four of them. While in
    doubt, and at the next surprise, one that explains a batch better takes over at once: a spike that has passed costs
    a batch, not a climb, and a load that jumps between two levels is followed in one.

    >>> level = Level()
    >>> for size, value in ((1000, 1.2), (800, 1.0), (800, 1.02)):
    ...     news = level.learn(size, value, fixed=0.2)
    >>> round(level.size_for(1.0, fixed=0.2), -1)
    780.0
    >>> level.learn(790, 6.0, fixed=0.2)
    <News.CHANGED: 'the load has changed'>
    >>> level.learn(100, 0.31, fixed=0.2), round(level.size_for(1.0, fixed=0.2), -1)
    (<News.RETURNED: 'the load is back at a level known from before'>, 770.0)
    """

    def __init__(self, trends: bool = True, recall: bool = True, changes: bool = True) -> None:
        self.trends = trends
        self.recall = recall
        self.changes = changes
        count = len(self.dynamics)
        # Arrays, not lists: the loop copies a controller with every batch.
        self._items, self._doubts, self._slopes, self._lasting, self._scores = (
            array("d", [0.0]) * count for _ in range(5)
        )
        self._best = 0
        self._variances = array("d", [_FIRST_NOISE**2]) * count
        self._known: list[tuple[float, float]] = []
        self._since = _DOUBT + 1
        self._started = False
        self._noise_gain = 1.0
        self.error = 0.0
        """The logarithm of the last value over its forecast."""

    @property
    def dynamics(self) -> tuple[Dynamics, ...]:
        """Those that are taken; not the level's own, since the loop copies a controller with every batch."""
        return DYNAMICS if self.trends else _STEADY_DYNAMICS

    @property
    def noise(self) -> float:
        """The standard deviation of a batch around its forecast, as a share of the value."""
        return sqrt(self._variances[self._best])

    def spread(self, share: float) -> float:
        """The standard deviation of a forecast, as a share of the value, of which a `share` is the items'.

        By noise, by what is not known of the level, and by how far it moves until then.
        """
        moves = self.dynamics[self._best].moves
        return sqrt(self._variances[self._best] + share * share * (self._doubts[self._best] + moves * moves))

    @property
    def doubt(self) -> float:
        """The standard deviation of what is known of the level, as a share of it."""
        return sqrt(self._doubts[self._best])

    @property
    def item(self) -> float:
        """The value of one item, by the model that is the best of late."""
        return exp(self._items[self._best])

    @property
    def slope(self) -> float:
        """By how much the logarithm of `item` moves a batch."""
        return self._slopes[self._best]

    def start_over(self) -> None:
        """Take the next batch for the first one, with all that is known of other levels."""
        self._started = False
        self._noise_gain = 1.0
        self._variances = array("d", [_FIRST_NOISE**2]) * len(self.dynamics)
        self._scores = array("d", [0.0]) * len(self.dynamics)
        self._best = 0

    def learn(self, size: float, value: float, fixed: float) -> News:
        """One more batch; what it was."""
        seen = log(value)
        if not self._started:
            self._started = True
            self.error = 0.0
            self._restart(size, value, fixed)
            return News.EXPECTED
        self._since += 1
        surprise, known = self._follow(size, seen, fixed)
        if known is not None:
            self._recall(known, size, seen, fixed, surprise)
            return News.RETURNED
        if surprise:
            self._remember()
            self._since = 0
            self._restart(size, value, fixed)
            return News.CHANGED
        return News.EXPECTED

    def size_for(self, goal: float, fixed: float, batches: int = 1) -> float:
        """The size whose value would be the goal, so many batches after the last one that was learned."""
        top, least = self._scores[self._best], _LEAST_SHARE * goal
        total = weights = 0.0
        states = zip(self.dynamics, self._scores, self._items, self._slopes, self._lasting, strict=True)
        for (_, trend, memory), score, item, slope, noise in states:
            weight = exp(score - top)
            if weight < _LEAST_WEIGHT:
                continue
            work = (goal * exp(-(memory**batches) * noise) if memory else goal) - fixed
            if trend:
                ahead = batches * slope
                item += -_FAR_AHEAD if ahead < -_FAR_AHEAD else _FAR_AHEAD if ahead > _FAR_AHEAD else ahead
            total += weight * (log(work if work > least else least) - item)
            weights += weight
        return exp(min(total / weights, _LARGEST))

    def _follow(self, size: float, seen: float, fixed: float) -> tuple[bool, int | None]:
        """Move every model by its error, unless the best one is surprised or a known level explains the batch better.

        Whether it is a surprise, and which known level explains it. Views learn their noise, too: half of all errors
        are beyond the median; how far, the few that are surprises shall not matter. The first batches at a new level
        tell nothing of it, unless no level explains the next one either: then it is noise that surprises.
        """
        dynamics, items, doubts, slopes = self.dynamics, self._items, self._doubts, self._slopes
        scores, lasting, variances = self._scores, self._lasting, self._variances
        best, surprise, known, moving = self._best, False, None, True
        more = self._next_noise_factor() if self._since > _NEW else 1.0
        # The best one first: whether the others move depends on it.
        for number in _BEST_FIRST[len(dynamics)][best]:
            moves, trend, memory = dynamics[number]
            item, slope, doubt, noise = items[number], slopes[number], doubts[number], variances[number]
            work = size * exp(item + slope)
            share = work / (fixed + work)
            error = seen - log(fixed + work) - memory * lasting[number]
            # Where the last noise is felt again, so is what was wrong in it about the level.
            variance = share * share * ((1 - memory) * (1 - memory) * doubt + moves * moves) + noise
            off = error * error / variance
            if number == best:
                self.error = error
                surprise = self.changes and off > _SURPRISE**2
                if surprise or self._since <= _DOUBT:
                    likely = -inf if surprise else -0.5 * (off + log(variance))
                    known = self._explaining(size, seen, fixed, likely)
                    moving = not surprise and known is None
                    if surprise and known is None and self._since <= _NEW:
                        more = self._next_noise_factor()
            noise = noise * more if off > _MEDIAN else noise / more
            variances[number] = _LEAST_VARIANCE if noise < _LEAST_VARIANCE else min(noise, _MOST_VARIANCE)
            if not moving:
                continue
            scores[number] = _FORGET * scores[number] - 0.5 * ((off if off < 25.0 else 25.0) + log(variance))
            told = ((1 - memory) * doubt + moves * moves) * share
            gain = told / variance
            if trend:
                if share < 0.5:
                    # A batch that is mostly fixed time tells little: no trend lives on such batches.
                    slope *= 2 * share
                item += slope
                slope += trend * gain * error
                slopes[number] = -_STEEPEST if slope < -_STEEPEST else _STEEPEST if slope > _STEEPEST else slope
            item += gain * error
            items[number] = item = -_FARTHEST if item < -_FARTHEST else _FARTHEST if item > _FARTHEST else item
            doubt += moves * moves - gain * told
            doubts[number] = doubt if doubt < _MOST_DOUBT else _MOST_DOUBT
            if memory:
                lasting[number] = seen - log(fixed + size * exp(item))
        if moving:
            self._best = scores.index(max(scores))
        return surprise, known

    def _next_noise_factor(self) -> float:
        """By which variances grow or shrink with this batch: its logarithm is 1, 1/2, 1/3 and so on."""
        gain, self._noise_gain = self._noise_gain, max(self._noise_gain / (1 + self._noise_gain), _NOISE_GAIN)
        return exp(gain)

    def _restart(self, size: float, value: float, fixed: float) -> None:
        work = max(value - fixed, _LEAST_SHARE * value)
        for number in range(len(self.dynamics)):
            self._items[number] = log(work / size)
            self._doubts[number] = (self._variances[number] + (_FIXED_DOUBT * fixed / value) ** 2) * (value / work) ** 2
            self._slopes[number] = self._lasting[number] = 0.0

    def _explaining(self, size: float, seen: float, fixed: float, likely: float) -> int | None:
        """The known level under which the batch is likelier than now, if there is one."""
        found = None
        for number, (item, doubt) in enumerate(self._known):
            work = size * exp(item)
            share = work / (fixed + work)
            error = seen - log(fixed + work)
            variance = share * share * (doubt + _MOVED) + self._loose_variance(share)
            likelihood = -0.5 * (error * error / variance + log(variance))
            if error * error < _ALIKE**2 * variance and likelihood > likely:
                found, likely = number, likelihood
        return found

    def _recall(self, number: int, size: float, seen: float, fixed: float, surprise: bool) -> None:
        item, doubt = self._known.pop(number)
        if surprise:
            self._remember()
            self._since = 0
        self._known.insert(0, (item, doubt))
        work = size * exp(item)
        share, error = work / (fixed + work), seen - log(fixed + work)
        for at, model in enumerate(self.dynamics):
            wide = doubt + model.moves**2
            gain = wide * share / (share * share * wide + self._loose_variance(share))
            self._items[at] = item + gain * error
            self._doubts[at] = (1 - gain * share) * wide
            self._slopes[at] = 0.0
            self._lasting[at] = seen - log(fixed + size * exp(self._items[at]))

    def _loose_variance(self, share: float) -> float:
        """Of a batch at a change; `share` of its time is its items', the rest is fixed."""
        return _LOOSE * self._variances[self._best] + (_FIXED_DOUBT * (1 - share)) ** 2

    def _remember(self) -> None:
        """Keep the present level in mind, unless it is in doubt itself."""
        if self._since <= _DOUBT or not self.recall:
            return
        # What is to be known for long is best told by a model that moves little.
        merits = [score - _STEADIER * each.moves for score, each in zip(self._scores, self.dynamics, strict=True)]
        steady = max(range(len(merits)), key=merits.__getitem__)
        item, doubt = self._items[steady], max(self._doubts[steady], _LEAST_DOUBT)
        others = []
        for known in self._known:
            if abs(known[0] - item) >= _SAME:
                others.append(known)
            else:
                weight = doubt / (doubt + known[1])
                item, doubt = item + weight * (known[0] - item), doubt * (1 - weight)
        self._known = [(item, doubt), *others][:_KNOWN_LEVELS]
