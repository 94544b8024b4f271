"""PBAF and PBAF-WT: a fraction of a step near the target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from penstock.control.step import Step, StepController
from penstock.errors import BadInputError
from penstock.slo import Slo

Lower = Literal["printed", "linear"]

# The thesis: MaxGrowBoundary. Farther off than this share of the target, the step is whole.
_WHOLE_STEP_AT = 0.6


def fraction_up(ratio: float, linear: bool) -> float:
    """The share of a step to grow by, from the ratio of latency to target.

    As printed it is min((1 - 0.6) / ratio, 1), which is still 0.42 of a step at 0.95 of the target. The linear form
    min((1 - ratio) / 0.6, 1) goes to nothing at the target and is whole at the same 0.4 of it.

    >>> [round(fraction_up(0.95, linear), 3) for linear in (False, True)]
    [0.421, 0.083]
    """
    share = (1 - ratio) / _WHOLE_STEP_AT if linear else (1 - _WHOLE_STEP_AT) / ratio
    return min(share, 1.0)


def fraction_down(ratio: float) -> float:
    """The share of a step to shrink by: min((ratio - 1) / 0.6, 1).

    >>> round(fraction_down(1.2), 3), fraction_down(2.0)
    (0.333, 1.0)
    """
    return min((ratio - 1) / _WHOLE_STEP_AT, 1.0)


def check_lower(lower: Lower) -> Lower:
    """The choice itself, or an error that names the choices."""
    if lower not in ("printed", "linear"):
        raise BadInputError("lower", lower, "no such form below the target", "write 'printed' or 'linear'")
    return lower


class Pbaf(StepController):
    """Percentage-based adaptation factor: a whole step far from the target, a fraction of it close by.

    With r = latency / target, outside the band target (1 ± h):

        size' = size + step * min((1 - 0.6) / r, 1)   below   (lower="linear": min((1 - r) / 0.6, 1))
        size' = size - step * min((r - 1) / 0.6, 1)   above

    Source: Stein et al.; algorithm 4.2 of the thesis on adaptive micro-batching.

    >>> from penstock.sample import BatchSample
    >>> controller = Pbaf(Slo.parse("50 ms ± 10%"), size=100, step=10)
    >>> controller.decide(BatchSample(batch_id=0, size=100, items=100, processing_s=0.030)).reason
    'size 107 (+6.7%): the last batch took 30 ms, under 45 ms'
    """

    live_defaults: ClassVar[Mapping[str, object]] = {"warm_up": True, "step": "50%"}
    """Above the target, (r - 1) / 0.6 of 50% is 0.83 (r - 1): nearly the whole error where latency follows size."""

    def __init__(self, slo: Slo, size: float, step: Step | float | str = 10, lower: Lower = "printed") -> None:
        super().__init__(slo, size, step)
        self.lower = check_lower(lower)

    def steps_up(self, ratio: float) -> float:
        """A fraction, by the form chosen."""
        return fraction_up(ratio, self.lower == "linear")

    def steps_down(self, ratio: float) -> float:
        """A fraction."""
        return fraction_down(ratio)


class PbafWt(Pbaf):
    """PBAF without threshold: the formulas of PBAF on both sides of the target itself, also within the band.

    Source: Stein et al.; algorithm 4.3 of the thesis on adaptive micro-batching.

    >>> from penstock.sample import BatchSample
    >>> controller = PbafWt(Slo.parse("50 ms ± 10%"), size=100, step=10)
    >>> controller.decide(BatchSample(batch_id=0, size=100, items=100, processing_s=0.053)).reason
    'size 99 (-1%): the last batch took 53 ms, over 50 ms'
    """

    def __init__(self, slo: Slo, size: float, step: Step | float | str = 10, lower: Lower = "printed") -> None:
        super().__init__(slo, size, step, lower)
        self._low = self._high = 1.0
