"""PID: the classical controller, on the size itself or on its relative change."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from penstock.control.base import BaseController
from penstock.errors import BadInputError
from penstock.size import clamp
from penstock.slo import Slo
from penstock.units import parse_count, parse_percent

Gain = float | str

# A factor of a billion either way is as good as any beyond it, and keeps the arithmetic finite.
_LARGEST_CHANGE = math.log(1e9)


def position(error: float, total: float, last: float, kp: float, ki: float, kd: float) -> float:
    """The output of the positional form: total is the sum of all errors, this one included.

    >>> position(0.5, 2.0, 0.25, kp=10, ki=15, kd=4)
    36.0
    """
    return kp * error + ki * total + kd * (error - last)


class Pid(BaseController):
    """Proportional-integral-derivative controller, with gains in items (10) or in percent of the size ("10%").

    With r = latency / target, e1 and e2 the errors before e (0 at first), one unit of time a decision:

        items:    e = 1 - r       size' = kp e + ki sum(e) + kd (e - e1)                              positional
        percent:  e = ln(1 / r)   ln size' = ln size + kp (e - e1) + ki e + kd (e - 2 e1 + e2)        incremental

    Positional, the output is the size: the first decision takes no notice of the size it started with. When a result is
    below 1, the size is 1 and the sum starts at 0 again; in percent, where the size itself is the sum, the past errors
    are forgotten. When another part assigns the size, the sum is set to what gives that size, and in percent the past
    errors count as equal to the present one, so it cannot wind up.

    Source: algorithm 4.6 of the thesis on adaptive micro-batching (its min(size, 1) is read as max), with its best
    gains as defaults. The percent form is ours: one set of gains for sizes of 100 and of 1,000,000. Near the target its
    error is the same; far from it, in logarithms, too slow and too fast weigh the same, and no error takes the whole
    batch away.

    >>> from penstock.sample import BatchSample
    >>> controller = Pid(Slo.parse("1 s ± 10%"), size=100, kp=0, ki="50%", kd=0)
    >>> controller.decide(BatchSample(batch_id=0, size=100, items=100, processing_s=0.5)).reason
    'size 141 (+41%): the last batch took 500 ms, under 900 ms'
    >>> controller.decide(BatchSample(batch_id=1, size=141, items=141, processing_s=2.0)).reason
    'size 100 (-29%): the last batch took 2 s, over 1.1 s'
    """

    live_defaults: ClassVar[Mapping[str, object]] = {"warm_up": True, "kp": "30%", "ki": "80%", "kd": "0%"}
    """Where latency is proportional to size, ki = 100% would correct an error in one decision."""

    def __init__(self, slo: Slo, size: float, kp: Gain = 10, ki: Gain = 15, kd: Gain = 3) -> None:
        super().__init__(slo, size)
        self.relative = any(isinstance(gain, str) and "%" in gain for gain in (kp, ki, kd))
        self.kp = _gain("kp", kp, self.relative)
        self.ki = _gain("ki", ki, self.relative)
        self.kd = _gain("kd", kd, self.relative)
        self._sum = 0.0
        self._last = 0.0
        self._before_last = 0.0
        self._decided = self.size

    def plan(self, ratio: float) -> float:
        """The output of the form that the gains call for."""
        error = -math.log(ratio) if self.relative else 1 - ratio
        size = self._incremental(error) if self.relative else self._positional(error)
        self._before_last, self._last = self._last, error
        if size < 1:
            self._sum = 0.0
            if self.relative:
                self._before_last = self._last = 0.0
        self._decided = clamp(size)
        return self._decided

    def _positional(self, error: float) -> float:
        if self.size != self._decided and self.ki > 0:
            other_terms = self.kp * self._last + self.kd * (self._last - self._before_last)
            self._sum = (self.size - other_terms) / self.ki
        self._sum += error
        return position(error, self._sum, self._last, self.kp, self.ki, self.kd)

    def _incremental(self, error: float) -> float:
        if self.size != self._decided:
            self._before_last = self._last = error
        change = (
            self.kp * (error - self._last) + self.ki * error + self.kd * (error - 2 * self._last + self._before_last)
        )
        return self.size * math.exp(clamp(change, -_LARGEST_CHANGE, _LARGEST_CHANGE))


def _gain(field: str, gain: Gain, relative: bool) -> float:
    if isinstance(gain, str) and "%" in gain:
        value = parse_percent(gain, field)
    else:
        value = parse_count(gain, field) if isinstance(gain, str) else float(gain)
        if relative and value != 0:
            raise BadInputError(field, gain, "some gains are in percent and some in items", "give all three in percent")
    if not (math.isfinite(value) and value >= 0):
        raise BadInputError(field, gain, "a gain is finite and not negative", "write e.g. 10 or '10%'")
    return value
