"""One budget over several sources."""

from __future__ import annotations

import math
from collections.abc import Sequence

from penstock.errors import UnsupportedError
from penstock.sample import Decision
from penstock.spark.gates.protocol import SourceGate
from penstock.spark.progress import SourceRange
from penstock.spark.sampler import Admitted


class SplitGate:
    """One budget over several sources of one unit, split by backlog; none is shut off."""

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
        self._gates = tuple(gates)
        self._shares = [1 / len(gates)] * len(gates)

    def apply(self, decision: Decision) -> None:
        """Each source gets its share, at least 1."""
        for gate, share in zip(self._gates, self._shares, strict=True):
            size = max(decision.size * share, 1.0)
            least = None if decision.min_size is None else min(decision.min_size * share, size)
            gate.apply(Decision(size, decision.reason, least, decision.max_wait_s))

    def restore(self) -> None:
        """Every source goes back to its own limit."""
        for gate in self._gates:
            gate.restore()

    def admitted(self, sources: tuple[SourceRange, ...]) -> Admitted:
        """The sum of what was taken, the oldest wait; the shares follow what is left."""
        each = [gate.admitted(sources) for gate in self._gates]
        weights = [_rows(a) + (a.backlog or 0.0) if math.isfinite(a.size) else 0.0 for a in each]
        if sum(weights) > 0:
            # The floor keeps a source that is empty now from being starved when it fills.
            floor = 0.05 / len(weights)
            self._shares = [floor + (1 - 0.05) * w / sum(weights) for w in weights]
        waits = [a.wait_s for a in each if a.wait_s is not None]
        backlogs = [a.backlog for a in each if a.backlog is not None]
        loads = [a for a in each if a.load is not None and a.size > 0]
        rows = sum(_rows(a) for a in loads)
        return Admitted(
            size=sum(a.size for a in each),
            wait_s=max(waits) if waits else None,
            backlog=sum(backlogs) if backlogs else None,
            load=sum((a.load or 0.0) * _rows(a) for a in loads) / rows if rows else None,
            part=next((a.part for a in each if a.part), None),
            rows=sum(_rows(a) for a in each) if all(a.rows is not None for a in each) else None,
        )


def _rows(admitted: Admitted) -> float:
    """Backlogs are in rows, also where sizes are in cost."""
    return admitted.size if admitted.rows is None else admitted.rows
