"""PMBAF: fine near the target, fast far from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from penstock.control.mbaf import multiplier_up
from penstock.control.pbaf import Lower, check_lower, fraction_down, fraction_up
from penstock.control.step import Step, StepController
from penstock.slo import Slo

_FINE_FROM, _FINE_TO = 0.7, 1.8


def fine_or_fast_up(ratio: float, linear: bool) -> float:
    """How many steps to grow: a fraction near the target, one or more far below it.

    >>> round(fine_or_fast_up(0.8, linear=False), 2), fine_or_fast_up(0.5, linear=False)
    (0.5, 2.0)
    """
    return fraction_up(ratio, linear) if ratio >= _FINE_FROM else multiplier_up(ratio, False)


def fine_or_fast_down(ratio: float) -> float:
    """How many steps to shrink: a fraction near the target, as many as latency is targets far above it.

    >>> round(fine_or_fast_down(1.3), 2), fine_or_fast_down(2.0)
    (0.5, 2.0)
    """
    return fraction_down(ratio) if ratio <= _FINE_TO else ratio


class Pmbaf(StepController):
    """Percentage and multiplier-based adaptation factor: PBAF near the target, MBAF far from it.

    With r = latency / target, outside the band target (1 ± h):

        size' = size + step * 1 / r                     r < 0.7
        size' = size + step * min((1 - 0.6) / r, 1)     0.7 <= r, below   (lower="linear": min((1 - r) / 0.6, 1))
        size' = size - step * min((r - 1) / 0.6, 1)     above, r <= 1.8
        size' = size - step * r                         r > 1.8

    Source: algorithm 4.5 of the thesis on adaptive micro-batching; its text removes MBAF's limit of two steps here.

    >>> from penstock.sample import BatchSample
    >>> controller = Pmbaf(Slo.parse("50 ms ± 10%"), size=100, step=10)
    >>> controller.decide(BatchSample(batch_id=0, size=100, items=100, processing_s=0.100)).reason
    'size 80 (-20%): the last batch took 100 ms, over 55 ms'
    """

    live_defaults: ClassVar[Mapping[str, object]] = {"warm_up": True, "step": "50%"}
    """Above the target, (r - 1) / 0.6 of 50% is 0.83 (r - 1): nearly the whole error where latency follows size."""

    def __init__(self, slo: Slo, size: float, step: Step | float | str = 10, lower: Lower = "printed") -> None:
        super().__init__(slo, size, step)
        self.lower = check_lower(lower)

    def steps_up(self, ratio: float) -> float:
        """A fraction near the target, one or more far below it."""
        return fine_or_fast_up(ratio, self.lower == "linear")

    def steps_down(self, ratio: float) -> float:
        """A fraction near the target, as many as latency is targets far above it."""
        return fine_or_fast_down(ratio)
