"""Another aim for a controller that has but one: its clock runs faster or slower than ours."""

from __future__ import annotations

import math
from dataclasses import replace

from penstock.control.protocol import Controller, DecideAtAdmission
from penstock.sample import BatchSample, Decision

# So many are on their way at the most.
_MOST = 256


class Retarget:
    """Shows a controller every duration times a factor, and takes what it decides in seconds back into ours.

    With a factor f, a controller that holds a latency at T on its clock holds T / f on ours, and one that holds a
    throughput R holds R f: whatever its formula is, it steers to another aim. Waits, processing and the time from one
    start to the next are all scaled, so that batches that did not overlap do not overlap there either.

    >>> from penstock.control.fixed import Fixed
    >>> from penstock.control.waiting import Waiting
    >>> from penstock.slo import Slo
    >>> slo = Slo.parse("<= 5 s end-to-end")
    >>> waiting = Waiting(Fixed(slo, 50_000), slo)
    >>> for size, processing_s in ((1000, 0.3), (4000, 0.6), (2000, 0.4)):
    ...     batch = BatchSample(0, size, size, processing_s, wait_s=0.1, backlog=0)
    ...     decision = Retarget().decide(waiting, batch, 2.0)
    >>> round(decision.max_wait_s, 6), round(decision.item_s, 6)
    (1.972727, 0.00015)
    """

    def __init__(self) -> None:
        self._began_s = math.nan
        self._shown_s = 0.0
        self._factor = 1.0
        # Where batches overlap: when those on their way were admitted, and what the controller was shown.
        self._admitted_s: dict[float, float] = {}

    def decide(self, inner: Controller, sample: BatchSample, factor: float, longest_s: float = math.inf) -> Decision:
        """The inner decision on the scaled batch, in our seconds; no wait longer than `longest_s`."""
        shown = replace(
            sample,
            processing_s=factor * sample.processing_s,
            wait_s=None if sample.wait_s is None else factor * sample.wait_s,
            durations_s={phase: factor * each_s for phase, each_s in sample.durations_s.items()},
            started_s=self._shown_start_s(sample.started_s, factor),
        )
        decision = inner.decide(shown)
        if decision.max_wait_s is None:
            return decision
        return replace(
            decision, max_wait_s=min(decision.max_wait_s / factor, longest_s), item_s=decision.item_s / factor
        )

    def decide_at_admission(
        self, ask: DecideAtAdmission, factor: float, at_s: float, waiting: float, idle: bool
    ) -> Decision | None:
        """What is answered as a batch is admitted, asked with the time on the other clock."""
        shown_s = self._start_s(at_s, factor)
        if shown_s is None:
            return None
        self._admitted_s[at_s] = shown_s
        if len(self._admitted_s) > _MOST:
            del self._admitted_s[next(iter(self._admitted_s))]
        return ask(shown_s, waiting, idle)

    def _shown_start_s(self, began_s: float | None, factor: float) -> float | None:
        known_s = None if began_s is None else self._admitted_s.pop(began_s, None)
        return self._start_s(began_s, factor) if known_s is None else known_s

    def _start_s(self, began_s: float | None, factor: float) -> float | None:
        # Seconds since an epoch times a factor that changes would jump by weeks: only the way from start to start is
        # scaled, by the factor of the batch that ran there.
        if began_s is None or not math.isfinite(began_s):
            return began_s
        if math.isnan(self._began_s):
            self._shown_s = began_s
        else:
            self._shown_s += self._factor * (began_s - self._began_s)
        self._began_s, self._factor = began_s, factor
        return self._shown_s
