"""A backlog makes items wait, whatever the size of a batch: no reason to make it smaller."""

from __future__ import annotations

from dataclasses import replace

from penstock.control.protocol import Controller
from penstock.control.reading import shown
from penstock.control.wrappers import Wrapper
from penstock.sample import BatchSample, Decision


class Draining(Wrapper):
    """Shows the controller inside the wait that belongs to a batch's size, not the one that a backlog caused.

    Where a batch left a backlog, or the one before it did, with w its wait and p its processing:

        w' = min(w, p)

    Once the backlog is gone, a batch waits for its predecessor, and that takes as long as itself where sizes are
    steady. Any more is the backlog's doing: a smaller batch would not have waited less, and drains more slowly.

    >>> from penstock.control.faf import Faf
    >>> from penstock.slo import Slo
    >>> slo = Slo.parse("<= 2 s end-to-end")
    >>> controller = Draining(Faf(slo, size=100))
    >>> print(controller.decide(BatchSample(0, 100, 100, processing_s=0.5, wait_s=60.0, backlog=9000)).reason)
    end-to-end latency 1 s is under 1.636 s: +10% to 110; its wait of 60 s is the backlog's and counts as 500 ms
    """

    def __init__(self, inner: Controller) -> None:
        super().__init__(inner)
        self._behind = False

    def decide(self, sample: BatchSample) -> Decision:
        """The inner decision on what the batch will be like without its backlog."""
        if not sample.usable:
            return self.inner.decide(sample)
        behind = sample.backlog is not None and sample.backlog > 0
        cleared, self._behind = self._behind, behind
        wait_s, took_s = sample.wait_s, sample.processing_s
        if wait_s is None or wait_s <= took_s or not (behind or cleared):
            return self.inner.decide(sample)
        decision = self.inner.decide(replace(sample, wait_s=took_s))
        note = f"its wait of {shown(wait_s)} is the backlog's and counts as {shown(took_s)}"
        return replace(decision, reason=f"{decision.reason}; {note}")
