"""The size classes: how much work a class is, and how its cost is laid out.

Costs are cells of the square (w * w); a light item (16 x 16) takes about 40 µs on one core, the heaviest (88 x 88)
about 30 times that. Work is set so that a class takes its number of batches of 1 s on 2 cores.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from penstock.errors import BadInputError
from penstock.patterns.layout import Layout, thesis_layout, work_layout

NARROW = 16
WIDE = 88
LOW_COST = float(NARROW**2)
HIGH_COST = float(WIDE**2)

# Measured on 2 cores through Spark: about 9e6 of cost a second, after 0.3 s of fixed cost in a batch of 1 s.
WORK_PER_BATCH = 6.5e6

# A row takes 7.4 µs on top of its 0.074 µs a cell: fitted to real runs, see penstock/sim/spark.json.
ROW_COST = 100.0

_BATCHES = {"test": 20, "small": 120, "medium": 500}
_LARGE = "large"

CLASSES: Mapping[str, str] = {
    **{name: f"about {batches} batches of 1 s on 2 cores, laid out over work" for name, batches in _BATCHES.items()},
    _LARGE: "1,000,000 items, laid out over the item index as in the thesis",
}


@lru_cache
def layout(size_class: str) -> Layout:
    """The cost of a class's items.

    >>> layout("large").items, layout("test").part_names[0]
    (1000000, 'increasing')
    """
    if size_class == _LARGE:
        return thesis_layout(LOW_COST, HIGH_COST)
    if size_class not in _BATCHES:
        raise BadInputError("class", size_class, "no such size class", f"choose one of: {', '.join(CLASSES)}")
    batches = _BATCHES[size_class]
    return work_layout(batches * WORK_PER_BATCH, LOW_COST, HIGH_COST, batches)
