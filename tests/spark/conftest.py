"""One local Spark session for all tests of this folder, and what they have in common."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamReader

HERE = Path(__file__).parent
_PATIENCE_S = 90.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark by folder, so that `-m "not spark"` leaves out all of them and nobody has to remember the marker."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession

    from penstock.errors import PenstockError
    from penstock.spark.session import configure
    from penstock.testing.kafka import jars

    builder = configure(SparkSession.builder.master("local[2]").appName("penstock-tests"), profile="fast")
    connector: tuple[Path, ...] = ()
    # Where they are not there, or not the right ones, the tests in kafka/ say so.
    with suppress(PenstockError):
        connector = jars.find(jars.CONNECTOR) or ()
    session = (
        builder.config("spark.ui.enabled", "false")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.jars", ",".join(map(str, connector)))
        .getOrCreate()
    )
    yield session
    session.stop()


class Incoming:
    """A folder that a file query reads: every file holds one row, so rows count files."""

    file_bytes = len(b'{"id": 1000000}\n')

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "in"
        self.folder.mkdir(parents=True)
        self._staging = folder / "staging"
        self.count = 0

    def put(self, files: int) -> None:
        """Add files that a query sees all at once: they come as one renamed folder."""
        self._staging.mkdir()
        for number in range(self.count, self.count + files):
            (self._staging / f"{number:06}.json").write_text(f'{{"id": {1_000_000 + number}}}\n')
        self._staging.rename(self.folder / f"{self.count:06}")
        self.count += files

    def load(self, reader: DataStreamReader) -> DataFrame:
        return reader.schema("id bigint").json(str(self.folder / "*"))


@pytest.fixture
def incoming(tmp_path: Path) -> Incoming:
    return Incoming(tmp_path)


@pytest.fixture
def incoming_too(tmp_path: Path) -> Incoming:
    return Incoming(tmp_path / "too")


def covers(seen: list[float], all_sizes: list[int]) -> bool:
    """Whether the sizes that a handle saw are those of all batches but the first two: `attach` may come during one."""
    known = [size for size in seen if math.isfinite(size)]
    return known == all_sizes[len(all_sizes) - len(known) :] and len(known) >= max(len(all_sizes) - 2, 1)


Start = Callable[..., "StreamingQuery"]
Until = Callable[[Callable[[], object]], None]
Sizes = Callable[["StreamingQuery"], list[int]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a query into nowhere; whatever a test has started is stopped after it."""
    started: list[StreamingQuery] = []

    def run(df: DataFrame, checkpoint: str = "checkpoint", each: Any = None, **trigger: Any) -> StreamingQuery:
        writer = df.writeStream.foreachBatch(each) if each else df.writeStream.format("noop")
        if trigger:
            writer = writer.trigger(**trigger)
        query = writer.option("checkpointLocation", str(tmp_path / checkpoint)).start()
        started.append(query)
        return query

    yield run
    for query in started:
        query.stop()


@pytest.fixture
def until() -> Until:
    """Wait for a condition; how long it took is nobody's business, but a test must not hang."""

    def wait(condition: Callable[[], object]) -> None:
        deadline_s = time.monotonic() + _PATIENCE_S
        while not condition():
            if time.monotonic() > deadline_s:
                pytest.fail("what the test waits for has not come")
            time.sleep(0.05)

    return wait


@pytest.fixture
def sizes() -> Sizes:
    """Rows of each batch so far, as Spark itself reports them."""

    def rows(query: StreamingQuery) -> list[int]:
        return [progress["numInputRows"] for progress in query.recentProgress if progress["numInputRows"]]

    return rows


@pytest.fixture(name="covers")
def _covers() -> Callable[[list[float], list[int]], bool]:
    return covers
