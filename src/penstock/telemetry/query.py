"""The numbers of one query, for whoever asks for them: a sink that counts."""

from __future__ import annotations

import math
import threading
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from penstock.clock import Clock
from penstock.plan import BatchEcho
from penstock.sample import BatchSample, Code, Decision, Status
from penstock.score.met import Met
from penstock.slo import Metric, Slo

BUCKETS_S = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 7.5, 10, 15, 30, 60, 120, 300, 600)
"""Upper bounds of the histogram of batch durations (s); one more has none."""
PARTS = ("controller", "gate", "sampler", "monitor", "sink", "journal")
"""Parts of Penstock whose faults are counted."""

_FAULT = "-fault"
# The user's own limit is in force again.
_LIMIT_RETURNED = ("gave-up", "detached")


@dataclass(frozen=True)
class Query:
    """What is known of a run before its first batch."""

    id: str
    name: str | None
    source: str
    unit: str
    slo: Slo


@dataclass
class Totals:
    """What only grows, over all runs of a query.

    >>> totals = Totals()
    >>> totals.add(BatchSample(7, 100, 100, processing_s=0.8, durations_s={"wal": 0.1}), Slo.parse("<= 1 s"))
    >>> totals.items, totals.met, totals.missed, totals.seconds_by_phase["wal"]
    (100, 1, 0, (0.1, 1))
    """

    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS_S) + 1))
    seconds: float = 0.0
    seconds_by_phase: dict[str, tuple[float, int]] = field(default_factory=dict)
    items: int = 0
    met: int = 0
    missed: int = 0
    decisions: Counter[Code] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)

    def add(self, sample: BatchSample, slo: Slo) -> None:
        """One more batch."""
        self.items += sample.items
        met = Met.of([sample], slo)
        self.met += met.batches
        self.missed += met.counted - met.batches
        # Where the machine's clock was set during a batch, its times are fiction.
        if sample.status is Status.CLOCK_STEP or not math.isfinite(sample.processing_s):
            return
        self.buckets[bisect_left(BUCKETS_S, sample.processing_s)] += 1
        self.seconds += sample.processing_s
        for phase, took_s in sample.durations_s.items():
            seconds, batches = self.seconds_by_phase.get(phase, (0.0, 0))
            self.seconds_by_phase[phase] = (seconds + took_s, batches + 1)


class QueryNumbers:
    """The sink that counts one run: its totals go on from those of the run before, what is true now is its own.

    Only confirmed samples count, each batch once. `lock` is held while numbers change, and by who reads several.
    """

    def __init__(self, query: Query, label: str, totals: Totals, clock: Clock, lock: threading.Lock) -> None:
        self.query = query
        self.label = label
        self.totals = totals
        self.limit: float | None = None
        self.backlog: float | None = None
        self.record_age_s: float | None = None
        self.ended_s: float | None = None
        """When the run ended, on the monotonic clock."""
        self._clock = clock
        self._lock = lock
        self._counted: int | None = None

    @property
    def target_s(self) -> float | None:
        """The latency that is asked for, as the first or the second objective."""
        return self._target(throughput=False)

    @property
    def target_per_s(self) -> float | None:
        """The throughput that is asked for."""
        return self._target(throughput=True)

    def sample(self, sample: BatchSample, *, control_s: float | None = None, obeyed: int | None = None) -> None:
        """Count a confirmed batch."""
        if not sample.confirmed or sample.batch_id == self._counted:
            return
        with self._lock:
            self._counted = sample.batch_id
            self.totals.add(sample, self.query.slo)
            self.backlog, self.record_age_s = sample.backlog, sample.end_to_end_s

    def decision(self, batch_id: int, decision: Decision, *, applied: bool) -> None:
        """Count a decision; one that a gate took is the limit now in force."""
        with self._lock:
            if decision.code is not None:
                self.totals.decisions[decision.code] += 1
            if applied:
                self.limit = decision.size

    def echo(self, echo: BatchEcho) -> None:
        """Not counted: stages have names that users choose, and labels are few."""

    def event(self, name: str, **details: Any) -> None:
        """Count faults. One that repeats is told when it begins, and with how often when it is over."""
        with self._lock:
            if name in _LIMIT_RETURNED:
                self.limit = None
            if name == "journal-lost":
                self.totals.faults["journal"] += int(details["records"])
            elif name.endswith(_FAULT) and (part := name.removesuffix(_FAULT)) in PARTS:
                self.totals.faults[part] += int(details["times"]) - 1 if "times" in details else 1

    def close(self) -> None:
        """The run is over: nothing is true now any more, the totals stay."""
        with self._lock:
            self.limit = self.backlog = self.record_age_s = None
            self.ended_s = self._clock.monotonic_s()

    def _target(self, throughput: bool) -> float | None:
        both = (self.query.slo, self.query.slo.also)
        asked = [slo.target for slo in both if slo is not None and (slo.metric is Metric.THROUGHPUT) is throughput]
        return asked[0] if asked else None
