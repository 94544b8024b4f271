"""A lane: the events of one query, in their order, in a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

log = logging.getLogger("penstock")

Event = dict[str, Any]


class Lane:
    """Handles events one by one, so that a query whose handling is slow or stuck delays no other query.

    >>> seen = []
    >>> lane = Lane("penstock-example", seen.append)
    >>> lane.put({"kind": "job"})
    >>> lane.close()
    >>> lane.join()
    >>> seen
    [{'kind': 'job'}]
    """

    def __init__(self, name: str, handle: Callable[[Event], None]) -> None:
        self._handle = handle
        self._inbox: SimpleQueue[Event | None] = SimpleQueue()
        self._busy: tuple[float, Event] | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, event: Event) -> None:
        """Have an event handled after those before it."""
        self._inbox.put(event)

    def close(self) -> None:
        """End after the events that wait; may be called from within."""
        self._inbox.put(None)

    def join(self, timeout_s: float | None = None) -> None:
        """Wait for the end."""
        self._thread.join(timeout_s)

    def stuck_on(self, for_s: float) -> Event | None:
        """The event that it has been busy with for longer than that, or None."""
        busy = self._busy
        return busy[1] if busy is not None and time.monotonic() - busy[0] > for_s else None

    def _run(self) -> None:
        while (event := self._inbox.get()) is not None:
            self._busy = (time.monotonic(), event)
            try:
                self._handle(event)
            except Exception:
                log.exception("penstock: %s of query %s not handled", event.get("kind"), event.get("query"))
            self._busy = None
