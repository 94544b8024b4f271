"""`penstock doctor --kafka`: a broker on loopback, a topic, and a gated query that reads it, all of it for real."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.bench.doctor.machine import Check
from penstock.errors import PenstockError, UnsupportedError
from penstock.progress import Say
from penstock.spark.faults import cause
from penstock.testing.kafka import jars
from penstock.testing.kafka.broker import Broker
from penstock.testing.kafka.produce import fill

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

RECORDS = 10_000
_TOPIC, _PARTITIONS = "penstock-doctor", 2
_FIRST, _LATER = 500, 2_000
_PATIENCE_S = 120.0
_SPARK_FROM, _SPARK_BELOW = (4, 2), (4, 4)


def trial(say: Say) -> Iterator[Check]:
    """The checks, each as it is done; the first that fails is the last. Everything is stopped at the end."""
    with ExitStack() as stack:
        parts = _Trial(stack, say)
        for name, what, work in (
            ("Kafka connector", "looking for the connector's jars", parts.connector),
            ("Kafka jars", "looking for the broker's jars", parts.jars),
            ("Kafka broker", "starting a broker on loopback", parts.start),
            ("Kafka topic", "writing a topic", parts.write),
            ("gated query", "starting Spark and a gated query on the topic", parts.read),
        ):
            say(what)
            try:
                found = work()
            except PenstockError as error:
                yield Check(name, False, True, None, " ".join(str(error).split()))
                break
            yield Check(name, True, True, found, "")
        say("stopping what was started")


def connector_of(spark: str) -> str:
    """How a user gets the connector that belongs to a Spark."""
    return f"spark.jars.packages = org.apache.spark:spark-sql-kafka-0-10_2.13:{spark}"


class _Trial:
    """Each step says in a few words what it saw, or raises."""

    def __init__(self, stack: ExitStack, say: Say) -> None:
        self._stack = stack
        self._say = say
        self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-doctor-")))
        self._connector: tuple[Path, ...] = ()

    def connector(self) -> str:
        _refuse_other_sparks()
        self._connector = jars.fetch(jars.CONNECTOR, self._say)
        return _counted(self._connector)

    def jars(self) -> str:
        return _counted(jars.fetch(jars.BROKER, self._say))

    def start(self) -> str:
        self._broker = self._stack.enter_context(Broker(progress=self._say))
        return self._broker.bootstrap

    def write(self) -> str:
        self._broker.create_topic(_TOPIC, _PARTITIONS)
        fill(self._broker.bootstrap, _TOPIC, RECORDS)
        return f"{RECORDS:,} records in {_PARTITIONS} partitions"

    def read(self) -> str:
        try:
            spark = self._stack.enter_context(_session(self._connector))
            sizes = self._sizes(spark)
        except PenstockError:
            raise
        except Exception as error:
            raise UnsupportedError(f"Spark failed: {cause(error)}") from error
        if sum(sizes) != RECORDS:
            raise UnsupportedError(f"{sum(sizes):,} of {RECORDS:,} records were read in {_PATIENCE_S:g} s: {sizes}")
        if sizes[0] > _FIRST or not _FIRST < max(sizes) <= _LATER:
            raise UnsupportedError(
                f"batches of {sizes} records, where the first was limited to {_FIRST} and later ones to {_LATER}: this "
                "Spark does not obey; please report it with the output of: penstock doctor --json"
            )
        return f"all {RECORDS:,} records: {sizes[0]} at first, then up to {max(sizes):,}, as decided while it ran"

    def _sizes(self, spark: SparkSession) -> list[int]:
        """The batches of a query that is gated from its first one on and told another size as it runs."""
        from penstock.spark.attach import attach
        from penstock.spark.reader import gated

        kafka = spark.readStream.format("kafka").option("kafka.bootstrap.servers", self._broker.bootstrap)
        reader = gated(kafka.option("subscribe", _TOPIC).option("startingOffsets", "earliest"), first=_FIRST)
        writer = reader.load().writeStream.format("noop")
        query = writer.option("checkpointLocation", str(self._folder / "checkpoint")).start()
        try:
            with attach(query, "<= 10 s", "fixed", size=_LATER, journal=self._folder / "journal.jsonl"):
                return _until_read(query)
        finally:
            query.stop()


def _refuse_other_sparks() -> None:
    try:
        spark = version("pyspark")
    except PackageNotFoundError:
        return
    if not _SPARK_FROM <= tuple(map(int, spark.split(".")[:2])) < _SPARK_BELOW:
        raise UnsupportedError(
            f"the pinned connector is for Spark 4.2 and 4.3, this is {spark}: look at your own broker instead, with "
            f"--bootstrap HOST:PORT --topic NAME, and set {connector_of(spark)}"
        )


def _counted(found: tuple[Path, ...]) -> str:
    return f"{len(found)} jars, their sums checked"


def _until_read(query: StreamingQuery) -> list[int]:
    deadline_s = time.monotonic() + _PATIENCE_S
    while True:
        if (failure := query.exception()) is not None:
            raise failure
        sizes = [progress["numInputRows"] for progress in query.recentProgress if progress["numInputRows"]]
        if sum(sizes) >= RECORDS or time.monotonic() > deadline_s:
            return sizes
        time.sleep(0.1)


@contextmanager
def _session(connector: tuple[Path, ...]) -> Iterator[SparkSession]:
    """A session with the connector, stopped at the end; one that is already active is used and left alone."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from penstock.spark.session import configure

    if SparkContext._active_spark_context is not None:
        yield SparkSession.builder.getOrCreate()
        return
    log4j = Path(str(resources.files("penstock.bench").joinpath("log4j2.properties"))).as_uri()
    settings = {
        "spark.jars": ",".join(map(str, connector)),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log4j}",
    }
    builder = SparkSession.builder.master("local[2]").appName("penstock-doctor")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = configure(builder).getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()
