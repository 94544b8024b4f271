"""What the items of a simulation cost, and which load pattern each is in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BadInputError
from penstock.patterns.base import FloatArray, Pattern
from penstock.patterns.grammar import parse
from penstock.patterns.layout import Layout, thesis_layout, work_layout
from penstock.sim.plant import Plant
from penstock.slo import Metric, Slo

THESIS_ITEMS = 1_000_000
DEFAULT_BATCHES = 500
MOST_ITEMS = 50_000_000


@dataclass(frozen=True, eq=False)
class Load:
    """The costs of all items; `ends` are where the named parts end."""

    costs: FloatArray
    power: float
    names: tuple[str, ...] = ()
    ends: tuple[int, ...] = ()

    @cached_property
    def depth(self) -> FloatArray:
        """Running sums of the costs, from 0 on."""
        return np.concatenate(([0.0], np.cumsum(self.costs)))

    @cached_property
    def volume(self) -> FloatArray:
        """Running sums of the costs to the plant's power."""
        return self.depth if self.power == 1 else np.concatenate(([0.0], np.cumsum(self.costs**self.power)))

    @cached_property
    def lists(self) -> tuple[list[float], list[float]]:
        """Both sums as lists: the interpreter reads them several times faster than arrays."""
        return self.depth.tolist(), self.volume.tolist()

    def part_of(self, index: NDArray[np.int64]) -> NDArray[np.intp]:
        """The number of the part that each item is in."""
        return np.searchsorted(np.asarray(self.ends), index, side="right")


@lru_cache(maxsize=4)
def load_of(plant: Plant, slo: Slo, items: int | None, cost: str) -> Load:
    """The items of a simulation: the five patterns of the thesis, or `cost`, a pattern over the item's index.

    On the plant `thesis` the five parts have their shares of the items, over the width of an item; on others, their
    shares of the work, so that light and heavy stretches last as many batches.
    """
    if items is not None and not 1 <= items <= MOST_ITEMS:
        raise BadInputError("items", items, "not a number of items to simulate", f"give 1 to {MOST_ITEMS:,}")
    if cost != "thesis":
        return Load(index_costs(parse(cost), items or THESIS_ITEMS), plant.power)
    if len(plant.shares) > 1:
        count = items or THESIS_ITEMS
        layout = thesis_layout(plant.low_cost**0.5, plant.high_cost**0.5, count)
        costs = index_costs(layout, count, square=True)
    else:
        layout = _over_work(plant, slo, items)
        costs = index_costs(layout, layout.items)
    return Load(costs, plant.power, layout.part_names, tuple(np.cumsum(layout.counts).tolist()))


def index_costs(source: Layout | Pattern, items: int, square: bool = False) -> FloatArray:
    """The cost of each item by its index."""
    indices = np.arange(items)
    costs = source.cost(indices) if isinstance(source, Layout) else source.value(indices)
    if costs.min() <= 0:
        raise BadInputError("cost", float(costs.min()), "an item costs something", "give a min above 0")
    return np.square(costs) if square else costs


def _over_work(plant: Plant, slo: Slo, items: int | None) -> Layout:
    middle = math.sqrt(plant.low_cost * plant.high_cost)
    target_s = slo.target if slo.metric is not Metric.THROUGHPUT else 1.0
    # Where the target is below the fixed cost, a tenth of it is as good a batch as any.
    work_s = max(target_s - plant.a_batch_s, 0.1 * target_s)
    a_batch = work_s / (plant.volume_s + plant.an_item_s / middle)
    batches = float(DEFAULT_BATCHES)
    if items is not None:
        whole = work_layout(a_batch * batches, plant.low_cost, plant.high_cost, batches)
        batches *= items / whole.items
    return work_layout(a_batch * batches, plant.low_cost, plant.high_cost, batches)
