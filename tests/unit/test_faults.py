from __future__ import annotations

import pytest

from penstock.spark.faults import hint

KAFKA = [{"subscribe": "rides", "kafka.bootstrap.servers": "localhost:9092"}]


@pytest.mark.parametrize(
    ("failure", "sources", "words"),
    [
        ("...UnknownTopicOrPartitionException: This server does not host", KAFKA, "topic rides is not there"),
        ("TimeoutException: Timed out waiting for a node assignment. Call: x", KAFKA, "no broker answers at localhost"),
        ("KAFKA_DATA_LOSS: Some data may have been lost", KAFKA, "max_lag"),
        ("RawLocalFileSystem cannot be cast to class LocalFileSystem", [{}], "profile='safe'"),
    ],
)
def test_a_failure_that_is_known_has_advice(failure: str, sources: list[dict[str, str]], words: str):
    assert words in (hint(failure, sources) or "")


def test_other_failures_and_other_sources_have_none():
    assert hint("ArithmeticException: divide by zero", KAFKA) is None
    assert hint("UnknownTopicOrPartitionException", [{"path": "in/"}]) is None
