"""The gate of our own source, which replays a workload."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace

from penstock.errors import BadInputError
from penstock.sample import Decision
from penstock.spark.gates.protocol import SourceGate
from penstock.spark.jvm.bridge import LiveQuery
from penstock.spark.observe.report import SourceRange
from penstock.spark.observe.sampler import Admitted
from penstock.spark.reader import FIRST_ROWS
from penstock.spark.source.mailbox import Admission, Mailbox


class WorkloadGate(SourceGate):
    """The source gate: our own source, gated from inside through its mailbox, in rows or in their summed cost."""

    first_size = float(FIRST_ROWS)
    waits = True

    def __init__(
        self, query: LiveQuery, mailbox: Mailbox, source: int, user_limit: float | None, unit: str = "rows"
    ) -> None:
        self.unit = unit
        self.mailbox = mailbox
        self._query = query
        self._source = source
        self._user_limit = user_limit

    def apply(self, decision: Decision) -> None:
        """Tell the source, keeping the partitions that a slower loop may have set."""
        partitions = self.mailbox.admission().partitions
        terms = (decision.size, decision.min_size, decision.max_wait_s)
        # By the JVM, which knows whether the user's own limit has to stay.
        self._query.set_file(*self.mailbox.as_file(Admission(*terms, partitions, self.unit, decision.item_s)))

    def restore(self) -> None:
        """Back to the user's `maxRowsPerTrigger`, or to everything that has arrived."""
        if self._query.stopped():
            # The same DataFrame may be started again: its first batch is for the reader's options to limit.
            self.mailbox.admit(Admission())
            return
        self.mailbox.admit(self._own())

    def own_file(self) -> tuple[str, str]:
        """The file that the source reads, and its content where the user's own limit is in force."""
        return self.mailbox.as_file(self._own())

    def _own(self) -> Admission:
        size = float(sys.maxsize) if self._user_limit is None else self._user_limit
        return Admission(size, partitions=self.mailbox.admission().partitions)

    def set_partitions(self, partitions: int) -> None:
        """Cut the next batches into so many partitions, whatever is admitted."""
        if partitions < 1:
            raise BadInputError("partitions", partitions, "a batch has at least one", "give 1 or more")
        self.mailbox.admit(replace(self.mailbox.admission(), partitions=partitions))

    def admitted(self, sources: tuple[SourceRange, ...]) -> Admitted:
        """Rows taken, from the offsets; cost, age, backlog and load from the source's receipt."""
        taken = sources[self._source] if self._source < len(sources) else None
        if taken is None or taken.end is None:
            return Admitted(math.nan)
        first, stop = _index(taken.start), _index(taken.end)
        for receipt in reversed(self.mailbox.receipts()):
            if (receipt.start, receipt.stop) == (first, stop):
                size = self._size(stop - first, receipt.cost)
                rows = float(stop - first)
                return Admitted(size, receipt.wait_s, receipt.backlog, receipt.load, receipt.part, rows)
        return Admitted(self._size(stop - first), rows=float(stop - first))

    def _size(self, rows: int, cost: float | None = None) -> float:
        """In this gate's unit; without a receipt the rows are known and what they cost is not."""
        if self.unit == "rows" or rows == 0:
            return float(rows)
        return math.nan if cost is None else cost


def _index(offset: str | None) -> int:
    return 0 if offset is None else int(json.loads(offset)["index"])
