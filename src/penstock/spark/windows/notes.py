"""What is worth telling of the windows of a query: the device that runs them and why, and what was left out."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.plan import BatchEcho
from penstock.spark.advice import Advice
from penstock.units import format_duration

ROW, ADVANCE = "row", "row-advance"
"""The highest position that workers told so far, and by how much one batch went on at the most."""

_WORK, _SECONDS = "work:", "kernel:"
# What a device did counts half as much ten batches later: a trial of another one changes nothing.
_FORGET = 0.5 ** (1 / 10)
_LEFT_OUT = {
    "late_rows": Advice("late-rows", "rows came late or twice, and windows have dropped them"),
    "null_rows": Advice("null-rows", "rows had no key, order or time, and windows have dropped them"),
    "failed_windows": Advice("failed-windows", "windows raised an error, and are null"),
    "lost_devices": Advice("device-failed", "times a device failed in a worker, and another has taken over for good"),
    "skipped_windows": Advice("skipped-windows", "windows missed a row, and were left out"),
}


def left_out(echo: BatchEcho) -> Iterator[Advice]:
    """What a batch did not compute.

    >>> [each.why for each in left_out(BatchEcho(3, (0,), 1, counts={"late_rows": 2.0}))]
    ['batch 3: 2 rows came late or twice, and windows have dropped them']
    """
    for name, given in _LEFT_OUT.items():
        if many := echo.counts.get(name, 0.0):
            yield Advice(given.name, f"batch {echo.batch_id}: {many:.0f} {given.why}")


class Devices:
    """Which device does most of the work lately, and what each has cost."""

    def __init__(self) -> None:
        self._most: str | None = None
        self._lately: dict[str, float] = {}
        self._work: dict[str, float] = {}
        self._seconds: dict[str, float] = {}

    def heard(self, echo: BatchEcho) -> str | None:
        """Why another device runs the windows than before, where one does.

        >>> Devices().heard(BatchEcho(3, (0,), 1, {"kernel:numba": 0.5}, counts={"work:numba": 1e6}))
        'numba runs the windows: 500 ns a row and window'
        """
        self._lately = {device: _FORGET * many for device, many in self._lately.items()}
        for name, many in echo.counts.items():
            if name.startswith(_WORK) and many:
                device = name.removeprefix(_WORK)
                took_s = echo.seconds.get(_SECONDS + device, 0.0)
                for sums, more in ((self._lately, many), (self._work, many), (self._seconds, took_s)):
                    sums[device] = sums.get(device, 0.0) + more
        most = max(self._lately, key=self._lately.__getitem__, default=None)
        if most is None or most == self._most:
            return None
        self._most = most
        costs = {device: self._seconds[device] / work for device, work in self._work.items()}
        others = ", ".join(f"{name} {_each(cost_s)}" for name, cost_s in sorted(costs.items()) if name != most)
        return f"{most} runs the windows: {_each(costs[most])} a row and window" + (f"; {others}" if others else "")


def _each(cost_s: float) -> str:
    return format_duration(cost_s) if cost_s >= 1e-6 else f"{1e9 * cost_s:.3g} ns"
