from __future__ import annotations

import pytest

from penstock.spark.faults import cause, hint

KAFKA = [{"subscribe": "rides", "kafka.bootstrap.servers": "localhost:9092"}]


@pytest.mark.parametrize(
    ("failure", "sources", "words"),
    [
        ("...UnknownTopicOrPartitionException: This server does not host", KAFKA, "topic rides is not there"),
        ("TimeoutException: Timed out waiting for a node assignment. Call: x", KAFKA, "no broker answers at localhost"),
        ("KAFKA_DATA_LOSS: Some data may have been lost", KAFKA, "max_lag"),
        ("RawLocalFileSystem cannot be cast to class LocalFileSystem", [{}], "leave raw_local_files=True out"),
        (
            'java.io.IOException: Cannot run program "/v/bin/python": error=2, No such file or directory',
            [{}],
            "PYSPARK_PYTHON",
        ),
    ],
)
def test_a_failure_that_is_known_has_advice(failure: str, sources: list[dict[str, str]], words: str):
    assert words in (hint(failure, sources) or "")


def test_other_failures_and_other_sources_have_none():
    assert hint("ArithmeticException: divide by zero", KAFKA) is None
    assert hint("UnknownTopicOrPartitionException", [{"path": "in/"}]) is None


WORKER = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Job aborted due to stage failure: \
Task 0 in stage 3.0 failed 1 times: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/spark/worker.py", line 10, in main
    process()
  File "/app/udf.py", line 3, in <lambda>
    import polars
    ^^^^^^^^^^^^^
ModuleNotFoundError: No module named 'polars'

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:1)
\tat java.base/java.lang.Thread.run(Thread.java:840)

Driver stacktrace: SQLSTATE: XXKST"""

CHAINED = """Traceback (most recent call last):
  File "a.py", line 1, in each
    store[key]
KeyError: 'a'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 3, in each
    raise ValueError(key)
ValueError: no such key
in this store
"""


@pytest.mark.parametrize(
    ("failure", "line"),
    [
        (WORKER, "ModuleNotFoundError: No module named 'polars'"),
        (CHAINED, "ValueError: no such key in this store"),
        ("[STREAM_FAILED] Query [id = 1] terminated: divide by zero\n\tat Job.scala", None),
        ("Traceback (most recent call last):", "Traceback (most recent call last):"),
    ],
)
def test_the_line_that_tells_most_is_kept(failure: str, line: str | None):
    assert cause(failure) == (line or failure.splitlines()[0])
    assert cause(RuntimeError(failure)) == (line or failure.splitlines()[0])


def test_a_failure_without_a_word_is_called_by_its_type_and_a_long_one_is_cut():
    assert cause(TimeoutError()) == "TimeoutError"
    assert len(cause("x" * 10_000)) < 600
