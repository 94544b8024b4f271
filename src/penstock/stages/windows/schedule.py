"""Gasser's sliding batches: which replica computes which window, as a pure function of the row's position.

A sliding batch is B consecutive windows; it holds w_b = (B - 1) s + w positions and moves on by s_b = B s. Batch j goes
to replica j mod n, and a row goes to every replica that has a batch with it (section III-A, algorithm 1). B and n may
change while the stream runs: an epoch has its own B and n from one window on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BadInputError
from penstock.stages.windows.spec import WindowSpec

# As many groups as can be told apart by Spark's hash (spark/windows/groups.py).
MOST_REPLICAS = 8_400
# No window has a number as high as this one: the last epoch has no end.
NEVER = 2**40
_LAST_ROW = 2**63 - 1


@dataclass(frozen=True)
class Epoch:
    """From window `first` on, `batch` windows make a sliding batch, and `replicas` take turns with the batches."""

    first: int
    batch: int
    replicas: int

    def __post_init__(self) -> None:
        """Refuse what is no configuration."""
        for name, value in (("batch", self.batch), ("replicas", self.replicas)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise BadInputError(name, value, "not a whole number", "write e.g. 4")
        if self.batch < 1:
            raise BadInputError("batch", self.batch, "a sliding batch has windows", "give 1 or more")
        if not 1 <= self.replicas <= MOST_REPLICAS:
            reason = "windows need somebody to compute them"
            raise BadInputError("replicas", self.replicas, reason, f"give 1 to {MOST_REPLICAS}")

    def batch_rows(self, spec: WindowSpec) -> int:
        """The positions of a sliding batch, w_b."""
        return (self.batch - 1) * spec.every + spec.length

    def batch_slide(self, spec: WindowSpec) -> int:
        """By how many positions sliding batches move on, s_b."""
        return self.batch * spec.every

    def copies(self, spec: WindowSpec) -> float:
        """To how many replicas a row goes, on average: each has it once, however many of its batches hold it."""
        if spec.every > spec.length:
            return spec.length / spec.every
        return min(self.batch_rows(spec) / self.batch_slide(spec), float(self.replicas))

    def to_list(self) -> list[int]:
        """The epoch as JSON has it."""
        return [self.first, self.batch, self.replicas]

    def turn(self, windows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The replica whose turn each window is."""
        return (windows - self.first) // self.batch % self.replicas

    def next_turn(self, window: int, replica: int) -> int:
        """The first window from this one on that the replica computes.

        >>> Epoch(first=0, batch=3, replicas=2).next_turn(1, replica=1), Epoch(0, 3, 2).next_turn(4, replica=1)
        (3, 4)
        """
        batch = (window - self.first) // self.batch
        ahead = (replica - batch) % self.replicas
        return window if ahead == 0 else self.first + (batch + ahead) * self.batch

    def turns_before(self, window: int, replica: int) -> int:
        """How many windows of this epoch the replica computes before this one."""
        rounds, rest = divmod(window - self.first, self.batch * self.replicas)
        mine = min(max(rest - replica * self.batch, 0), self.batch)
        return rounds * self.batch + mine if replica < self.replicas else 0


@dataclass(frozen=True)
class Schedule:
    """The epochs of a query, the oldest first; epoch e ends where the next one begins.

    >>> schedule = Schedule(WindowSpec(4, 1), (Epoch(0, batch=3, replicas=2),))
    >>> [group.tolist() for group in schedule.route(0, np.arange(9))]
    [[0, 1, 2, 3, 4, 5, 6, 7, 8], [3, 4, 5, 6, 7, 8]]
    """

    spec: WindowSpec
    epochs: tuple[Epoch, ...]

    def __post_init__(self) -> None:
        """Refuse epochs that do not follow each other."""
        firsts = [epoch.first for epoch in self.epochs]
        if not firsts or firsts != sorted(set(firsts)):
            raise BadInputError("epochs", firsts, "not one after another", "let each begin after the one before")

    @property
    def last(self) -> Epoch:
        """The epoch that has no end yet."""
        return self.epochs[-1]

    def end(self, epoch: int) -> int:
        """The first window that this epoch does not compute."""
        return self.epochs[epoch + 1].first if epoch + 1 < len(self.epochs) else NEVER

    def epoch_at(self, position: int) -> Epoch | None:
        """The epoch whose windows begin at a position; None before the first."""
        return next((each for each in reversed(self.epochs) if each.first * self.spec.every <= position), None)

    def route(self, epoch: int, at: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """For each replica of an epoch, the indices of the positions that it needs.

        Window by window: a row goes where a window with it is computed. Without gaps that is algorithm 1.
        """
        this = self.epochs[epoch]
        first = np.maximum(self.spec.first_with(at), this.first)
        last = np.minimum(self.spec.last_with(at), self.end(epoch) - 1)
        held = np.flatnonzero(first <= last)
        from_batch = (first[held] - this.first) // this.batch
        more = (last[held] - this.first) // this.batch - from_batch
        from_turn = from_batch % this.replicas
        return [held[(turn - from_turn) % this.replicas <= more] for turn in range(this.replicas)]

    def next_turn(self, window: int, replica: int) -> int:
        """The first window from this one on that a replica computes; NEVER where it has no turn any more.

        >>> schedule = Schedule(WindowSpec(4, 1), (Epoch(0, batch=3, replicas=2), Epoch(12, batch=2, replicas=1)))
        >>> [schedule.next_turn(window, replica=1) for window in (0, 4, 6, 12)] == [3, 4, 9, NEVER]
        True
        """
        for number, epoch in enumerate(self.epochs):
            end = self.end(number)
            if window < end and replica < epoch.replicas:
                found = epoch.next_turn(max(window, epoch.first), replica)
                if found < end:
                    return found
        return NEVER

    def next_row(self, window: int, replica: int) -> int:
        """The first row of `next_turn`."""
        return min(self.next_turn(window, replica) * self.spec.every, _LAST_ROW)

    def in_turn(self, first: int, end: int, replica: int) -> NDArray[np.int64]:
        """The windows from `first` up to `end`, not included, that a replica computes."""
        windows = np.arange(first, max(end, first), dtype=np.int64)
        mine = np.zeros(len(windows), np.bool_)
        for number, epoch in enumerate(self.epochs):
            some = slice(max(epoch.first - first, 0), max(self.end(number) - first, 0))
            mine[some] = epoch.turn(windows[some]) == replica
        return windows[mine]

    def turns(self, first: int, end: int, replica: int) -> int:
        """How many windows `in_turn` has, without the memory for them."""
        found = 0
        for number, epoch in enumerate(self.epochs):
            edges = (min(max(each, epoch.first), self.end(number)) for each in (first, end))
            before, after = (epoch.turns_before(each, replica) for each in edges)
            found += max(after - before, 0)
        return found

    def touched(self, least: int, most: int) -> list[int]:
        """The epochs with windows that hold any of the positions from `least` to `most`."""
        first, last = (
            int(edge[0]) for edge in (self.spec.first_with(np.array([least])), self.spec.last_with(np.array([most])))
        )
        return [e for e, epoch in enumerate(self.epochs) if epoch.first <= last and self.end(e) > first]

    def destinations(self, at: NDArray[np.int64]) -> dict[int, NDArray[np.int64]]:
        """For each replica, the indices of the positions that it needs, of whichever epoch its windows are."""
        found: dict[int, list[NDArray[np.int64]]] = {}
        for epoch in self.touched(int(at.min()), int(at.max())) if len(at) else ():
            for replica, indices in enumerate(self.route(epoch, at)):
                if len(indices):
                    found.setdefault(replica, []).append(indices)
        return {
            replica: each[0] if len(each) == 1 else np.unique(np.concatenate(each)) for replica, each in found.items()
        }

    def followed_by(self, epoch: Epoch) -> Schedule:
        """The same schedule with one more epoch."""
        return Schedule(self.spec, (*self.epochs, epoch))

    def to_part(self) -> dict[str, Any]:
        """The schedule as a part of a plan."""
        return {**self.spec.to_record(), "epochs": [epoch.to_list() for epoch in self.epochs]}


def schedule_of(spec: WindowSpec, epochs: Sequence[Sequence[int]]) -> Schedule:
    """The schedule in a part of a plan."""
    return Schedule(spec, tuple(Epoch(*each) for each in epochs))
