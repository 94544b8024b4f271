"""Time in a comparison: what a run will take, whether it still fits, and when it has to stop."""

from __future__ import annotations

import threading

from penstock.clock import Clock

# From the order to stop to a stopped query: so much earlier is the order given.
STOPPING_S = 2.0
TRIAL = "trial"
"""The label of trials, which are shorter than runs and say nothing about them."""


class Until(threading.Event):
    """An event that is set when another one is, or when its time has come.

    >>> from penstock.clock import ManualClock
    >>> clock, stop = ManualClock(), threading.Event()
    >>> until = Until(stop, clock, deadline_s=10.0)
    >>> before = until.is_set()
    >>> clock.advance(10.0)
    >>> before, until.is_set(), until.late
    (False, True, True)
    """

    def __init__(self, stop: threading.Event, clock: Clock, deadline_s: float | None) -> None:
        super().__init__()
        self._stop = stop
        self._clock = clock
        self._deadline_s = deadline_s

    @property
    def late(self) -> bool:
        """Whether its time has come."""
        return self._deadline_s is not None and self._clock.monotonic_s() >= self._deadline_s

    def is_set(self) -> bool:
        """Whether to stop, for whatever reason."""
        return super().is_set() or self._stop.is_set() or self.late


class Budget:
    """The time that a comparison may take, and what its runs took so far, by controller.

    >>> from penstock.clock import ManualClock
    >>> budget = Budget(ManualClock(), limit_s=100.0)
    >>> budget.took("pid", 40.0)
    >>> budget.took("faf", 70.0)
    >>> budget.estimate_s("pid"), budget.estimate_s("mbaf"), budget.fits("pid")
    (40.0, 55.0, True)
    """

    def __init__(self, clock: Clock, limit_s: float | None = None) -> None:
        self.clock = clock
        self.limit_s = limit_s
        self._began_s = clock.monotonic_s()
        self._took: dict[str, list[float]] = {}

    @property
    def spent_s(self) -> float:
        """Since the comparison began."""
        return self.clock.monotonic_s() - self._began_s

    @property
    def left_s(self) -> float | None:
        """Until its end; None where no time was stated."""
        return None if self.limit_s is None else self.limit_s - self.spent_s

    def took(self, label: str, seconds: float) -> None:
        """One run of this controller took so long."""
        self._took.setdefault(label, []).append(seconds)

    def estimate_s(self, label: str) -> float | None:
        """What its next run will take: the mean of its own, or else of all runs."""
        seen = self._took.get(label, [])
        if not seen and label != TRIAL:
            seen = [each for other, times in self._took.items() if other != TRIAL for each in times]
        return sum(seen) / len(seen) if seen else None

    def fits(self, label: str) -> bool:
        """Whether its next run can end in time, as far as that is known."""
        left_s = self.left_s
        return left_s is None or (self.estimate_s(label) or 0.0) + STOPPING_S <= left_s

    def until(self, stop: threading.Event) -> Until:
        """What tells a run to stop: the user's wish, or the end of the time."""
        deadline_s = None if self.limit_s is None else self._began_s + self.limit_s - STOPPING_S
        return Until(stop, self.clock, deadline_s)
