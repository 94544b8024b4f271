"""The Military Server benchmark as an application of Penstock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.apps.digest import digest_of_directory
from penstock.apps.military import reference, sizes
from penstock.apps.military.items import ITEM_DDL, items
from penstock.apps.military.stages import STAGES
from penstock.patterns.arrivals import parse_arrivals
from penstock.patterns.grammar import parse
from penstock.progress import Progress
from penstock.stages.stage import Stage, run_stages
from penstock.workloads.workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

# 1000 of the heaviest items are about half a second of work on two cores.
_FIRST_SIZE = 1000


class MilitaryServer:
    """Drones scan a map and find the best place for each of their units; an item's cost is the square of its width.

    >>> app = MilitaryServer()
    >>> workload = app.workload("test", seed=1)
    >>> workload.part(0), workload.load(0, 1) < workload.load(0, 50_000)
    ('increasing', True)
    """

    name: ClassVar[str] = "military"
    description: ClassVar[str] = "Military Server: drones scan squares of a map to place units; cost varies about 30:1"
    classes: ClassVar[Mapping[str, str]] = sizes.CLASSES
    default_arrivals: ClassVar[str] = "saturated"
    stateful: ClassVar[bool] = False
    row_bytes: ClassVar[None] = None
    session_settings: ClassVar[Mapping[str, str]] = {}

    def workload(self, size_class: str, seed: int = 1, arrivals: str = "saturated", cost: str = "thesis") -> Workload:
        """The items of a class; `cost` is "thesis" for the class's own layout, or a pattern over the item index."""
        layout = sizes.layout(size_class)
        return Workload(
            arrivals=parse_arrivals(arrivals),
            cost=layout if cost == "thesis" else parse(cost),
            generate=items,
            schema_ddl=ITEM_DDL,
            items=layout.items,
            seed=seed,
            row_cost=sizes.ROW_COST,
        )

    def first_size(self, size_class: str) -> int:
        """The same for every class: classes differ in their number of items, not in their cost."""
        return min(_FIRST_SIZE, sizes.layout(size_class).items)

    def pipeline(self, df: DataFrame, groups: Sequence[Sequence[Stage]] = (STAGES,)) -> DataFrame:
        """The stages over a DataFrame of items; the stages of a group run fused, one group after another."""
        # Compiled here, into Numba's cache on disk: workers load it, and the first batch does not pay for it.
        _compile()
        for group in groups:
            df = df.mapInArrow(partial(run_stages, tuple(group)), group[-1].output_ddl)
        return df

    def sink(self, df: DataFrame, directory: Path) -> DataStreamWriter:
        """Parquet files that count once however often a batch is written; not started yet."""
        return df.writeStream.format("parquet").option("path", str(directory)).option("compression", "none")

    def digest(self, directory: Path) -> str:
        """The digest of the results in a run's output directory."""
        return str(digest_of_directory(directory))

    def known_digest(
        self, size_class: str, seed: int = 1, cost: str = "thesis", *, arrivals: str = "saturated"
    ) -> str | None:
        """The digest of a whole class, where it was computed before."""
        return reference.known(size_class, seed, cost)

    def reference_digest(
        self,
        size_class: str,
        seed: int = 1,
        cost: str = "thesis",
        progress: Progress | None = None,
        *,
        arrivals: str = "saturated",
    ) -> str:
        """The digest of a whole class, computed now and kept in the user's cache."""
        digest = str(reference.reference_digest(self.workload(size_class, seed, cost=cost), progress))
        reference.remember(size_class, seed, cost, digest)
        return digest


def _compile() -> None:
    from penstock.stages.arrow import record_batch

    for _ in run_stages(STAGES, [record_batch(items(np.arange(1), np.ones(1), seed=0))]):
        pass
