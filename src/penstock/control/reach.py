"""Says when no size can meet the objective, because the fixed time of a batch is beyond it."""

from __future__ import annotations

from collections import deque

from penstock.control.protocol import Controller, asked_at_admission, news_of
from penstock.control.wrappers import Wrapper
from penstock.sample import BatchSample, Decision
from penstock.slo import Metric, Slo
from penstock.units import format_count, format_duration

# Batches in a row that are beyond the objective, before the user is told; and that keep it, before he is told anew.
_BATCHES = 10
# A batch of one item, file or row, and a fraction: nothing smaller can be admitted.
_SMALLEST = 1.5
# Where a batch of half the size takes at least this share of the time, the time is hardly the size's.
_HALF, _HARDLY_LESS = 0.5, 0.8


class Reach(Wrapper):
    """Tells the user, once, that the objective is out of reach for any size, and what is in reach.

    Told after ten batches in a row that took longer than the objective allows, where the smallest of them cannot be
    made smaller, or where smaller ones were hardly shorter. A wait is not counted: it may be the backlog's.

    >>> from penstock.control.faf import Faf
    >>> slo = Slo.parse("1 s ± 10%")
    >>> controller = Reach(Faf(slo, size=1), slo)
    >>> for batch_id in range(10):
    ...     decision = controller.decide(BatchSample(batch_id, 1, 500, processing_s=1.2))
    >>> print(controller.news())
    the last 10 batches all took longer than 1.1 s, the smallest of them (1) took 1.2 s: no size meets the objective; \
ask for 1.3 s or more, or make a batch cheaper (fewer partitions, sources and sinks, less work a batch in foreachBatch)
    """

    def __init__(self, inner: Controller, slo: Slo) -> None:
        super().__init__(inner)
        self.slo = slo
        self._late: deque[tuple[float, float]] = deque(maxlen=_BATCHES)
        self._in_time = 0
        self._told = False
        self._news: str | None = None

    def decide(self, sample: BatchSample) -> Decision:
        """The inner decision."""
        if sample.usable and self.slo.metric is not Metric.THROUGHPUT:
            self._see(sample)
        return self.inner.decide(sample)

    def admit(self, at_s: float, waiting: float, idle: bool) -> Decision | None:
        """The inner answer as a batch is admitted."""
        ask = asked_at_admission(self.inner)
        return None if ask is None else ask(at_s, waiting, idle)

    def news(self) -> str | None:
        """That the objective is out of reach, or else what the inner controller has to tell."""
        news, self._news = self._news, None
        return news or news_of(self.inner)

    def _see(self, sample: BatchSample) -> None:
        if sample.processing_s <= self.slo.high:
            self._late.clear()
            self._in_time += 1
            self._told &= self._in_time < _BATCHES
            return
        self._in_time = 0
        self._late.append((sample.size, sample.processing_s))
        if len(self._late) < _BATCHES or self._told:
            return
        size, took_s = min(self._late)
        larger = [other_s for other, other_s in self._late if size <= _HALF * other]
        if size > _SMALLEST and (not larger or took_s < _HARDLY_LESS * max(larger)):
            return
        self._told = True
        asked_s, found_s = (float(f"{took_s * factor:.2g}") for factor in (1 + self.slo.tolerance, 1))
        self._news = (
            f"the last {_BATCHES} batches all took longer than {format_duration(self.slo.high)}, the smallest of them "
            f"({format_count(size)}) took {format_duration(found_s)}: no size meets the objective; ask for "
            f"{format_duration(asked_s)} or more, or make a batch cheaper (fewer partitions, sources and sinks, less "
            "work a batch in foreachBatch)"
        )
