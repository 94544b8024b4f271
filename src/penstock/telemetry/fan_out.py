"""One sink that hands on to several, and keeps the faults of each to itself."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from penstock.journal import Journal
from penstock.plan import BatchEcho
from penstock.sample import BatchSample, Decision
from penstock.telemetry.sink import Sink

log = logging.getLogger("penstock")

QUEUED_CALLS = 1000
"""Calls that may wait for a slow sink; further ones are dropped."""

Call = Callable[[Sink], None]


class FanOut:
    """Hands every call to the journal and to the other sinks.

    The journal is called at once: what it was given is in its file when the call returns. Each other sink is called in
    a thread of its own, behind a bounded queue, so that one that blocks delays neither the loop nor another sink. A
    sink that raises, or that is too slow for its queue, is told once, as a warning and the event `sink-fault`. What the
    journal's disk refuses is told to the others (`journal-lost`).

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from penstock.journal import read
    >>> path = Path(mkdtemp()) / "run.jsonl"
    >>> sinks = FanOut(Journal.open(path, {}))
    >>> sinks.event("partitions", partitions=4)
    >>> read(path).events[0].name
    'partitions'
    """

    def __init__(self, journal: Journal, *others: Sink, queued_calls: int = QUEUED_CALLS) -> None:
        self._journal = journal
        self._lock = threading.Lock()
        self._told: set[str] = set()
        self._lost = 0
        self._lanes = [_Lane(sink, self._fault, queued_calls) for sink in others]

    def sample(self, sample: BatchSample, *, control_s: float | None = None, obeyed: int | None = None) -> None:
        """What a batch did."""
        self._hand_on(lambda sink: sink.sample(sample, control_s=control_s, obeyed=obeyed))

    def decision(self, batch_id: int, decision: Decision, *, applied: bool) -> None:
        """What was decided."""
        self._hand_on(lambda sink: sink.decision(batch_id, decision, applied=applied))

    def echo(self, echo: BatchEcho) -> None:
        """What workers told of their plan."""
        self._hand_on(lambda sink: sink.echo(echo))

    def event(self, name: str, **details: Any) -> None:
        """What else happened."""
        self._hand_on(lambda sink: sink.event(name, **details))

    def close(self) -> None:
        """Close the journal now, and the others once they have taken what waits for them."""
        try:
            self._journal.close()
        except Exception as fault:
            self._fault(self._journal, fault)
        for lane in self._lanes:
            lane.close()

    def _hand_on(self, call: Call) -> None:
        try:
            call(self._journal)
        except Exception as fault:
            self._fault(self._journal, fault)
        for lane in self._lanes:
            lane.put(call)
        with self._lock:
            records, self._lost = self._journal.lost - self._lost, self._journal.lost
        if records:
            for lane in self._lanes:
                lane.put(lambda sink: sink.event("journal-lost", records=records))

    def _fault(self, sink: Sink, fault: Exception) -> None:
        name = type(sink).__name__
        with self._lock:
            known = name in self._told
            self._told.add(name)
        if not known:
            log.warning("penstock: %s failed on what it was told, the run goes on: %r", name, fault)
            self.event("sink-fault", sink=name, error=repr(fault))


class _Lane:
    """Calls one sink, in order, in a thread of its own."""

    def __init__(self, sink: Sink, on_fault: Callable[[Sink, Exception], None], most: int) -> None:
        self._sink = sink
        self._on_fault = on_fault
        self._most = most
        self._inbox: SimpleQueue[Call | None] = SimpleQueue()
        threading.Thread(target=self._run, name=f"penstock-{type(sink).__name__}", daemon=True).start()

    def put(self, call: Call) -> None:
        if self._inbox.qsize() < self._most:
            self._inbox.put(call)
        else:
            self._on_fault(self._sink, OverflowError(f"{self._most} records wait for it, further ones are dropped"))

    def close(self) -> None:
        self._inbox.put(None)

    def _run(self) -> None:
        while (call := self._inbox.get()) is not None:
            self._guarded(call)
        self._guarded(lambda sink: sink.close())

    def _guarded(self, call: Call) -> None:
        try:
            call(self._sink)
        except Exception as fault:
            self._on_fault(self._sink, fault)
