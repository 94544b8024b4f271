"""How B and n change while the stream runs: Gasser's soft and hard reconfiguration (section IV-A).

    soft: switch = ceil(t_r / (LCM(n, n') s_b)) LCM(n, n') s_b                                             (1)
    hard: switch = ceil(t_r / (n s_b)) n s_b                                                               (3)
    both: safe   = switch + w_b - s_b                                                                      (2)

t_r is the last row before the change was asked for. From the switch row on batches are the new epoch's; from the safe
row on no row belongs to an old one any more. Rows between the two go to old and new groups at once, which is the
paper's replay. Rows are counted from the beginning of the epoch in force, whose batch 0 is replica 0's.

A soft change makes both assignments agree at the switch row, so it may be far ahead: for B it is a multiple of
n s LCM(B, B'), for both at once of the least common multiple of n B s and n' B' s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from penstock.errors import BadInputError
from penstock.stages.windows.schedule import Epoch, Schedule

SOFT = "soft"
HARD = "hard"
PROTOCOLS = (SOFT, HARD)


@dataclass(frozen=True)
class Switch:
    """A change of B or n: the row it was asked at, the switch row, the safe row, and the epoch that follows."""

    asked: int
    switch: int
    safe: int
    epoch: Epoch
    protocol: str

    @property
    def extent(self) -> int:
        """Rows from the asking (included) to the safe row (excluded); the hard protocol counts its replay as well."""
        replayed = self.safe - self.switch if self.protocol == HARD else 0
        return self.safe - self.asked + replayed


def switch(schedule: Schedule, asked: int, batch: int, replicas: int, protocol: str = HARD) -> Switch:
    """Where another B and n take effect, asked for at this row.

    The paper's toy example (w = 5, s = 1, B = 2, n from 2 to 3 after row 5):

    >>> from penstock.stages.windows.spec import WindowSpec
    >>> toy = Schedule(WindowSpec(5, 1), (Epoch(0, batch=2, replicas=2),))
    >>> soft, hard = (switch(toy, 5, batch=2, replicas=3, protocol=each) for each in ("soft", "hard"))
    >>> (soft.switch, soft.safe, soft.extent), (hard.switch, hard.safe, hard.extent)
    ((12, 16, 11), (8, 12, 11))
    """
    spec, old = schedule.spec, schedule.last
    step = _step(schedule, batch, replicas, protocol)
    origin = old.first * spec.every
    # An epoch has at least one batch, so that the windows of two epochs never mix.
    ahead = max(asked - origin, 1)
    at = origin + -(-ahead // step) * step
    return Switch(asked, at, at + spec.overlap, Epoch(at // spec.every, batch, replicas), protocol)


def bound(schedule: Schedule, batch: int, replicas: int, protocol: str = HARD) -> int:
    """The most rows that a change may take (propositions 1 and 2).

    >>> from penstock.stages.windows.spec import WindowSpec
    >>> toy = Schedule(WindowSpec(5, 1), (Epoch(0, batch=2, replicas=2),))
    >>> bound(toy, 2, 3, "soft"), bound(toy, 2, 3, "hard")
    (16, 12)
    """
    spec, old = schedule.spec, schedule.last
    rows, slide = old.batch_rows(spec), old.batch_slide(spec)
    if protocol == HARD:
        return slide * (old.replicas - 2) + 2 * rows
    return _step(schedule, batch, replicas, protocol) + rows - slide


def _step(schedule: Schedule, batch: int, replicas: int, protocol: str) -> int:
    if protocol not in PROTOCOLS:
        raise BadInputError("protocol", protocol, "no such protocol", f"write one of {', '.join(PROTOCOLS)}")
    spec, old = schedule.spec, schedule.last
    Epoch(old.first, batch, replicas)
    turns = old.replicas * old.batch_slide(spec)
    return turns if protocol == HARD else math.lcm(turns, replicas * batch * spec.every)
