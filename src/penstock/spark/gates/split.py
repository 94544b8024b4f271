"""One budget over several sources."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from penstock.errors import UnsupportedError
from penstock.sample import BatchSample, Decision
from penstock.size import clamp
from penstock.spark.advice import Advice
from penstock.spark.gates.protocol import Retention, SourceGate
from penstock.spark.gates.row_costs import RowCosts
from penstock.spark.observe.lane import ProbeEvent
from penstock.spark.observe.report import SourceRange
from penstock.spark.observe.sampler import Admitted

# The part of the budget that is kept for sources with nothing in them, for when they fill.
_KEPT = 0.05
_REMEMBERED_BATCHES = 8


class SplitGate(SourceGate):
    """One budget over several sources of one unit, split by backlog and by what their rows cost; none is shut off.

    A batch of two streams lasts as long as its rows do, and a row of one side of a join may cost ten of the other. A
    budget in plain rows would then mean another latency with every change of the mix, and the controller would take it
    for a change of the machine. So the budget is in weighted rows: with w_i the learned weight of a row (see
    `RowCosts`; 1 for all until a difference is known) and d_i what a source should have for the next batch (what the
    last one left, and as much again as had come for it), a budget of S gives source i

        n_i = s_i S / w_i,    s_i = 0.05 / k + 0.95 w_i d_i / sum_j w_j d_j

    for k sources. But for the small part that is kept for all alike, n_i is in proportion to d_i: every source gives
    the same part of what it has, so that all drain together, and in a join no side's rows wait in the state for
    partners that are still in the queue. The weights do not decide who gets more; they decide how much all get, so that
    sum w_i n_i = S costs the same whatever the mix. An empty source keeps its 0.05 / k, or what comes to it next would
    wait for a batch to be noticed; and at least one row each.

    A mean row of the recent mix weighs 1, so the unit is still called rows (or files, or bytes), and when weights are
    learned the size in force admits as much as before. A batch's size is the sum of its weighted rows. Backlogs are
    plain rows: they are for a reader, and for whoever asks whether there is any.
    """

    def __init__(self, gates: Sequence[SourceGate]) -> None:
        units = sorted({gate.unit for gate in gates})
        if len(units) > 1:
            raise UnsupportedError(
                f"this query reads sources that are limited in {' and '.join(units)}: one budget cannot be split over "
                "both; read them in two queries and attach to each"
            )
        self.unit = units[0]
        self.first_size = sum(gate.first_size for gate in gates)
        self.waits = all(gate.waits for gate in gates)
        self.gates = tuple(gates)
        self._costs = RowCosts(len(gates))
        self._demand = [1.0] * len(gates)
        self._size_a_row = [1.0] * len(gates)
        self._left: list[float | None] = [None] * len(gates)
        self._taken: deque[tuple[float, tuple[float, ...]]] = deque(maxlen=_REMEMBERED_BATCHES)

    @property
    def weights(self) -> tuple[float, ...]:
        """What a row of each source counts in the budget."""
        return self._costs.weights

    def apply(self, decision: Decision) -> None:
        """Each source gets its part, at least 1."""
        for gate, share, weight in zip(self.gates, self._shares(), self.weights, strict=True):
            part = share / weight
            # Gates round down, and the rounding of a product must not cost a row.
            size = clamp(round(decision.size * part, 6))
            least = None if decision.min_size is None else min(decision.min_size * part, size)
            # A source sees its own queue only, and takes the others' to be as long for their parts.
            gate.apply(replace(decision, size=size, min_size=least, item_s=decision.item_s / part))

    def restore(self) -> None:
        """Every source goes back to its own limit, also where another one fails."""
        faults: list[Exception] = []
        for gate in self.gates:
            try:
                gate.restore()
            except Exception as fault:
                faults.append(fault)
        if faults:
            raise faults[0]

    def admitted(self, sources: tuple[SourceRange, ...]) -> Admitted:
        """The weighted sum of what was taken, the oldest wait; the next split follows what is left."""
        each = [gate.admitted(sources) for gate in self.gates]
        sizes = tuple(a.size for a in each)
        size = sum(w * n for w, n in zip(self.weights, sizes, strict=True))
        if math.isfinite(size):
            self._taken.append((size, sizes))
            demand = [self._awaited(i, a) for i, a in enumerate(each)]
            # Where there is nothing at all, the last split is the best guess at the next.
            self._demand = demand if any(demand) else self._demand
        waits = [a.wait_s for a in each if a.wait_s is not None]
        loads = [a for a in each if a.load is not None and a.size > 0]
        rows = sum(_rows(a) for a in loads)
        knows_rows = self.unit == "rows" or all(a.rows is not None for a in each)
        return Admitted(
            size=size,
            wait_s=max(waits) if waits else None,
            backlog=_backlog(each),
            load=sum((a.load or 0.0) * _rows(a) for a in loads) / rows if rows else None,
            part=next((a.part for a in each if a.part), None),
            rows=sum(_rows(a) for a in each) if knows_rows else None,
        )

    def on_event(self, event: ProbeEvent, sample: BatchSample | None = None) -> Sequence[Advice | Retention]:
        """Every source takes its own; a confirmed sample tells what the rows of each cost."""
        if sample is not None and sample.confirmed:
            self.learn(sample)
        return [told for gate in self.gates for told in gate.on_event(event, sample)]

    def inherit(self, before: SourceGate) -> None:
        """Each gate from the one in its place."""
        for gate, old in zip(self.gates, before.gates if isinstance(before, SplitGate) else (), strict=False):
            gate.inherit(old)

    def learn(self, sample: BatchSample) -> None:
        """What a batch of this mix took: news of what the rows of each source cost."""
        if not sample.usable:
            return
        for size, sizes in reversed(self._taken):
            if size == sample.size:
                self._costs.add(sizes, sample.processing_s)
                return

    def _shares(self) -> list[float]:
        """The parts of the budget, in weighted rows."""
        costs = [w * d for w, d in zip(self.weights, self._demand, strict=True)]
        total, count = sum(costs), len(costs)
        return [_KEPT / count + (1 - _KEPT) * cost / total for cost in costs]

    def _awaited(self, source: int, admitted: Admitted) -> float:
        """What a source should have next, in the gate's unit; where sizes are in cost, backlogs are in rows."""
        if admitted.rows and self.unit == "cost":
            self._size_a_row[source] = admitted.size / admitted.rows
        if admitted.backlog is None:
            self._left[source] = None
            return admitted.size
        left, before = admitted.backlog * self._size_a_row[source], self._left[source]
        self._left[source] = left
        came = admitted.size if before is None else max(admitted.size + left - before, 0.0)
        return left + came


def _backlog(each: Sequence[Admitted]) -> float | None:
    """What is left in all; None where a source cannot tell and no other has any, for that is not nothing."""
    known = [a.backlog for a in each if a.backlog is not None]
    total = sum(known)
    return total if total > 0 or len(known) == len(each) else None


def _rows(admitted: Admitted) -> float:
    return admitted.size if admitted.rows is None else admitted.rows
