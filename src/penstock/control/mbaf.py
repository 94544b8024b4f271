"""MBAF: more than a step, the farther from the target."""

from __future__ import annotations

from penstock.control.step import StepController


def multiplier_up(ratio: float, bounded: bool) -> float:
    """How many steps to grow, from the ratio of latency to target.

    Bounded it is (2 * target - latency) / target, between 1 and 2; unbounded, as PMBAF needs it, target / latency.

    >>> multiplier_up(0.5, bounded=True), multiplier_up(0.25, bounded=False)
    (1.5, 4.0)
    """
    return 2 - ratio if bounded else 1 / ratio


class Mbaf(StepController):
    """Multiplier-based adaptation factor: the step is multiplied by the distance, to reach the band fast.

    With r = latency / target, outside the band target (1 ± h):

        size' = size + step * (2 - r)   below
        size' = size - step * r         above

    Source: Stein et al.; algorithm 4.4 of the thesis on adaptive micro-batching.

    >>> from penstock.sample import BatchSample
    >>> from penstock.slo import Slo
    >>> controller = Mbaf(Slo.parse("50 ms ± 10%"), size=100, step=10)
    >>> controller.decide(BatchSample(batch_id=0, size=100, items=100, processing_s=0.030)).reason
    'size 114 (+14%): the last batch took 30 ms, under 45 ms'
    """

    def steps_up(self, ratio: float) -> float:
        """Between one and two."""
        return multiplier_up(ratio, bounded=True)

    def steps_down(self, ratio: float) -> float:
        """As many as latency is targets."""
        return ratio
