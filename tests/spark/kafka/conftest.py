"""One real broker for all tests of this folder; without its jars they are skipped loudly, or fail if they must run."""

from __future__ import annotations

import importlib.util
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import PenstockError
from penstock.testing.kafka import jars
from penstock.testing.kafka.broker import Broker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader

HERE = Path(__file__).parent
REQUIRED = os.environ.get("CI") == "true" or os.environ.get("PENSTOCK_KAFKA") == "required"


def _lacking() -> str | None:
    """Why there can be no broker here, with the command that helps."""
    if importlib.util.find_spec("confluent_kafka") is None:
        return "confluent-kafka is not installed: run make setup"
    try:
        if all(jars.find(needed) for needed in (jars.BROKER, jars.CONNECTOR)):
            return None
    except PenstockError as error:
        return str(error)
    return f"no Kafka jars in the cache: run make test, or {jars.COMMAND}"


LACKING = _lacking()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if LACKING is not None and not REQUIRED:
        for item in items:
            if HERE in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=LACKING))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if LACKING is not None and not REQUIRED:
        terminalreporter.write_line(f"THE KAFKA TESTS DID NOT RUN: {LACKING}", red=True, bold=True)


@pytest.fixture(scope="session", autouse=True)
def _kafka_can_run() -> None:
    if LACKING is not None:
        pytest.fail(f"Kafka tests must run here (CI=true or PENSTOCK_KAFKA=required): {LACKING}")


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """Started when the first test wants it. Who kills it starts it again."""
    with Broker() as running:
        yield running


Topic = Callable[..., str]


@pytest.fixture
def topic(broker: Broker) -> Topic:
    """Make a topic with a fresh name: `topic(partitions=3, retention_ms=60_000)`."""

    def make(partitions: int = 1, **config: Any) -> str:
        name = f"t-{uuid.uuid4().hex[:12]}"
        broker.create_topic(name, partitions, **config)
        return name

    return make


Subscribed = Callable[..., "DataStreamReader"]


@pytest.fixture
def subscribed(spark: SparkSession, broker: Broker) -> Subscribed:
    """A stream reader of a topic from its beginning; `load()` it, with options first where a test needs some."""

    def reader(name: str, **options: Any) -> DataStreamReader:
        kafka = spark.readStream.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap)
        return kafka.option("subscribe", name).option("startingOffsets", "earliest").options(**options)

    return reader


@pytest.fixture
def stored(spark: SparkSession, broker: Broker) -> Callable[[str], DataFrame]:
    """All records of a topic, as a plain batch."""

    def read(name: str) -> DataFrame:
        kafka = spark.read.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap)
        return kafka.option("subscribe", name).load()

    return read
