"""What the controllers share that learn from the size of the batch that was measured, not only from its latency."""

from __future__ import annotations

from abc import abstractmethod

from penstock.control.base import BaseController
from penstock.sample import BatchSample, Decision
from penstock.slo import Slo


class LearningController(BaseController):
    """Hands a subclass the sample beside its ratio, and adds what it believes to the reason.

    Samples may come late and batches may be smaller than the limit, so what is learned is learned about the size of
    the sample's own batch. A size assigned from outside teaches nothing about the machine, so nothing is forgotten.

    >>> class Proportional(LearningController):
    ...     def plan_from(self, sample: BatchSample, ratio: float) -> float:
    ...         self.belief = "the same time for every item"
    ...         return sample.size / ratio
    >>> controller = Proportional(Slo.parse("1 s ± 10%"), size=300)
    >>> controller.decide(BatchSample(batch_id=0, size=100, items=100, processing_s=0.5)).reason
    'size 200 (-33%): the last batch took 500 ms, under 900 ms; the same time for every item'
    """

    def __init__(self, slo: Slo, size: float) -> None:
        super().__init__(slo, size)
        self.belief = ""
        self._sample: BatchSample | None = None

    @abstractmethod
    def plan_from(self, sample: BatchSample, ratio: float) -> float:
        """The next size, before it is clamped to 1 or more; sets `belief`."""

    def plan(self, ratio: float) -> float:
        """The plan on the sample that is being decided on."""
        assert self._sample is not None
        return self.plan_from(self._sample, ratio)

    def decide(self, sample: BatchSample) -> Decision:
        """Plan on a usable sample, keep the size on any other."""
        self._sample, self.belief = sample, ""
        decision = super().decide(sample)
        # Not kept: a snapshot would have to hold the sample too.
        self._sample = None
        return Decision(decision.size, f"{decision.reason}; {self.belief}") if self.belief else decision

    def agreeing(self, size: float, ratio: float) -> float:
        """The size, unless it goes against the sample: below the band the size may only grow, above it only shrink.

        A batch that the source could not fill, or one from before the last decision, may be fast and yet call for less
        than what is in force. It proves nothing against that size.
        """
        if ratio < self._low:
            return max(size, self.size)
        return min(size, self.size) if ratio > self._high else size
