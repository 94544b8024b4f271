"""FAF: one whole step at a time."""

from __future__ import annotations

from penstock.control.step import StepController


class Faf(StepController):
    """Fixed adaptation factor: one whole step up or down whenever the value leaves the band.

    With latency l, target T, tolerance h:

        size' = size + step   if l < T (1 - h)
        size' = size - step   if l > T (1 + h)

    Source: Stein et al.; algorithm 4.1 of the thesis on adaptive micro-batching.

    >>> from penstock.sample import BatchSample
    >>> from penstock.slo import Slo
    >>> controller = Faf(Slo.parse("50 ms ± 10%"), size=100, step=10)
    >>> controller.decide(BatchSample(batch_id=0, size=100, items=100, processing_s=0.060))
    Decision(size=90.0, reason='latency 60 ms is over 55 ms: -10% to 90', min_size=None, max_wait_s=None, item_s=0.0,
    code=None)
    """

    def steps_up(self, ratio: float) -> float:
        """One."""
        return 1.0

    def steps_down(self, ratio: float) -> float:
        """One."""
        return 1.0
