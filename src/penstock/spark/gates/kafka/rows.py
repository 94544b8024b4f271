"""The gate of Spark's Kafka source."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from penstock.sample import BatchSample, Decision
from penstock.spark.advice import Advice, broker_silent
from penstock.spark.gates.kafka.broker import BrokerQuestion
from penstock.spark.gates.kafka.end_offsets import OffsetHistory, between, parse_offsets
from penstock.spark.gates.protocol import Retention, SourceGate
from penstock.spark.jvm.bridge import LiveQuery
from penstock.spark.observe.lane import ProbeEvent
from penstock.spark.observe.report import SourceRange
from penstock.spark.observe.sampler import Admitted
from penstock.spark.reader import FIRST_ROWS

MOST_ROWS = 2**53


class KafkaGate(SourceGate):
    """The engine gate of a Kafka source, in rows: Spark knows no other limit for Kafka, and reads all at one.

    Spark shares a limit over the partitions by their backlog and rounds down, to one row at least. A minimum waits for
    that many rows, or for a delay that Spark counts from the last batch on: for a query that keeps up that is also the
    wait of its oldest record. With availableNow a minimum would end the query early, so none is set.
    """

    unit = "rows"
    first_size = float(FIRST_ROWS)
    waits = True

    def __init__(self, query: LiveQuery, source: int, user_limit: Any) -> None:
        self._query = query
        self._source = source
        self._user_limit = user_limit
        self._broker = BrokerQuestion(query, source)
        self.history = OffsetHistory()

    def apply(self, decision: Decision) -> None:
        """Set `maxRows`, and `minRows` where the decision waits for more."""
        most = min(max(math.floor(decision.size), 1), MOST_ROWS)
        if not decision.min_size or decision.max_wait_s is None or self._query.available_now:
            self._query.set_rows(self._source, most)
            return
        # With the records that come meanwhile, the estimated latency reaches the bound this much earlier.
        rate_per_s = self.history.rate_per_s or 0.0
        delay_s = decision.max_wait_s / (1 + decision.item_s * rate_per_s)
        self._query.set_rows(self._source, most, max(math.floor(decision.min_size), 1), delay_s)

    def restore(self) -> None:
        """Put the user's own read limit back."""
        self._query.set_limit(self._source, self._user_limit)

    def on_event(self, event: ProbeEvent, sample: BatchSample | None = None) -> Sequence[Advice | Retention]:
        """Looks at the topic's end offsets; and once the topics are known, what the broker tells of them."""
        if event["kind"] == "offsets" and event["source"] == self._source:
            same_ms = event.get("same_until_ms")
            ends = parse_offsets(event["latest"])
            self.history.see(event["at_ms"] / 1e3, ends, None if same_ms is None else same_ms / 1e3)
        if sample is not None and sample.confirmed:
            self._broker.ask({topic for topic, _ in self.history.parts})
        return self._hear()

    def _hear(self) -> Sequence[Advice | Retention]:
        answer = self._broker.answer()
        if answer is None:
            return ()
        if isinstance(answer, Exception):
            return (broker_silent(answer),)
        self.history.seed([(at_s, parse_offsets(ends)) for at_s, ends in answer.looks])
        return [Retention(topic, kept_s) for topic, kept_s in answer.retention_s.items() if kept_s is not None]

    def admitted(self, sources: tuple[SourceRange, ...]) -> Admitted:
        """Rows taken and rows waiting, from the offsets; the age of the oldest from the history of the ends."""
        taken = sources[self._source] if self._source < len(sources) else None
        if taken is None or taken.end is None:
            return Admitted(math.nan)
        end, latest = parse_offsets(taken.end), parse_offsets(taken.latest)
        if taken.at_s is not None:
            self.history.see(taken.at_s, latest)
        backlog = float(between(end, latest)) if latest else None
        if taken.start is None:
            # The first batch of all: Spark does not tell where it began, only, in its progress, how much it read.
            return Admitted(math.nan if taken.rows is None else float(taken.rows), backlog=backlog)
        start = parse_offsets(taken.start)
        oldest_s = self.history.oldest_s(start, end)
        wait_s = None if oldest_s is None or taken.at_s is None else max(taken.at_s - oldest_s, 0.0)
        rows = float(between(start, end))
        return Admitted(rows, wait_s=wait_s, backlog=backlog, rows=rows)
