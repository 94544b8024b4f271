"""Table 4: how far ahead a change of n completes, soft and hard, by the definitions that our operator runs with.

Nothing is timed: the extent is a pure function of the row at which the change is asked for. The paper changes n at
random; here n and n' are drawn from 1 to 10, and the row evenly over one turn of all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from penstock.reproduce.gasser.published import MOST_REPLICAS, TABLE_4, TABLE_4_LENGTH, Extent
from penstock.stages.windows.schedule import Epoch, Schedule
from penstock.stages.windows.spec import WindowSpec
from penstock.stages.windows.switch import HARD, SOFT, switch

CHANGES = 5000
SEED = 1


@dataclass(frozen=True)
class Drawn:
    """One change: asked for at this row, counted in batches, from n to n' replicas."""

    asked: float
    replicas: int
    wanted: int


def all_extents(changes: int = CHANGES) -> dict[tuple[int, int], Extent]:
    """Every row of table 4."""
    return {(every, batch): extents(every, batch, changes) for every, batch in TABLE_4}


def extents(every: int, batch: int, changes: int = CHANGES) -> Extent:
    """One row.

    >>> row = extents(5, 384, changes=500)
    >>> row.hard < row.soft < row.soft_max
    True
    """
    spec = WindowSpec(TABLE_4_LENGTH, every)
    found: dict[str, list[int]] = {SOFT: [], HARD: []}
    for drawn in _draw(changes):
        schedule = Schedule(spec, (Epoch(0, batch, drawn.replicas),))
        asked = int(drawn.asked * batch * every)
        for protocol, seen in found.items():
            seen.append(switch(schedule, asked, batch, drawn.wanted, protocol).extent)
    soft, hard = found[SOFT], found[HARD]
    return Extent(fmean(soft), float(max(soft)), fmean(hard), float(max(hard)))


def _draw(changes: int) -> list[Drawn]:
    random = np.random.default_rng(SEED)
    turn = math.lcm(*range(1, MOST_REPLICAS + 1))
    drawn: list[Drawn] = []
    while len(drawn) < changes:
        replicas, wanted = (int(each) for each in random.integers(1, MOST_REPLICAS + 1, 2))
        if replicas != wanted:
            drawn.append(Drawn(float(random.uniform(0, turn)), replicas, wanted))
    return drawn
