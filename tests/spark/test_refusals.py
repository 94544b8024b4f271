from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import BadInputError, UnsupportedError
from penstock.spark.attach import attach

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def held() -> Any:
    """A sink that holds its batch until the test is over, so that a short query is still there to attach to."""
    over = threading.Event()
    yield lambda df, batch_id: over.wait(60)
    over.set()


def test_trigger_once_is_refused(spark: SparkSession, incoming, start, held) -> None:
    incoming.put(3)
    query = start(incoming.load(spark.readStream), each=held, once=True)
    with pytest.raises(UnsupportedError, match=r"Trigger.Once.*use \.trigger\(availableNow=True\) instead"):
        attach(query, "1 s")


def test_a_continuous_query_is_refused(spark: SparkSession, start) -> None:
    query = start(spark.readStream.format("rate").load(), continuous="1 second")
    with pytest.raises(UnsupportedError, match=r"continuous.*use \.trigger\(processingTime='0 seconds'\) instead"):
        attach(query, "1 s")


def test_a_stopped_query_is_refused(spark: SparkSession, incoming, start) -> None:
    incoming.put(1)
    query = start(incoming.load(spark.readStream), availableNow=True)
    assert query.awaitTermination(90)
    with pytest.raises(UnsupportedError, match=r"has stopped; start it and attach to what start\(\) returns"):
        attach(query, "1 s")


def test_a_query_of_spark_connect_is_refused(spark: SparkSession) -> None:
    class RemoteQuery:
        id = "0"

    with pytest.raises(UnsupportedError, match=r"Spark Connect.*attach in the driver's process"):
        attach(RemoteQuery(), "1 s")  # type: ignore[arg-type]


def test_a_mistake_in_the_call_is_refused_and_the_query_goes_on(spark: SparkSession, incoming, start, tmp_path) -> None:
    incoming.put(1)
    query = start(incoming.load(spark.readStream))
    with pytest.raises(BadInputError, match="slo"):
        attach(query, "quickly")
    with pytest.raises(BadInputError, match="no such controller; did you mean 'pmbaf'"):
        attach(query, "1 s", "pmbf")
    with pytest.raises(BadInputError, match="no such setting of fixed"):
        attach(query, "1 s", "fixed", gain=3)
    with pytest.raises(BadInputError, match="journal"):
        attach(query, "1 s", journal=tmp_path)
    handle = attach(query, "1 s", journal=tmp_path / "j.jsonl")
    with pytest.raises(UnsupportedError, match=r"is attached already.*detach\(\) the first handle"):
        attach(query, "1 s", journal=tmp_path / "other.jsonl")
    assert handle.active
    handle.detach()
    attach(query, "1 s", journal=tmp_path / "j.jsonl").detach()
    assert query.isActive
