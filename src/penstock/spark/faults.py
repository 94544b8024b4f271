"""What to do about a query that failed, where Spark's own words do not say it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_NO_TOPIC = ("UnknownTopicOrPartition",)
_NO_BROKER = ("Timed out waiting for a node assignment", "Timed out waiting to send the call")
_KAFKA = ("kafka.bootstrap.servers", "subscribe", "subscribepattern")
_RAW = ("RawLocalFileSystem cannot be cast",)
_GONE = ("OffsetOutOfRange", "Some data may have been lost", "KAFKA_DATA_LOSS")


def hint(failure: str, sources: Sequence[Mapping[str, str]]) -> str | None:
    """A line for the user, from the text of the failure and the options of the query's sources; None where none fits.

    >>> hint("... UnknownTopicOrPartitionException: This server does not host", [{"subscribe": "rides"}])
    "topic rides is not there; create it, or correct .option('subscribe', ...)"
    """
    if _has(failure, _RAW):
        return (
            "the RocksDB state store does not go with profile 'fast' as it is; give the builder its "
            "spark.sql.streaming.stateStore.providerClass before penstock.configure, or write profile='safe'"
        )
    options = [{key.lower(): value for key, value in each.items()} for each in sources]
    kafka = [each for each in options if any(key in each for key in _KAFKA)]
    if not kafka and "kafka" not in failure:
        return None
    if _has(failure, _NO_TOPIC):
        topics = (
            ", ".join(each.get("subscribe", each.get("subscribepattern", "?")) for each in kafka) or "that it reads"
        )
        return f"topic {topics} is not there; create it, or correct .option('subscribe', ...)"
    if _has(failure, _NO_BROKER):
        servers = ", ".join(sorted({each.get("kafka.bootstrap.servers", "?") for each in kafka})) or "its address"
        return f"no broker answers at {servers}; start it, or correct .option('kafka.bootstrap.servers', ...)"
    if _has(failure, _GONE):
        return (
            "the broker has deleted records that were not read; give max_lag to attach, keep records longer, or accept "
            "the loss with .option('failOnDataLoss', 'false')"
        )
    return None


def _has(failure: str, signs: Sequence[str]) -> bool:
    return any(sign in failure for sign in signs)
