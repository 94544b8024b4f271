"""How many items a batch may have for hardly any time, where no size meets the objective."""

from __future__ import annotations

import math

# So many batches of a size have a mean to compare.
_ROUND = 8
_ALIKE = 1.25
# What is worth twice the items; after how many batches it is tried again where it was not.
_HARDLY = 1.1
_AGAIN = 40
# Of a mean that is shorter still, so much is believed.
_GAIN = 0.2
# A batch that takes so many times the smallest ones is another load's.
_OTHER = 2.0


class Floor:
    """The size below which batches are hardly faster, found by doubling it.

    Where the fixed time of a batch is beyond the objective, small batches do not help, and cost all throughput. Batches
    of a size have a mean time t; with t' that of the smallest ones, the size is

        doubled where t <= 1.1 t',   else halved, and then left for 40 batches

    >>> floor = Floor(size=1.0)
    >>> for _ in range(100):
    ...     floor.learn(floor.size, 1.5 + 0.001 * floor.size)
    >>> floor.size
    128.0
    """

    def __init__(self, size: float) -> None:
        self.size = max(size, 1.0)
        self._times: list[float] = []
        self._least_time = math.inf
        self._rest = 0

    def learn(self, size: float, took: float) -> None:
        """One more batch; those of other sizes were decided before, or by others."""
        self._rest -= 1
        if not self.size / _ALIKE < size < self.size * _ALIKE:
            return
        self._times.append(took)
        if len(self._times) < _ROUND:
            return
        mean = sum(self._times) / len(self._times)
        self._times.clear()
        if self._least_time == math.inf or (self.size == 1.0 and mean > _HARDLY * self._least_time):
            self._least_time = mean
        self._least_time += _GAIN * min(mean - self._least_time, 0.0)
        if mean > _HARDLY * self._least_time:
            self.size, self._rest = max(self.size / 2, 1.0), _AGAIN
        elif self._rest <= 0:
            self.size *= 2

    def explains(self, took: float) -> bool:
        """Whether a batch took about as long as the others."""
        return took < _OTHER * self._least_time
