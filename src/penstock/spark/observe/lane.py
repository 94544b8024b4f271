"""A lane: the events of one query, in their order, in a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Any

log = logging.getLogger("penstock")

ProbeEvent = dict[str, Any]
"""What the probe tells, as parsed from JSON; its `kind` says what else is in it."""

MOST_WAITING = 1000
# They come once, and nothing else tells what they tell.
_NEVER_DROPPED = ("terminated", "resumed")


class Lane:
    """Handles events one by one, so that a query whose handling is slow or stuck delays no other query.

    At most 1,000 events wait. Further ones are dropped, and a `dropped` event in their place tells how many they were,
    and how many of them were the progress of a batch. A job whose batch is told of again by an event that waits already
    is marked `superseded`.

    >>> seen = []
    >>> lane = Lane("penstock-example", seen.append)
    >>> lane.put({"kind": "job"})
    >>> lane.close()
    >>> lane.join()
    >>> seen
    [{'kind': 'job'}]
    """

    def __init__(self, name: str, handle: Callable[[ProbeEvent], None]) -> None:
        self._handle = handle
        # The event in hand stays at the head until it is done.
        self._inbox: deque[tuple[float, ProbeEvent]] = deque()
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, event: ProbeEvent, *, first: bool = False) -> None:
        """Have an event handled after those before it; `first`: after the one in hand."""
        with self._changed:
            if len(self._inbox) >= MOST_WAITING and event["kind"] not in _NEVER_DROPPED:
                self._drop(event)
                return
            self._inbox.insert(1 if first else len(self._inbox), (time.monotonic(), event))
            self._changed.notify()

    def close(self) -> None:
        """End after the events that wait; may be called from within."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def join(self, timeout_s: float | None = None) -> None:
        """Wait for the end."""
        self._thread.join(timeout_s)

    def stuck_on(self, for_s: float) -> ProbeEvent | None:
        """The event in hand where it came longer ago than that, or None."""
        with self._changed:
            return self._inbox[0][1] if self._inbox and time.monotonic() - self._inbox[0][0] > for_s else None

    def _drop(self, event: ProbeEvent) -> None:
        last = self._inbox[-1][1]
        if last["kind"] != "dropped":
            last = {"kind": "dropped", "events": 0, "batches": 0}
            self._inbox.append((time.monotonic(), last))
        last["events"] += 1
        last["batches"] += event["kind"] == "progress"

    def _run(self) -> None:
        while (event := self._next()) is not None:
            try:
                self._handle(event)
            except Exception:
                log.exception("penstock: %s of query %s not handled", event.get("kind"), event.get("query"))
            with self._changed:
                self._inbox.popleft()

    def _next(self) -> ProbeEvent | None:
        with self._changed:
            self._changed.wait_for(lambda: self._inbox or self._closed)
            if not self._inbox:
                return None
            event = self._inbox[0][1]
            if event["kind"] == "job" and "batch" in event:
                later = islice(self._inbox, 1, None)
                event["superseded"] = any(each.get("batch") == event["batch"] for _, each in later)
            return event
