"""Windows over rows that carry their number: a replica computes the windows whose turn it has, in order.

A window is computed as soon as all its rows are there. A row that comes again, or after its windows were computed, is
dropped and counted. A row that never comes holds back the windows of its replica; see `missing`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BadInputError, PenstockError
from penstock.stages.windows.blocks import Rows, Shape, joined, kept, reopened
from penstock.stages.windows.results import Found, Run, check_same, definition, results
from penstock.stages.windows.schedule import Epoch, Schedule

FAIL, SKIP = "fail", "skip"
MISSING = (FAIL, SKIP)
# Rows that a replica holds behind a missing one before it is given up: room for sources that mix their partitions.
MOST_ROWS_AHEAD = 1_000_000


@dataclass(frozen=True)
class Numbered:
    """What a replica does with its rows.

    `missing`: what happens when a row is still missing after more than `ahead` further ones came: "fail", or "skip" the
    windows that would hold it. `fixed`: what else a checkpoint was made with.
    """

    shape: Shape
    missing: str = FAIL
    ahead: int = MOST_ROWS_AHEAD
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what is no way to treat a missing row."""
        if self.missing not in MISSING:
            raise BadInputError("missing", self.missing, "no such way", f"write one of {', '.join(MISSING)}")

    def step(self, value: bytes | None, blocks: list[bytes], schedule: Schedule, replica: int, run: Run) -> Found:
        """Take blocks of rows, compute the windows that are complete, and keep the rows that others need."""
        done, top, tail = self._open(value, schedule)
        coming = self.shape.opened(blocks)
        rows, late = self._merge(tail, coming, schedule.next_row(done, replica))
        top = max(top, int(coming.at.max(initial=-1)))
        windows, done, skipped = self._ready(rows.at, schedule, done, replica)
        lo = np.searchsorted(rows.at, windows * schedule.spec.every)
        outputs, failed = run(rows.columns, lo, lo + schedule.spec.length)
        rest = rows.take(slice(int(np.searchsorted(rows.at, schedule.next_row(done, replica))), None))
        header = {**definition(schedule.spec, self.shape, self.fixed), "done": done, "top": top}
        epoch = schedule.epoch_at(top)
        header["epoch"] = None if epoch is None else epoch.to_list()
        counts = {"late_rows": late, "skipped_windows": skipped}
        found = results(schedule.spec, windows, outputs, failed)
        return Found(found, kept(header, self.shape.packed(rest)), counts)

    def _open(self, value: bytes | None, schedule: Schedule) -> tuple[int, int, Rows]:
        if value is None:
            return 0, -1, self.shape.empty()
        header, rows, _ = reopened(value)
        check_same(definition(schedule.spec, self.shape, self.fixed), header)
        _check_epoch(header["epoch"], schedule, header["top"])
        tail = self.shape.opened([rows])
        if len(tail) and header["done"] < schedule.epochs[0].first:
            raise PenstockError(
                f"row {int(tail.at[0])} waits for one that is missing, and its windows have left the plan; "
                "number rows without holes"
            )
        return header["done"], header["top"], tail

    def _merge(self, tail: Rows, coming: Rows, least: int) -> tuple[Rows, int]:
        """All rows in order, each once, and how many were dropped."""
        rows = joined(tail, coming) if len(tail) else coming
        if not (rows.at[1:] > rows.at[:-1]).all():
            # Of rows with one number the same one stays in every replica, in whatever order they come.
            rows = rows.take(np.lexsort((*reversed(rows.columns), rows.at)))
        wanted = rows.at >= least
        wanted[1:] &= rows.at[1:] != rows.at[:-1]
        dropped = len(rows) - int(np.count_nonzero(wanted))
        return (rows.take(wanted) if dropped else rows), dropped

    def _ready(
        self, at: NDArray[np.int64], schedule: Schedule, done: int, replica: int
    ) -> tuple[NDArray[np.int64], int, int]:
        """The windows whose rows are all there, the window to go on with, and how many are left out."""
        ready, skipped = [np.empty(0, np.int64)], 0
        while True:
            waiting = at[np.searchsorted(at, schedule.next_row(done, replica)) :]
            windows = self._complete(waiting, schedule, done, replica)
            if len(windows):
                ready.append(windows)
                done = int(windows[-1]) + 1
                continue
            hole = _hole(waiting, schedule.next_row(done, replica))
            if hole is None or hole.behind <= self.ahead:
                return np.concatenate(ready), done, skipped
            if self.missing == FAIL:
                raise PenstockError(
                    f"row {hole.row} is missing, and {hole.behind:,} rows after it have come, so windows cannot be "
                    "computed; number rows without holes, or write missing='skip' to leave such windows out"
                )
            resume = -(-hole.end // schedule.spec.every)
            skipped += schedule.turns(done, resume, replica)
            done = resume

    def _complete(self, at: NDArray[np.int64], schedule: Schedule, done: int, replica: int) -> NDArray[np.int64]:
        """Windows of this replica's turn from `done` on whose rows are all there, up to the first that is not."""
        spec = schedule.spec
        first = schedule.next_turn(done, replica)
        if not len(at) or at[0] != first * spec.every:
            return np.empty(0, np.int64)
        # One window a row at the most: a row with a number far off the others must cost no memory.
        most = max(epoch.replicas for epoch in schedule.epochs) * (
            len(at) + 2 * max(epoch.batch for epoch in schedule.epochs)
        )
        windows = schedule.in_turn(first, min(spec.ended_by(int(at[-1]) + 1), first + most), replica)
        lo = np.searchsorted(at, windows * spec.every)
        last = lo + spec.length - 1
        there = last < len(at)
        # Positions are whole, unique and in order: as far apart as the indices, none is missing in between.
        there[there] = (at[lo[there]] == windows[there] * spec.every) & (
            at[last[there]] == windows[there] * spec.every + spec.length - 1
        )
        return windows[: int(np.argmin(there))] if not there.all() else windows


def _check_epoch(before: Sequence[int] | None, schedule: Schedule, top: int) -> None:
    """Refuse a schedule by which the rows up to `top` would have gone elsewhere: windows would be lost."""
    now = schedule.epoch_at(top)
    if now is not None and before is not None and now != Epoch(*before):
        was = Epoch(*before)
        raise PenstockError(
            f"rows up to {top} went to windows with batch={was.batch}, replicas={was.replicas}, and this batch has "
            f"batch={now.batch}, replicas={now.replicas}; write rows(..., batch=, replicas=) as it was, or, where "
            "the query was changed while it ran, windows(..., journal=) with the journal of attach"
        )


@dataclass(frozen=True)
class _Hole:
    """The first row that is missing, the next one that is there, and how many are there from that one on."""

    row: int
    end: int
    behind: int


def _hole(at: NDArray[np.int64], expected: int) -> _Hole | None:
    """The first hole in the rows that wait for an incomplete window, which begins with the row that is expected."""
    if not len(at):
        return None
    if at[0] != expected:
        return _Hole(expected, int(at[0]), len(at))
    breaks = np.flatnonzero(np.diff(at) > 1)
    if not len(breaks):
        return None
    last = int(breaks[0])
    return _Hole(int(at[last]) + 1, int(at[last + 1]), len(at) - last - 1)
