"""`device="auto"`: which device runs a call. It learns from what ran, and knows neither clocks nor devices."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.devices.cost import Cost
from penstock.errors import BadInputError
from penstock.units import format_duration

log = logging.getLogger("penstock")

# Devices predicted to take more than so many times the cheapest are not tried.
MOST_TRIAL_RATIO = 4.0
# What trials may cost beyond the cheapest device, as a share of all time spent.
TRIAL_SHARE = 0.03
# Choices after which what is known of a device at this order of magnitude of work is tried again.
STALE_AFTER = 64


@dataclass(frozen=True)
class Choice:
    """A device, and why."""

    device: str
    reason: str

    def __post_init__(self) -> None:
        if not self.device or not self.reason:
            raise BadInputError("choice", self.device, "no device or no reason", "give both")


class Chooser:
    """Chooses for one kernel, in one process: the device with the least predicted time for this work.

    Others are tried where they have not run at this order of magnitude of work, or not for long; never one predicted to
    take over 4 times as long, and only while trials have cost at most 3% of all time. A device's first call warms it
    up, and is not learned from. A device that failed is not chosen again.

    >>> chooser = Chooser(["numpy", "numba"])
    >>> for work in (0, 10, 1_000):
    ...     chooser.ran("numpy", work, 5e-6 + 1e-6 * work)
    ...     chooser.ran("numba", work, 5e-5 + 1e-9 * work)
    >>> chooser.choose(10).device, chooser.choose(1_000_000).device
    ('numpy', 'numba')
    """

    def __init__(self, devices: Sequence[str]) -> None:
        if not devices:
            raise BadInputError("devices", list(devices), "nothing could run the kernel", "name at least one")
        self._costs: dict[str, Cost | None] = dict.fromkeys(devices)
        self._turn = 0
        self._looked: dict[tuple[str, int], int] = {}
        self._spent_s = 0.0
        self._trials_s = 0.0

    @property
    def devices(self) -> list[str]:
        """Those that have not failed, in the order that was given."""
        return list(self._costs)

    def choose(self, work: int) -> Choice:
        """The device for so much work, Σ(hi - lo)."""
        self._turn += 1
        known = {name: cost.predict(work) for name, cost in self._costs.items() if cost is not None and cost.known}
        if not known:
            return Choice(self.devices[0], "nothing has run yet")
        best = min(known, key=known.__getitem__)
        for name in sorted(known, key=known.__getitem__)[1:]:
            if self._worth_a_trial(name, work, known[name], known[best]):
                self._trials_s += known[name] - known[best]
                beside = f"{format_duration(known[name])} predicted, {format_duration(known[best])} on {best}"
                return Choice(name, f"trial: {beside}")
        others = [f"{format_duration(seconds)} on {name}" for name, seconds in known.items() if name != best]
        return Choice(best, ", ".join([f"{format_duration(known[best])} predicted", *others]))

    def ran(self, device: str, work: int, seconds: float) -> None:
        """A call took so long."""
        if device not in self._costs:
            return
        cost = self._costs[device]
        if cost is None:
            self._costs[device] = Cost()
            return
        cost.learn(work, seconds)
        self._spent_s += seconds
        self._looked[device, _magnitude(work)] = self._turn

    def failed(self, device: str, error: Exception) -> None:
        """A device raised: another takes over, for good. Where it was the last one, the error is raised again."""
        if list(self._costs) == [device]:
            raise error
        if self._costs.pop(device, self) is not self:
            log.warning("device %s failed, %s take over: %s", device, " or ".join(self._costs), error)

    def _worth_a_trial(self, name: str, work: int, seconds: float, least: float) -> bool:
        looked = self._looked.get((name, _magnitude(work)))
        return (
            (looked is None or self._turn - looked >= STALE_AFTER)
            and seconds <= MOST_TRIAL_RATIO * least
            and self._trials_s + seconds - least <= TRIAL_SHARE * self._spent_s
        )


def _magnitude(work: int) -> int:
    return len(str(work))
