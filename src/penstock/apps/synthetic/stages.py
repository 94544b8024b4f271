"""Three stages of work, each with its share of an item's time; the last one checks that the value came back."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.apps.suite.results import RESULT_DDL, results
from penstock.patterns.hashing import hashed
from penstock.stages.arrow import record_batch, vector
from penstock.stages.stage import Stage

VALUE_DDL = "id bigint, seed bigint, value bigint"
BALANCES: Mapping[str, tuple[int, int, int]] = {"balanced": (2, 2, 2), "unbalanced": (1, 3, 2)}
"""Shares of an item's time, in sixths."""
WORK = ("cpu", "wait")
# Streams of the seed.
_VALUE, _COST = 0, 1


@dataclass(frozen=True)
class Load:
    """What an item asks for: milliseconds in all, how far items are spread around it, nanoseconds of a unit of CPU.

    Item i takes item_ms (1 + spread (2 u - 1)) with u uniform in [0, 1) by its number: their variation (standard
    deviation over mean) is spread / sqrt(3).

    >>> load = Load(item_ms=24, spread=0.5)
    >>> spent = load.item_s(np.arange(1000), np.ones(1000, np.int64))
    >>> bool(0.012 <= spent.min() < 0.013), bool(0.035 < spent.max() <= 0.036)
    (True, True)
    """

    item_ms: float
    spread: float = 0.0
    unit_ns: float | None = None
    """None: items wait, and need no processor."""

    def item_s(self, ids: NDArray[np.int64], seeds: NDArray[np.int64]) -> NDArray[np.float64]:
        """Seconds that each item takes, in all stages together."""
        if not self.spread:
            return np.full(len(ids), self.item_ms * 1e-3)
        uniform = (_bits(ids, seeds, _COST) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return self.item_ms * 1e-3 * (1 + self.spread * (2 * uniform - 1))

    def units(self, seconds: NDArray[np.float64], unit_ns: float) -> NDArray[np.int64]:
        """Units of work that take so long; at least one."""
        return np.maximum(np.rint(seconds * 1e9 / unit_ns), 1).astype(np.int64)


def stages(load: Load, balance: str) -> tuple[Stage, ...]:
    """Stages work1, work2 and work3, with the shares of a balance."""
    shares = BALANCES[balance]
    parts: list[Callable[[Any], Any]] = [partial(work, load, share / sum(shares)) for share in shares]
    return (
        Stage("work1", VALUE_DDL, partial(first, parts[0])),
        Stage("work2", VALUE_DDL, parts[1]),
        Stage("work3", RESULT_DDL, partial(last, parts[2])),
    )


def values_of(ids: NDArray[np.int64], seeds: NDArray[np.int64]) -> NDArray[np.int64]:
    """The value of each item, which is also its result."""
    return _bits(ids, seeds, _VALUE).view(np.int64)


def first(part: Callable[[Any], Any], batch: Any) -> Any:
    """Makes the values, then works on them."""
    ids, seeds = vector(batch, "id"), vector(batch, "seed")
    return part(record_batch({"id": ids, "seed": seeds, "value": values_of(ids, seeds)}))


def work(load: Load, share: float, batch: Any) -> Any:
    """A share of each item's time."""
    ids, seeds, values = (vector(batch, name) for name in ("id", "seed", "value"))
    spent_s = share * load.item_s(ids, seeds)
    if load.unit_ns is None:
        time.sleep(float(spent_s.sum()))
    else:
        from penstock.apps.synthetic.kernel import worked

        values = worked(values.view(np.uint64).copy(), load.units(spent_s, load.unit_ns)).view(np.int64)
    return record_batch({"id": ids, "seed": seeds, "value": values})


def last(part: Callable[[Any], Any], batch: Any) -> Any:
    """Works, then gives each value as the result: right where it is what the item began with."""
    batch = part(batch)
    ids, values = vector(batch, "id"), vector(batch, "value")
    return result(ids, values, values == values_of(ids, vector(batch, "seed")))


def result(ids: NDArray[np.int64], values: NDArray[np.int64], right: NDArray[np.bool_]) -> Any:
    """The results of items with these values."""
    ones = [1] * len(ids)
    return results(ids, list(values[:, None]), ones, ones, right.astype(int).tolist())


def _bits(ids: NDArray[np.int64], seeds: NDArray[np.int64], stream: int) -> NDArray[np.uint64]:
    return hashed(ids.view(np.uint64) ^ hashed(seeds, seed=0), seed=0, stream=stream)
