"""What calls on one device cost: a line over the work, learned from what ran.

Work is rows summed over windows, Σ(hi - lo). Calls fall into classes of work, one for each power of two. Of each the
last few are kept: their median ignores outliers, and the past is forgotten. With (w, t) the medians of a class, the
line `t = overhead + rate w` minimises the relative errors Σ ((overhead + rate w - t) / t)², neither part below 0. A
prediction is the line, times by how much the calls of the same class missed it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import fmean, median

from penstock.errors import BadInputError

# Calls that are kept of a class.
KEPT = 7
# The shortest time that a clock can be trusted with.
_SHORTEST_S = 1e-7


@dataclass(frozen=True)
class Line:
    """`seconds = overhead_s + row_s * work`.

    >>> Line(overhead_s=1e-3, row_s=1e-6).at(1000)
    0.002
    """

    overhead_s: float
    row_s: float

    def __post_init__(self) -> None:
        if not (self.overhead_s >= 0 and self.row_s >= 0):
            raise BadInputError("line", (self.overhead_s, self.row_s), "a cost below 0", "give seconds of 0 or more")

    def at(self, work: float) -> float:
        """Seconds for so much work."""
        return self.overhead_s + self.row_s * work


def fit(points: list[tuple[float, float]]) -> Line:
    """The line through (work, seconds) with the least relative errors.

    >>> line = fit([(10, 1.1), (100, 2.0), (1000, 11.0)])
    >>> round(line.overhead_s, 9), round(line.row_s, 9)
    (1.0, 0.01)
    """
    weights = [1 / seconds**2 for _, seconds in points]
    works, times = zip(*points, strict=True)
    w, t = fmean(works, weights), fmean(times, weights)
    weighted = list(zip(weights, works, times, strict=True))
    spread = sum(weight * (work - w) ** 2 for weight, work, _ in weighted)
    both = sum(weight * (work - w) * (seconds - t) for weight, work, seconds in weighted)
    rate = min(max(both / spread, 0.0), t / w) if spread > 0 else t / w
    return Line(max(t - rate * w, 0.0), rate)


class Cost:
    """What was learned of one device.

    >>> cost = Cost()
    >>> for work in (10, 1_000, 100_000):
    ...     cost.learn(work, 1e-3 + 1e-6 * work)
    >>> round(cost.predict(50_000), 4), round(cost.predict(1_000_000), 3)
    (0.051, 1.001)
    """

    def __init__(self) -> None:
        self._classes: dict[int, deque[tuple[int, float]]] = {}
        self._line: Line | None = None

    @property
    def known(self) -> bool:
        """Whether there is anything to predict from."""
        return bool(self._classes)

    @property
    def line(self) -> Line:
        """The line through all classes."""
        if self._line is None:
            calls = self._classes.values()
            self._line = fit([(median(w for w, _ in each), median(t for _, t in each)) for each in calls])
        return self._line

    def learn(self, work: int, seconds: float) -> None:
        """So much work took so long."""
        calls = self._classes.setdefault(work.bit_length(), deque(maxlen=KEPT))
        calls.append((max(work, 1), max(seconds, _SHORTEST_S)))
        self._line = None

    def predict(self, work: int) -> float:
        """Seconds for so much work."""
        calls = self._classes.get(work.bit_length())
        missed = median(t / self.line.at(w) for w, t in calls) if calls else 1.0
        return self.line.at(work) * missed
