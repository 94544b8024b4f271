"""`penstock doctor --bootstrap HOST:PORT --topic NAME`: what a user's own broker says about a topic; only asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import util
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.bench.doctor.kafka_trial import connector_of
from penstock.bench.doctor.machine import Check
from penstock.control.lag_guard import NEAR
from penstock.errors import BadInputError
from penstock.spark.defaults import spark_defaults
from penstock.testing.kafka.broker import client, count_records
from penstock.units import format_count, format_duration

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

_ASK_S = 10.0
_NAMED = 5
_DAY_S, _HOUR_S = 86_400.0, 3_600.0


def visit(bootstrap: str, topic: str | None, say: Callable[[str], None]) -> Iterator[Check]:
    """The checks, each as it is done; the first that fails is the last."""
    host, _, port = bootstrap.rpartition(":")
    if not host or not port.isdigit():
        raise BadInputError("bootstrap", bootstrap, "not the address of a broker", "write HOST:PORT, e.g. kafka1:9092")
    yield connector()
    say(f"asking {bootstrap}")
    admin = client(bootstrap)
    found = _topics(admin)
    if found is None:
        why = (
            f"no answer from {bootstrap} in {_ASK_S:g} s: is it running, reachable from here, and without TLS or a "
            "password? The address that it advertises must be reachable too"
        )
        yield Check("Kafka broker", False, True, None, why)
        return
    yield Check("Kafka broker", True, True, bootstrap, "" if topic else f"topics: {_named(found)}")
    if topic is None:
        return
    if topic not in found:
        yield Check("Kafka topic", False, True, None, f"no topic {topic!r} at {bootstrap}; there are: {_named(found)}")
        return
    yield _topic(bootstrap, topic, found[topic])
    yield retention(topic, _config(admin, topic))


def connector(jars: Path | None = None, defaults: Mapping[str, str] | None = None) -> Check:
    """Spark's Kafka connector, as far as it can be seen from here: a session's own settings may bring it too.

    >>> connector(Path("none"), {"spark.jars.packages": "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"}).version
    'by spark.jars.packages'
    """
    jars = jars or _spark_jars()
    if found := sorted(jars.glob("spark-sql-kafka-*.jar")):
        return Check("Kafka connector", True, False, found[0].stem, "")
    for key, value in (spark_defaults() if defaults is None else defaults).items():
        if key in ("spark.jars", "spark.jars.packages") and "spark-sql-kafka" in value:
            return Check("Kafka connector", True, False, f"by {key}", "")
    try:
        spark = version("pyspark")
    except PackageNotFoundError:
        spark = "VERSION"
    why = f"not in Spark's jars nor its defaults; where your code does not bring it: {connector_of(spark)}"
    return Check("Kafka connector", False, False, None, why)


def retention(topic: str, config: Mapping[str, str] | None) -> Check:
    """How long the topic keeps records, and what the lag guard makes of it.

    >>> retention("clicks", {"retention.ms": "604800000"}).version
    '7 days'
    >>> retention("clicks", {"retention.ms": "604800000"}).advice
    'the lag guard admits more from a lag of 3.5 days on'
    """
    name = "retention"
    if config is None or "retention.ms" not in config:
        why = f"{topic!r} does not tell: give attach a max_lag, e.g. max_lag='30 min', or the lag guard knows no limit"
        return Check(name, False, False, None, why)
    kept_s = float(config["retention.ms"]) / 1e3
    most_bytes = float(config.get("retention.bytes", "-1"))
    # An age says nothing about bytes: such a topic may drop records at any lag.
    by_bytes = (
        f"; but past {format_count(most_bytes)} bytes a partition records go at any age" if most_bytes >= 0 else ""
    )
    if kept_s < 0:
        why = "the lag guard knows no limit; give attach a max_lag, e.g. max_lag='30 min', if records may get too old"
        return Check(name, True, False, "for ever", why + by_bytes)
    why = f"the lag guard admits more from a lag of {_age(NEAR * kept_s)} on{by_bytes}"
    return Check(name, True, False, _age(kept_s), why)


def _topics(admin: AdminClient) -> dict[str, int] | None:
    """The partitions of each topic that is not Kafka's own, or None where nobody answers."""
    from confluent_kafka import KafkaException

    try:
        metadata = admin.list_topics(timeout=_ASK_S)
    except KafkaException:
        return None
    return {name: len(topic.partitions) for name, topic in metadata.topics.items() if not name.startswith("__")}


def _topic(bootstrap: str, topic: str, partitions: int) -> Check:
    records = count_records(bootstrap, topic, partitions, _ASK_S)
    said = f"{partitions} partition{'s' if partitions > 1 else ''}"
    if records is None:
        return Check("Kafka topic", True, True, said, "the broker did not tell how many records there are")
    empty = "" if records else "empty: a query waits until something is written"
    return Check("Kafka topic", True, True, f"{said}, {records:,} records", empty)


def _config(admin: AdminClient, topic: str) -> dict[str, str] | None:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import ConfigResource  # type: ignore[attr-defined,unused-ignore]

    wanted = ConfigResource(ConfigResource.Type.TOPIC, topic)
    try:
        told: dict[str, Any] = admin.describe_configs([wanted], request_timeout=_ASK_S)[wanted].result()
    except KafkaException:
        return None
    return {name: entry.value for name, entry in told.items() if entry.value is not None}


def _named(topics: Mapping[str, int]) -> str:
    names = sorted(topics)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more if names else "none"


def _age(seconds: float) -> str:
    for unit, scale in (("days", _DAY_S), ("hours", _HOUR_S)):
        if seconds >= 2 * scale:
            return f"{seconds / scale:.3g} {unit}"
    return format_duration(seconds)


def _spark_jars() -> Path:
    spec = util.find_spec("pyspark")
    return Path(spec.submodule_search_locations[0] if spec and spec.submodule_search_locations else "", "jars")
