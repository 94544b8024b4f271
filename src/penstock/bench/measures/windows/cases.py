"""What is measured: Gasser's two queries, their windows, and how much of it all."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from penstock.apps.gasser.kernels import FORECAST, PLACE_DRONES
from penstock.apps.gasser.quotes import Quotes
from penstock.apps.gasser.readings import Readings
from penstock.devices.kernel import Kernel
from penstock.patterns.base import FloatArray
from penstock.workloads.workload import Columns, Generate

SEED = 1
CORES = os.cpu_count() or 1
# What a row costs beside its kernel, in core seconds: plumbing, about.
ROW_S = 3e-6
MOST_BATCH_ROWS = 400_000


@dataclass(frozen=True)
class Query:
    """A query of table 2; `row_s` is the time that one core takes for a row in each window that holds it, about."""

    name: str
    kernel: Kernel
    columns: tuple[str, ...]
    key: str
    stream: Callable[[int], Generate]
    usual_keys: int
    row_s: float

    @property
    def dtypes(self) -> tuple[str, ...]:
        """All columns are doubles."""
        return ("float64",) * len(self.columns)

    def rows(self, start: int, stop: int, keys: int | None = None) -> Columns:
        """Rows of the stream, with their number as `id`."""
        indices = np.arange(start, stop, dtype=np.int64)
        return self.stream(keys or self.usual_keys)(indices, np.ones(len(indices)), SEED)

    def arrays(self, rows: int) -> list[FloatArray]:
        """The columns of the kernel, for so many rows."""
        columns = self.rows(0, rows)
        return [np.asarray(columns[name]) for name in self.columns]


QUERIES = {
    "q1": Query("q1", FORECAST, ("price",), "symbol", Quotes, 1, 2.3e-9),
    "q2": Query("q2", PLACE_DRONES, ("x", "y"), "sensor", Readings, 23, 18e-9),
}


@dataclass(frozen=True)
class Setting:
    """A query with its windows; with `keys`, each key has windows of its own."""

    query: str
    length: int
    every: int
    keys: int | None = None

    def batch_rows(self, kernel_s: float) -> int:
        """Rows of a batch that keeps every core busy for about so long."""
        row_s = QUERIES[self.query].row_s * self.length / self.every + ROW_S
        return int(min(max(kernel_s * CORES / row_s, 2000), MOST_BATCH_ROWS)) // CORES * CORES


@dataclass(frozen=True)
class Size:
    """How much is measured: all of the paper's settings, or a first look at a few."""

    name: str
    lengths: tuple[int, ...] = (10_000, 25_000, 50_000)
    slides: tuple[int, ...] = (5, 25, 100)
    keys: int = 500
    # With keys longer windows have 100 MB of state and more, which a batch rewrites: minutes for each.
    keyed_lengths: tuple[int, ...] = (10_000,)
    rounds: int = 1
    batch_s: float = 1.5
    keyed_batch_s: float = 3.0
    warm: int = 2
    batches: int = 4
    # Gasser's B; None is the operator's own choice.
    batch_lengths: tuple[int | None, ...] = (None, 1536)
    # A peer that runs in memory is timed for so long, and plain Spark is given up after `limit_s`.
    peer_s: float = 1.0
    limit_s: float = 40.0
    plumbing_rows: int = 400_000
    plumbing_batches: int = 8
    latency_s: float = 8.0
    latency_batches: tuple[int, ...] = (1, 96, 384, 1536, 5760)
    latency_triggers_s: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)
    device_lengths: tuple[int, ...] = (25_000, 50_000, 100_000)
    device_slides: tuple[int, ...] = (5, 25, 100, 250, 500, 1000, 2500, 5000, 10_000)
    black_box_rows: int = 400_000
    black_box_slides: tuple[int, ...] = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
    planner_windows: tuple[int, ...] = (10, 100, 1000, 10_000, 100_000, 1_000_000)


FULL = Size("full")
QUICK = Size(
    "quick",
    lengths=(10_000,),
    slides=(5, 100),
    keys=20,
    rounds=1,
    batch_s=0.3,
    keyed_batch_s=0.3,
    warm=1,
    batches=2,
    batch_lengths=(384,),
    peer_s=0.2,
    limit_s=8.0,
    plumbing_rows=50_000,
    plumbing_batches=2,
    latency_s=3.0,
    latency_batches=(384,),
    latency_triggers_s=(0.5, 1.0),
    device_lengths=(25_000,),
    device_slides=(25, 1000, 10_000),
    black_box_rows=20_000,
    black_box_slides=(2, 32, 1024),
    planner_windows=(10, 1000, 100_000),
)
SIZES = {size.name: size for size in (FULL, QUICK)}
