"""What a Kafka source's broker is asked once a run: where the topic ended at earlier times, and how long it is kept."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Collection
from typing import NamedTuple

from penstock.spark.jvm.bridge import LiveQuery

# At these ages the ends of a topic are asked for: fine for the recent past, coarse for the far one.
AGES_S = (604800, 259200, 86400, 43200, 21600, 7200, 3600, 1800, 900, 300, 120, 60, 30, 15, 8, 4, 2, 1)


class BrokerAnswer(NamedTuple):
    """The ends of the topic's partitions (JSON) at earlier times, oldest first, and the seconds each topic is kept."""

    looks: list[tuple[float, str]]
    retention_s: dict[str, float | None]


class BrokerQuestion:
    """Asks in a thread of its own, since a broker may not answer; the answer waits here to be taken."""

    def __init__(self, query: LiveQuery, source: int) -> None:
        self._query = query
        self._source = source
        self._asked = False
        self._answers: queue.SimpleQueue[BrokerAnswer | Exception] = queue.SimpleQueue()

    def ask(self, topics: Collection[str]) -> None:
        """Ask, once."""
        if not self._asked:
            self._asked = True
            threading.Thread(target=self._ask, args=(topics,), name="penstock-broker", daemon=True).start()

    def answer(self) -> BrokerAnswer | Exception | None:
        """What the broker has answered, or why it has not; None where there is nothing new."""
        return None if self._answers.empty() else self._answers.get()

    def _ask(self, topics: Collection[str]) -> None:
        try:
            retention_s = self._query.retention_s(self._source, topics)
            now_s = time.time()
            ends = self._query.ends_at(self._source, [now_s - age_s for age_s in AGES_S])
            looks = [(now_s - age_s, text) for age_s, text in zip(AGES_S, ends, strict=True)]
            self._answers.put(BrokerAnswer(looks, retention_s))
        except Exception as error:
            if not self._query.stopped():
                self._answers.put(error)
