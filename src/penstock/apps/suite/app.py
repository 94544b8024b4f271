"""An application of the suite: numbered items, stages on Arrow data, a sink, a digest, and the generator's truth.

The source emits item numbers alone; the first stage maps or makes the item where it is needed, so that frames do not
travel between Python and the JVM. Spark's micro-batch is `size`; `chunk-rows` is how many items go through a stage
together inside a worker, which is what SPBench calls a batch.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from penstock.apps.digest import Digest, digest_of_directory
from penstock.apps.known_digests import KnownDigests
from penstock.apps.suite.results import RESULT_DDL, truth_of, whole_number
from penstock.distribution import penstock_version
from penstock.errors import BadInputError
from penstock.patterns.arrivals import parse_arrivals
from penstock.patterns.base import FloatArray
from penstock.patterns.constant import Constant
from penstock.progress import Progress
from penstock.stages.arrow import record_batch, vector
from penstock.stages.stage import Stage, run_stages
from penstock.workloads.workload import Columns, Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from penstock.spark.plans.echo import Echo

NUMBER_DDL = "id bigint, seed bigint"
CHUNK_ROWS = "chunk-rows"
# Items that one thread of the reference takes at a time.
_REFERENCE_ITEMS = 16


def numbers(indices: NDArray[np.int64], costs: FloatArray, seed: int) -> Columns:
    """What the source emits: the number of each item, and the seed that it is made from."""
    return {"id": indices, "seed": np.full(len(indices), seed, np.int64)}


@dataclass(frozen=True)
class SuiteApp:
    """What every application of the suite has; a new one gives the class variables and `stages`.

    An item's number and the seed come in as `id` and `seed`; the last stage gives `RESULT_DDL`, or what `result_ddl`
    says. Stages are pure: the same item gives the same result in any batch, chunk and process.
    """

    chosen: Mapping[str, str] = field(default_factory=dict)
    size_class: str = "small"

    name: ClassVar[str]
    description: ClassVar[str]
    items: ClassVar[Mapping[str, int]]
    """Items of each class."""
    first: ClassVar[int]
    """Items of a first batch: about half a second of work on two cores."""
    own_options: ClassVar[Mapping[str, str]] = {}
    result_ddl: ClassVar[str] = RESULT_DDL
    default_chunk_rows: ClassVar[int] = 1
    digests: ClassVar[KnownDigests]

    default_arrivals: ClassVar[str] = "saturated"
    stateful: ClassVar[bool] = False
    row_bytes: ClassVar[None] = None
    session_settings: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def stages(self) -> tuple[Stage, ...]:
        """The stages with these options, made anew in every worker; `result_ddl` is what the last one gives."""
        ...

    def make_input(self, seed: int, progress: Progress | None = None) -> Path | None:
        """Make what items are made of, where that takes time; None where nothing is kept."""
        return None

    @property
    def options(self) -> Mapping[str, str]:
        """What may be chosen."""
        about = "items that go through a stage together, inside a worker (SPBench's batch)"
        return {**self.own_options, CHUNK_ROWS: f"{about}; {self.default_chunk_rows} by default"}

    @property
    def classes(self) -> Mapping[str, str]:
        """Classes by their items."""
        return {name: f"{count:,} items" for name, count in self.items.items()}

    @property
    def chunk_rows(self) -> int:
        """Items that go through a stage together."""
        return whole_number(self.chosen, CHUNK_ROWS, self.default_chunk_rows)

    def configured(self, size_class: str, options: Mapping[str, str]) -> Self:
        """The same application with these options; refuses what cannot be."""
        app = replace(self, chosen=dict(options), size_class=size_class)
        app.check()
        return app

    def check(self) -> None:
        """Refuse options that cannot be; those of its own an application checks beside these."""
        self.count(self.size_class)
        whole_number(self.chosen, CHUNK_ROWS, self.default_chunk_rows)

    def count(self, size_class: str) -> int:
        """The items of a class."""
        if size_class not in self.items:
            raise BadInputError("class", size_class, "no such size class", f"choose one of: {', '.join(self.items)}")
        return self.items[size_class]

    def workload(self, size_class: str, seed: int = 1, arrivals: str = "saturated", cost: str = "thesis") -> Workload:
        """The items of a class; what each costs is in its nature."""
        if cost != "thesis":
            raise BadInputError("cost", cost, "what an item costs is in its nature", "leave it out")
        return Workload(
            arrivals=parse_arrivals(arrivals),
            cost=Constant(1.0),
            generate=numbers,
            schema_ddl=NUMBER_DDL,
            items=self.count(size_class),
            seed=seed,
        )

    def first_size(self, size_class: str) -> int:
        """About half a second of work."""
        return min(self.first, self.count(size_class))

    def pipeline(self, df: DataFrame) -> DataFrame:
        """The stages over a DataFrame of item numbers, streaming or not."""
        from penstock.spark.plans.echo import Echo

        echo = Echo.of(df.sparkSession.sparkContext) if df.isStreaming else None
        return df.mapInArrow(partial(run_app, self, echo=echo), self.result_ddl)

    def sink(self, df: DataFrame, directory: Path) -> DataStreamWriter:
        """Parquet files that count once however often a batch is written; not started yet."""
        return df.writeStream.format("parquet").option("path", str(directory)).option("compression", "none")

    def digest(self, directory: Path) -> str:
        """The digest of the results in a run's output directory."""
        return str(digest_of_directory(directory))

    def truth(self, directory: Path) -> Mapping[str, Any]:
        """How right the results are, by the truth that the generator knows."""
        return truth_of(directory)

    def known_digest(
        self, size_class: str, seed: int = 1, cost: str = "thesis", *, arrivals: str = "saturated"
    ) -> str | None:
        """The digest of a whole class, where it was computed before."""
        return self.digests.find(self._digest_name(size_class, seed), self._about(size_class))

    def reference_digest(
        self,
        size_class: str,
        seed: int = 1,
        cost: str = "thesis",
        progress: Progress | None = None,
        *,
        arrivals: str = "saturated",
    ) -> str:
        """The digest of a whole class, computed now by plain loops over the stages, and kept in the user's cache."""
        count = self.count(size_class)
        digest = str(self.plain_digest(count, seed, progress))
        self.digests.remember(self._digest_name(size_class, seed), digest, self._about(size_class))
        return digest

    def plain_digest(self, items: int, seed: int = 1, progress: Progress | None = None) -> Digest:
        """The digest of the first items, without Spark; stages let go of the interpreter's lock, so threads do."""
        stages, total = self.stages(), Digest()
        self.make_input(seed)  # once, and not in every thread

        def some(start: int) -> Digest:
            (done,) = run_stages(stages, [number_batch(start, min(start + _REFERENCE_ITEMS, items), seed)])
            return Digest.of(vector(done, "hash").astype(np.int64).view(np.uint64))

        with ThreadPoolExecutor() as pool:
            for number, found in enumerate(pool.map(some, range(0, items, _REFERENCE_ITEMS)), start=1):
                total += found
                if progress is not None:
                    progress(min(number * _REFERENCE_ITEMS, items), items)
        return total

    def _about(self, size_class: str) -> object:
        """What else a kept digest depends on: another release may make other items."""
        return self.count(size_class), penstock_version()

    def _digest_name(self, size_class: str, seed: int) -> str:
        told = {name: value for name, value in sorted(self.chosen.items()) if name in self.own_options}
        return "-".join([self.name, size_class, str(seed), *(f"{name}={value}" for name, value in told.items())])


def run_app(app: SuiteApp, batches: Iterable[Any], echo: Echo | None = None) -> Iterator[Any]:
    """What `mapInArrow` runs: every chunk of items through all stages; their seconds are echoed."""
    stages, chunks = app.stages(), chunked(batches, app.chunk_rows)
    if echo is None:
        yield from run_stages(stages, chunks)
        return
    with echo.task() as task:
        for chunk in chunks:
            for stage in stages:
                with task.stage(stage.name):
                    chunk = stage.run(chunk)
            yield chunk


def chunked(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Record batches cut into chunks of at most so many rows.

    >>> [chunk.num_rows for chunk in chunked([number_batch(0, 5, seed=1)], 2)]
    [2, 2, 1]
    """
    for batch in batches:
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


def number_batch(start: int, stop: int, seed: int) -> Any:
    """The record batch that the source emits for these items."""
    return record_batch(numbers(np.arange(start, stop), np.ones(stop - start), seed))
