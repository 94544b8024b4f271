"""The gate of Spark's Kafka source that counts bytes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from penstock.errors import LimitsReturnedError
from penstock.sample import BatchSample, Decision
from penstock.spark.advice import Advice, bytes_unknown, rows_not_set
from penstock.spark.gates.files import FIRST_BYTES
from penstock.spark.gates.kafka.end_offsets import Ends, between, parse_offsets
from penstock.spark.gates.kafka.log_sizes import ByteHistory, parse_sizes
from penstock.spark.gates.kafka.partition_shares import rows_within
from penstock.spark.gates.kafka.rows import MOST_ROWS, KafkaGate
from penstock.spark.gates.protocol import Retention, SourceGate
from penstock.spark.jvm.bridge import LiveQuery
from penstock.spark.observe.lane import ProbeEvent
from penstock.spark.observe.report import SourceRange
from penstock.spark.observe.sampler import Admitted
from penstock.spark.reader import FIRST_ROWS

# What a row counts as long as nothing is known: the first size then admits as much as that of a gate in rows.
NOMINAL_BYTES = FIRST_BYTES / FIRST_ROWS


class KafkaBytesGate(KafkaGate):
    """A Kafka gate in bytes on the broker's disk: Spark is told the rows that come to them.

    Sizes of records are known from looks at the partitions' logs (see `ByteHistory`), so of records that still wait.
    As the query moves on and records come, the same bytes are other rows: they are set anew, for the next batch already
    when one begins, since the end of that one may be told too late to count for the next. Before the first
    look, and where the broker tells no sizes, every row counts 1000 bytes, which is admission by rows.
    """

    unit = "bytes"

    def __init__(self, query: LiveQuery, source: int, user_limit: Any) -> None:
        super().__init__(query, source, user_limit)
        self.sizes = ByteHistory()
        self._at: Ends | None = None
        self._decision: Decision | None = None
        self._in_force: Decision | None = None
        in_force = re.search(r"MaxRows\D*(\d+)", query.sources[source].limit)
        self.first_size = float(FIRST_BYTES) if in_force is None else float(in_force[1]) * NOMINAL_BYTES
        query.measure_bytes(source)

    def apply(self, decision: Decision) -> None:
        """Set the rows that come to the bytes decided."""
        self._decision, self._in_force = decision, None
        self._follow()

    def restore(self) -> None:
        """Put the user's own read limit back."""
        self._decision = None
        super().restore()

    def on_event(self, event: ProbeEvent, sample: BatchSample | None = None) -> Sequence[Advice | Retention]:
        """Also looks at the logs, and where the batch that now begins will end: the next one begins there."""
        told = list(super().on_event(event, sample))
        kind = event["kind"]
        if kind == "bytes" and event["source"] == self._source:
            if "sizes" in event:
                self.sizes.see(parse_sizes(event["sizes"]))
            else:
                told.append(bytes_unknown(event["error"], None if self.sizes.known else NOMINAL_BYTES))
        elif kind == "planned" and (end := event["sources"][self._source]["end"]) is not None:
            self._at = parse_offsets(end)
        if kind in ("planned", "job", "progress", "bytes"):
            try:
                self._follow()
            except LimitsReturnedError:
                pass
            except Exception as fault:
                told.append(rows_not_set(fault))
        return told

    def inherit(self, before: SourceGate) -> None:
        """Of what came since the former run, its looks tell more than the mean of the log."""
        if isinstance(before, KafkaBytesGate):
            self.sizes, self._at = before.sizes, before._at

    def _follow(self) -> None:
        """The rows of the decision in force, from where the query is now; nothing where they are the same."""
        if self._decision is None:
            return
        rows = self._in_rows(self._decision)
        if rows != self._in_force:
            super().apply(rows)
            self._in_force = rows

    def admitted(self, sources: tuple[SourceRange, ...]) -> Admitted:
        """What was taken and what waits, in bytes."""
        admitted = super().admitted(sources)
        taken = sources[self._source] if self._source < len(sources) else None
        if taken is None or taken.end is None:
            return admitted
        rows, end, latest = admitted.size, parse_offsets(taken.end), parse_offsets(taken.latest)
        # A batch may be told of when the next one has begun: what is known of that one is not taken back.
        at = self._at or {}
        self._at = {**at, **{part: max(stop, at.get(part, 0)) for part, stop in end.items()}}
        size = rows * (self.sizes.newest if self.sizes.known else NOMINAL_BYTES)
        if taken.start is not None:
            start = parse_offsets(taken.start)
            size = self._bytes(start, end)
            self.sizes.forget(start)
        backlog = self._bytes(end, latest) if latest else None
        return replace(admitted, size=size, backlog=backlog, rows=None if math.isnan(rows) else rows)

    def _bytes(self, start: Ends, end: Ends) -> float:
        return self.sizes.between(start, end) if self.sizes.known else between(start, end) * NOMINAL_BYTES

    def _in_rows(self, decision: Decision) -> Decision:
        most = self._rows(decision.size)
        least = min(self._rows(decision.min_size), most) if decision.min_size else None
        item_s = decision.item_s * (self.sizes.newest if self.sizes.known else NOMINAL_BYTES)
        return replace(decision, size=float(most), min_size=least, item_s=item_s)

    def _rows(self, size: float) -> int:
        if not self.sizes.known:
            rows = math.floor(size / NOMINAL_BYTES)
        elif self._at is None:
            rows = math.floor(size / self.sizes.newest)
        else:
            rows = rows_within(size, {**self.sizes.starts, **self._at}, self._ends(), self.sizes)
        return min(max(rows, 1), MOST_ROWS)

    def _ends(self) -> Ends:
        """Up to where Spark will share its limit: our looks are newer than its own, but availableNow has its fixed."""
        seen, ours = self.history.ends, self.sizes.ends
        if self._query.available_now and seen:
            return seen
        return {part: max(seen.get(part, 0), ours.get(part, 0)) for part in {**seen, **ours}}
