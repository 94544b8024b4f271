"""Time, injected: the system's clock in production, a hand-moved one in tests."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

from penstock.errors import BadInputError


class Clock(Protocol):
    """Where a part that needs the time gets it from."""

    def wall_s(self) -> float:
        """Seconds since the epoch; may step when the machine's clock is set."""
        ...

    def monotonic_s(self) -> float:
        """Seconds from an arbitrary start; never goes back."""
        ...


class SystemClock:
    """The machine's clocks."""

    def wall_s(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic_s(self) -> float:
        """Seconds from an arbitrary start."""
        return time.monotonic()


@dataclass
class ManualClock:
    """A clock that moves only when told to.

    >>> clock = ManualClock()
    >>> clock.advance(1.5)
    >>> clock.wall_s(), clock.monotonic_s()
    (1.5, 1.5)
    >>> clock.step_wall(-60.0)
    >>> clock.wall_s(), clock.monotonic_s()
    (-58.5, 1.5)
    """

    _wall_s: float = 0.0
    _monotonic_s: float = 0.0

    def wall_s(self) -> float:
        """The hand-set wall time."""
        return self._wall_s

    def monotonic_s(self) -> float:
        """The hand-set monotonic time."""
        return self._monotonic_s

    def advance(self, seconds: float) -> None:
        """Let time pass on both clocks."""
        if seconds < 0:
            raise BadInputError("seconds", seconds, "time passes forwards", "use step_wall to set the wall clock back")
        self._wall_s += seconds
        self._monotonic_s += seconds

    def step_wall(self, seconds: float) -> None:
        """Set the wall clock forwards or back, as an administrator or NTP would; the monotonic clock stays."""
        self._wall_s += seconds
