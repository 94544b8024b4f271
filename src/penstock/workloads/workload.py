"""A workload: which items arrive when, what each of them costs, and what is in it.

Everything is a pure function of the seed and the item's index, so that any slice can be made anywhere, twice, in any
order, and a replayed batch is the same batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BadInputError
from penstock.patterns.arrivals import AnyArrivals
from penstock.patterns.base import FloatArray, Pattern
from penstock.patterns.hashing import hashed, uniform
from penstock.patterns.layout import Layout
from penstock.patterns.sequence import Sequence

__all__ = ["COUNTER_DDL", "Columns", "Generate", "Workload", "counter_items", "hashed", "uniform"]

Columns: TypeAlias = Mapping[str, "NDArray[Any] | list[Any]"]
Generate: TypeAlias = Callable[[NDArray[np.int64], FloatArray, int], Columns]

COUNTER_DDL = "id bigint, cost double, value double"
_LOAD_POINTS = 64
_CHUNK = 16_384


def counter_items(indices: NDArray[np.int64], costs: FloatArray, seed: int) -> Columns:
    """The plainest items: their number, their cost and a random number in [0, 1).

    >>> sorted(counter_items(np.arange(2), np.ones(2), seed=1))
    ['cost', 'id', 'value']
    """
    return {"id": indices, "cost": costs, "value": uniform(indices, seed)}


@dataclass(frozen=True)
class Workload:
    """Arrivals x cost x data: what a source serves.

    `cost` is a layout, or a pattern over the item's index. `generate` makes the columns named in `schema_ddl`, in
    that order, from indices, costs and the seed. Without `items` a layout gives their number, and a pattern goes on
    without end. `row_cost` is what any item costs on top, for being made, moved and written: admission by cost counts
    it, the load does not.

    >>> from penstock.patterns import parse, parse_arrivals
    >>> workload = Workload(parse_arrivals("constant:rate=100/s"), parse("constant:value=2"), items=1000)
    >>> workload.arrived_by(0.5), workload.arrived_by(60.0), workload.arrival_s(99), workload.load(0, 10)
    (50, 1000, 1.0, 2.0)
    >>> list(workload.columns(10, 13)["id"].tolist())
    [10, 11, 12]
    """

    arrivals: AnyArrivals
    cost: Layout | Pattern
    generate: Generate = counter_items
    schema_ddl: str = COUNTER_DDL
    items: int | None = None
    seed: int = 0
    row_cost: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a number of items that the layout does not have."""
        if isinstance(self.cost, Layout):
            if self.items is None:
                object.__setattr__(self, "items", self.cost.items)
            elif self.items > self.cost.items:
                remedy = f"give at most {self.cost.items}, or leave items out"
                raise BadInputError("items", self.items, "more than the layout has", remedy)
        if self.items is not None and self.items < 1:
            raise BadInputError("items", self.items, "nothing to process", "give 1 or more, or leave items out")

    def arrived_by(self, elapsed_s: float) -> int:
        """How many items have arrived at or before this moment, in seconds from the start."""
        arrived = self.arrivals.arrived_by(elapsed_s)
        return arrived if self.items is None else min(arrived, self.items)

    def arrival_s(self, index: int) -> float:
        """When an item arrives, in seconds from the start."""
        return self.arrivals.arrival_s(index)

    def columns(self, start: int, stop: int) -> Columns:
        """The columns of items start to stop - 1, in the order of the schema; fixed-size lists are 2-D arrays."""
        self._check(start, stop)
        indices = np.arange(start, stop, dtype=np.int64)
        columns = self.generate(indices, self._costs(indices), self.seed)
        wanted = column_names(self.schema_ddl)
        if list(columns) != wanted:
            raise BadInputError("columns", list(columns), f"the schema says {wanted}", "make generate and schema agree")
        for name, column in columns.items():
            if len(column) != stop - start:
                raise BadInputError(f"column {name}", len(column), f"not {stop - start} rows", "give one row an item")
        return columns

    def load(self, start: int, stop: int) -> float:
        """The mean cost of items start to stop - 1, from at most 64 of them, evenly spread."""
        self._check(start, stop)
        count = min(stop - start, _LOAD_POINTS)
        if count == 0:
            return 0.0
        points = start + (2 * np.arange(count, dtype=np.int64) + 1) * (stop - start) // (2 * count)
        return float(self._costs(points).mean())

    def within(self, start: int, most: int, budget: float) -> tuple[int, float]:
        """The largest stop up to `most` whose items cost no more than the budget together, and what they do cost.

        At least one item, whatever it costs. Every item is counted, a chunk at a time: as far as the budget goes.

        >>> from penstock.patterns import parse, parse_arrivals
        >>> workload = Workload(parse_arrivals("saturated"), parse("constant:value=2"), items=1000)
        >>> workload.within(10, 1000, budget=9.0), workload.within(10, 12, budget=9.0), workload.within(10, 12, 0.5)
        ((14, 8.0), (12, 4.0), (11, 2.0))
        """
        self._check(start, most)
        stop, total = start, 0.0
        while stop < most:
            # The carried sum goes first, so that the additions are those of one long sum, in order.
            costs = self._costs(np.arange(stop, min(stop + _CHUNK, most), dtype=np.int64)) + self.row_cost
            sums = np.cumsum(np.concatenate(([total], costs)))[1:]
            fits = int(np.searchsorted(sums, budget, side="right"))
            if stop == start:
                fits = max(fits, 1)
            if fits:
                stop, total = stop + fits, float(sums[fits - 1])
            if fits < len(sums):
                break
        return stop, total

    def part(self, index: int) -> str | None:
        """The name of the part that an item is in, by its cost or else by its arrival; None without parts."""
        if isinstance(self.cost, Layout):
            return self.cost.part(index)
        if isinstance(self.cost, Sequence):
            return self.cost.part_at(index)
        return self.arrivals.part_at(self.arrivals.arrival_s(index))

    def _costs(self, indices: NDArray[np.int64]) -> FloatArray:
        return self.cost.cost(indices) if isinstance(self.cost, Layout) else self.cost.value(indices)

    def _check(self, start: int, stop: int) -> None:
        if not 0 <= start <= stop or (self.items is not None and stop > self.items):
            raise BadInputError("slice", (start, stop), "not a slice of the items", f"stay within 0..{self.items}")


def column_names(schema_ddl: str) -> list[str]:
    """The names of a schema's columns, in order.

    >>> column_names("id bigint, at array<struct<x: int, y: int>>, price decimal(10, 2)")
    ['id', 'at', 'price']
    """
    names, depth, fresh = [], 0, True
    for token in schema_ddl.replace("<", " < ").replace(">", " > ").replace("(", " ( ").replace(")", " ) ").split():
        depth += (token in "<(") - (token in ">)")
        if fresh and depth == 0:
            names.append(token.strip("`"))
        fresh = depth == 0 and token.endswith(",")
    return names
