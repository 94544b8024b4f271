"""One line of `make bench`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """Ours against a peer; `ratio` is ours / peer, and below 1 is better for us where the unit is a time."""

    name: str
    ours: float
    peer: float
    unit: str
    what: str

    @property
    def ratio(self) -> float:
        """Ours over the peer's."""
        return self.ours / self.peer
