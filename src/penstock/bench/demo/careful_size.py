"""The fixed size that a careful engineer would set by hand: the heaviest items must stay within the bound.

Two sizes are tried on the heaviest items alone. A line through the two median times gives the fixed time a of a batch
and the time b of an item, and the size is the one that takes 0.8 of the bound:

    n = (0.8 bound - a) / b

The last fifth is the margin for noise. Whoever sets `maxOffsetsPerTrigger` by hand does the same, with more patience.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from penstock.bench.run import PreparedRun, trial
from penstock.patterns.arrivals import Saturated
from penstock.patterns.grammar import parse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHARE = 0.8
TRIED = (500, 1500)
_BATCHES = 6


@dataclass(frozen=True)
class CarefulSize:
    """The size, and the two times that it follows from."""

    size: float
    batch_s: float
    item_s: float

    @classmethod
    def of(cls, times: Sequence[tuple[int, float]], bound_s: float, share: float = SHARE) -> CarefulSize:
        """From the items and the seconds of batches of two sizes.

        >>> CarefulSize.of([(500, 0.4), (500, 0.4), (1500, 0.8), (1500, 3.0), (1500, 0.8)], bound_s=1.0)
        CarefulSize(size=1500.0, batch_s=0.2, item_s=0.0004)
        """
        small, large = sorted({items for items, _ in times})
        small_s, large_s = (median(took_s for items, took_s in times if items == each) for each in (small, large))
        # On a busy machine a larger batch may seem to take no longer: then all of the time counts as that of items.
        item_s = round((large_s - small_s) / (large - small), 9)
        if item_s <= 0:
            item_s = large_s / large
        batch_s = max(round(large_s - item_s * large, 9), 0.0)
        # Where the fixed time alone takes that long nobody would go down to single items.
        return cls(float(max(int((share * bound_s - batch_s) / item_s), small // 5, 1)), batch_s, item_s)


def careful_size(
    spark: SparkSession, prepared: PreparedRun, heaviest: str, out: Path, stop: threading.Event
) -> CarefulSize | None:
    """Try both sizes on items of the cost `heaviest`; None where somebody has stopped it."""
    times: list[tuple[int, float]] = []
    for rows in TRIED:
        if stop.is_set():
            return None
        items = _BATCHES * rows
        workload = replace(prepared.workload, items=items, arrivals=Saturated(), cost=parse(heaviest))
        # The first batch of each is planned and compiled; the others are the measure.
        times += trial(spark, prepared, workload, rows, out, stop)[1:]
    if stop.is_set() or len({items for items, _ in times}) != len(TRIED):
        return None
    return CarefulSize.of(times, prepared.slo.high)
