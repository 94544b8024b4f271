"""A backlog makes items wait, whatever the size of a batch: no reason to make it smaller."""

from __future__ import annotations

from dataclasses import replace

from penstock.control.protocol import Controller
from penstock.control.sample_value import shown
from penstock.control.wrappers import Wrapper
from penstock.sample import BatchSample, Decision
from penstock.size import LARGEST

_SEEN = 16
_WORTH = 0.8
_GROWTH = 1.5
_SATURATED = 0.9


class Draining(Wrapper):
    r"""Shows the controller inside the wait that belongs to a batch's size, not the one that a backlog caused.

    Where a batch left a backlog, or the one before it did, with w its wait and p its processing:

        w' = 0            while more is left than the batch took
        w' = min(w, p)    at the end of the backlog

    Once the backlog is gone, a batch waits for its predecessor, and that takes as long as itself where sizes are
    steady. Any more is the backlog's doing: a smaller batch would not have waited less, and drains more slowly. What is
    left behind another batch is late anyway, so until then the whole of the bound is for processing.

    And where the fixed cost of a batch alone is beyond the bound, no size keeps it: the controller inside would shrink
    the batch, and its throughput with it, and the backlog would grow without end. So as long as there is a backlog, no
    size is taken that has shown less than 80% of the best throughput of late; and while the backlog grows, so does the
    batch, as long as larger ones are seen to do more in their time.

    >>> from penstock.control.faf import Faf
    >>> from penstock.slo import Slo
    >>> slo = Slo.parse("<= 2 s end-to-end")
    >>> controller = Draining(Faf(slo, size=100))
    >>> decision = controller.decide(BatchSample(0, 100, 100, processing_s=0.5, wait_s=60.0, backlog=9000))
    >>> print(decision.reason.replace("; ", ";\n"))
    size 110 (+10%): the last batch took 500 ms end to end, under 1.636 s;
    its wait of 60 s is the backlog's and counts as 0 s
    """

    def __init__(self, inner: Controller) -> None:
        super().__init__(inner)
        self._behind = False
        self._backlog = 0.0
        self._seen: list[tuple[float, float]] = []

    def decide(self, sample: BatchSample) -> Decision:
        """The inner decision on what the batch will be like without its backlog."""
        if not sample.usable:
            return self.inner.decide(sample)
        before = self.size
        behind = sample.backlog is not None and sample.backlog > 0
        cleared, self._behind = self._behind, behind
        self._seen = [*self._seen[1 - _SEEN :], (sample.size, sample.size / sample.processing_s)] if behind else []
        growing = behind and (sample.backlog or 0.0) > self._backlog > 0
        self._backlog = sample.backlog or 0.0
        wait_s, took_s = sample.wait_s, sample.processing_s
        if wait_s is None or not (behind or cleared):
            return self._worthwhile(self.inner.decide(sample), before, sample, growing)
        counted_s = 0.0 if self._backlog > sample.size else min(wait_s, took_s)
        if counted_s == wait_s:
            return self._worthwhile(self.inner.decide(sample), before, sample, growing)
        decision = self.inner.decide(replace(sample, wait_s=counted_s))
        note = f"its wait of {shown(wait_s)} is the backlog's and counts as {shown(counted_s)}"
        return self._worthwhile(replace(decision, reason=f"{decision.reason}; {note}"), before, sample, growing)

    def _worthwhile(self, decision: Decision, before: float, sample: BatchSample, growing: bool) -> Decision:
        """The decision, or the smallest size known to be worth its time where it is among those that are not."""
        if growing and decision.size <= sample.size and self._pays(sample):
            return self._correct(decision, min(_GROWTH * sample.size, LARGEST), before, "the backlog grows")
        enough = _WORTH * max((rate for _, rate in self._seen), default=0.0)
        poor = max((size for size, rate in self._seen if rate < enough), default=0.0)
        good = min((size for size, rate in self._seen if rate >= enough and size > poor), default=0.0)
        if not poor or not good or decision.size > poor:
            return decision
        return self._correct(decision, good, before, "less drains the backlog too slowly")

    def _pays(self, sample: BatchSample) -> bool:
        """Whether a larger batch than this may do more in its time: none clearly smaller has done nearly as much."""
        rate = sample.size / sample.processing_s
        return not any(size * _GROWTH <= sample.size and each >= _SATURATED * rate for size, each in self._seen)
