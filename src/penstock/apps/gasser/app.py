"""A query of Gasser as an application of Penstock: one class, two queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from penstock.apps.digest import digest_of_directory
from penstock.apps.gasser import queries, reference
from penstock.apps.gasser.digest import with_hash
from penstock.apps.gasser.options import OPTIONS, Chosen, parse_options, parse_window
from penstock.apps.gasser.queries import TEST, TEST_WINDOW, WINDOW, Query
from penstock.errors import BadInputError
from penstock.patterns.arrivals import parse_arrivals
from penstock.patterns.constant import Constant
from penstock.progress import Progress
from penstock.workloads.workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

# A first batch has about so many seconds of kernel on one core, within these rows.
_FIRST_KERNEL_S = 0.1
_LEAST_FIRST, _MOST_FIRST = 1000, 20_000
_USUAL = Chosen(parse_window(WINDOW))


@dataclass(frozen=True)
class GasserApp:
    """A function over sliding windows of a stream, unkeyed or of each key.

    >>> app = GasserApp(queries.Q1).configured("small", {"window": "25k/100", "keys": "500"})
    >>> app.chosen.window_text, app.workload("small").items
    ('25000/100', 20000000)
    """

    query: Query
    chosen: Chosen = _USUAL

    default_arrivals: ClassVar[str] = "saturated"
    # Windows are of rows: the batch that has a window's last row gives its result.
    stateful: ClassVar[bool] = False
    row_bytes: ClassVar[None] = None
    options: ClassVar[Mapping[str, str]] = OPTIONS
    session_settings: ClassVar[Mapping[str, str]] = {
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
    }

    @property
    def name(self) -> str:
        """The query's name in table 2, in small letters."""
        return self.query.name

    @property
    def description(self) -> str:
        """The query in a line."""
        return self.query.description

    @property
    def classes(self) -> Mapping[str, str]:
        """Classes by the rows of the stream."""
        windows = {TEST: f", windows of {TEST_WINDOW} unless told"}
        return {name: f"{rows:,} rows{windows.get(name, '')}" for name, rows in self.query.rows.items()}

    def configured(self, size_class: str, options: Mapping[str, str]) -> GasserApp:
        """The same query over other windows; what options leave open is the class's own."""
        window = TEST_WINDOW if size_class == TEST else WINDOW
        return replace(self, chosen=parse_options(options, window))

    def workload(self, size_class: str, seed: int = 1, arrivals: str = "saturated", cost: str = "thesis") -> Workload:
        """The rows of a class; all cost the same."""
        rows = self._rows(size_class)
        if cost != "thesis":
            raise BadInputError("cost", cost, "every row of this application costs the same", "leave it out")
        return Workload(
            arrivals=parse_arrivals(arrivals),
            cost=Constant(1.0),
            generate=self.query.generate(self.chosen.keys or self.query.usual_keys),
            schema_ddl=self.query.schema_ddl,
            items=rows,
            seed=seed,
        )

    def first_size(self, size_class: str) -> int:
        """A tenth of a second of kernel, by what a row costs in all the windows that hold it."""
        window = self.chosen.window
        rows = _FIRST_KERNEL_S / (self.query.row_s * window.length / window.every)
        return int(min(max(rows, _LEAST_FIRST), _MOST_FIRST, self._rows(size_class)))

    def pipeline(self, df: DataFrame) -> DataFrame:
        """Windows over a DataFrame of rows, streaming or not; each result with its hash."""
        from penstock.spark.windows.api import windows

        window = self.chosen.window
        over = windows(df, by=self._key, order="id").rows(window.length, every=window.every)
        results = over.apply(self.query.kernel, *self.query.columns, device=self.chosen.device)
        return with_hash(results, self._key, self.query.outputs)

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
        return reference.DIGESTS.find(self._digest_key(size_class, seed), self._about(size_class))

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
        workload = self.workload(size_class, seed, cost=cost)
        digest = str(reference.reference_digest(self.query, self.chosen, workload, progress))
        reference.DIGESTS.remember(self._digest_key(size_class, seed), digest, self._about(size_class))
        return digest

    @property
    def _key(self) -> str | None:
        return None if self.chosen.keys is None else self.query.key

    def _rows(self, size_class: str) -> int:
        if size_class not in self.query.rows:
            choices = ", ".join(self.query.rows)
            raise BadInputError("class", size_class, "no such size class", f"choose one of: {choices}")
        rows, keys = self.query.rows[size_class], self.chosen.keys
        if rows < self.chosen.window.length * (keys or 1):
            of_keys = "" if keys is None else f" of {keys:,} keys"
            reason = f"the {rows:,} rows{of_keys} of class {size_class} fill no window"
            raise BadInputError("window", self.chosen.window_text, reason, "choose a larger class or shorter windows")
        return rows

    def _digest_key(self, size_class: str, seed: int) -> str:
        return reference.name_of(self.query, size_class, self.chosen, seed)

    def _about(self, size_class: str) -> object:
        return reference.VERSION, self.query.rows[size_class]


q1 = partial(GasserApp, queries.Q1)
q2 = partial(GasserApp, queries.Q2)
