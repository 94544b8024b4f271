from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import BadInputError, UnsupportedError
from penstock.spark.attach import attach
from penstock.spark.attach_all import attach_all
from penstock.spark.reader import gated
from penstock.spark.session import configure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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


def test_a_failed_query_is_refused_with_what_its_python_raised(spark: SparkSession, incoming, start, until) -> None:
    from pyspark.sql.functions import udf

    def each(df: DataFrame, batch_id: int) -> None:
        raise KeyError("no such store")

    @udf("long")
    def worker(number: int) -> int:
        import no_such_package_anywhere

        return no_such_package_anywhere.of(number)

    incoming.put(1)
    in_driver = start(incoming.load(spark.readStream), checkpoint="driver", each=each)
    in_worker = start(incoming.load(spark.readStream).select(worker("id")), checkpoint="worker")
    until(lambda: not in_driver.isActive and not in_worker.isActive)
    with pytest.raises(UnsupportedError, match=r"has stopped \(KeyError: 'no such store'\); start it"):
        attach(in_driver, "1 s")
    with pytest.raises(UnsupportedError, match=r"\(ModuleNotFoundError: No module named 'no_such_package_anywhere'\)"):
        attach(in_worker, "1 s")


def test_what_is_no_query_session_or_reader_is_called_what_it_is(spark: SparkSession, incoming) -> None:
    for wrong in (None, "x", spark):
        with pytest.raises(
            BadInputError, match=r"query = .*: not a query; give what \.writeStream\.\.\.start\(\) returns"
        ):
            attach(wrong, "1 s")  # type: ignore[arg-type]
    with pytest.raises(BadInputError, match=r"query = .*: a writer that was not started"):
        attach(incoming.load(spark.readStream).writeStream, "1 s")  # type: ignore[arg-type]
    with pytest.raises(BadInputError, match=r"spark = None: not a session"):
        attach_all(None, "1 s")  # type: ignore[arg-type]
    with pytest.raises(
        BadInputError, match=r"reader = 'x': not a stream reader; write penstock.gated\(spark.readStream"
    ):
        gated("x")
    with pytest.raises(BadInputError, match=r"reader = .*: reads once and not as a stream; write .*spark.readStream"):
        gated(spark.read)
    with pytest.raises(BadInputError, match=r"reader = .*: loaded already"):
        gated(incoming.load(spark.readStream))
    with pytest.raises(BadInputError, match=r"builder = .*: a session that runs already; write penstock.configure"):
        configure(spark)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"slo": 5}, r"slo = 5: not an objective; write it in words, e\.g\. '<= 1 s'"),
        ({"slo": None}, r"slo = None: not an objective"),
        ({"patience": -1}, r"patience = -1: not a whole number of 1 or more; write e\.g\. 20"),
        ({"patience": 2.5}, r"patience = 2\.5: not a whole number"),
        ({"patience": "many"}, r"patience = 'many': not a whole number"),
        ({"warm_up_batches": -3}, r"warm_up_batches = -3: not a whole number of 0 or more; write e\.g\. 2"),
        ({"warm_up_batches": True}, r"warm_up_batches = True: not a whole number"),
    ],
)
def test_numbers_and_objectives_that_mean_nothing_are_refused_by_attach_and_attach_all(
    spark: SparkSession, incoming, start, wrong: dict[str, Any], words: str
) -> None:
    incoming.put(1)
    query = start(incoming.load(spark.readStream))
    with pytest.raises(BadInputError, match=words):
        attach(query, **{"slo": "1 s", **wrong})
    with pytest.raises(BadInputError, match=words):
        attach_all(spark, **{"slo": "1 s", **wrong})
    assert query.isActive


def test_a_query_of_spark_connect_is_refused(spark: SparkSession) -> None:
    RemoteQuery = type("StreamingQuery", (), {"__module__": "pyspark.sql.connect.streaming.query"})  # noqa: N806
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
