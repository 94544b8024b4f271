"""The best fixed batch size, as a patient user would look for it: a few short trials, each judged by its hits.

The second trial corrects the first in proportion to its latency; from then on the best size so far is multiplied and
divided by a factor, which shrinks to its root when neither is better.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

MOST_TRIALS = 5
FACTOR = 2.0
_NEAR = 1.1


@dataclass(frozen=True)
class Trial:
    """A fixed size that was tried: its hits, its distance from the target, its mean latency, and what it took."""

    size: float
    i_slh: float | None
    mad_d: float | None
    mean_s: float | None
    seconds: float

    @property
    def score(self) -> tuple[float, float]:
        """More hits are better; where they are equal, a smaller distance."""
        hits = -math.inf if self.i_slh is None else self.i_slh
        return hits, -math.inf if self.mad_d is None else -self.mad_d


@dataclass(frozen=True)
class Found:
    """The best size, and all that were tried."""

    size: float
    trials: tuple[Trial, ...]

    def to_json(self) -> dict[str, Any]:
        """Ready for JSON, with the time that the search took."""
        trials = [asdict(trial) for trial in self.trials]
        return {"size": self.size, "trials": trials, "seconds": sum(trial.seconds for trial in self.trials)}


def search(
    first: float, aim_s: float | None, attempt: Callable[[float], Trial | None], most: int = MOST_TRIALS
) -> Found | None:
    """The best of a few sizes from `first` on; `attempt` gives None where there is no time left for another.

    `aim_s` is the latency to aim for, None where the objective is not a latency.

    >>> def attempt(size: float) -> Trial:
    ...     latency_s = 0.2 + size / 10_000
    ...     return Trial(size, 100.0 if abs(latency_s - 1.0) < 0.1 else 0.0, 100 * abs(latency_s - 1), latency_s, 20.0)
    >>> found = search(1000, 1.0, attempt)
    >>> found.size, [trial.size for trial in found.trials]
    (6666.0, [1000.0, 3333.0, 6666.0, 13332.0, 9427.0])
    """
    trials: list[Trial] = []
    factor, size = FACTOR, float(first)
    while len(trials) < most:
        trial = attempt(size)
        if trial is None:
            break
        trials.append(trial)
        if len(trials) == 1 and aim_s is not None and trial.mean_s:
            size = float(max(round(first * aim_s / trial.mean_s), 1))
            if not _tried(trials, size):
                continue
        best = max(trials, key=lambda each: each.score)
        around = [each for each in _around(best.size, factor) if not _tried(trials, each)]
        if not around:
            factor = math.sqrt(factor)
            around = [each for each in _around(best.size, factor) if not _tried(trials, each)]
        if not around:
            break
        size = around[0]
    return Found(max(trials, key=lambda each: each.score).size, tuple(trials)) if trials else None


def _around(size: float, factor: float) -> list[float]:
    return [float(round(size * factor)), float(max(round(size / factor), 1))]


def _tried(trials: list[Trial], size: float) -> bool:
    return any(1 / _NEAR < size / trial.size < _NEAR for trial in trials)
