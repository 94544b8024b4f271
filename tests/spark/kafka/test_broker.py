from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.patterns import parse_arrivals
from penstock.testing.kafka.broker import LOOPBACK, Broker, BrokerError
from penstock.testing.kafka.produce import Producer, fill

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Stored = Callable[[str], "DataFrame"]


def numbers(df: DataFrame) -> list[int]:
    return sorted(int(row.value) for row in df.select("value").collect())


def test_a_batch_query_reads_what_was_written(broker: Broker, topic: Any, stored: Stored) -> None:
    name = topic(partitions=3)
    fill(broker.bootstrap, name, 1_000)
    rows = stored(name).select("partition", "value").collect()
    assert sorted(int(row.value) for row in rows) == list(range(1_000))
    assert all(int(row.value) % 3 == row.partition for row in rows)


def test_a_streaming_query_reads_what_was_written(
    broker: Broker, topic: Any, subscribed: Any, start: Any, sizes: Any
) -> None:
    name = topic(partitions=2)
    fill(broker.bootstrap, name, 1_000)
    seen: list[int] = []
    query = start(
        subscribed(name, maxOffsetsPerTrigger=400).load(),
        each=lambda df, _: seen.extend(numbers(df)),
        availableNow=True,
    )
    assert query.awaitTermination(90)
    assert sorted(seen) == list(range(1_000))
    assert sizes(query) == [400, 400, 200]


def test_records_follow_the_schedule_and_carry_its_times(broker: Broker, topic: Any, stored: Stored) -> None:
    name = topic(partitions=2)
    arrivals = parse_arrivals("constant:rate=500/s")
    with Producer(broker.bootstrap, name, arrivals, count=10_000, for_s=1.0) as producer:
        producer.join()
    rows = stored(name).selectExpr("int(string(value)) as i", "unix_millis(timestamp) as ms").orderBy("i").collect()
    assert [row.i for row in rows] == list(range(500))
    due_ms = [int((producer.started_wall_s + arrivals.arrival_s(row.i)) * 1e3) for row in rows]
    assert [row.ms for row in rows] == due_ms


def test_a_kill_and_a_start_keep_the_data_and_double_nothing(broker: Broker, topic: Any, stored: Stored) -> None:
    name, address = topic(partitions=2), broker.bootstrap
    fill(address, name, 1_000)
    with Producer(address, name, parse_arrivals("constant:rate=500/s"), count=3_000) as producer:
        broker.kill()
        assert not broker.running
        broker.start()
    assert broker.bootstrap == address
    assert producer.produced > 0
    assert numbers(stored(name)) == sorted([*range(1_000), *range(producer.produced)])


def test_a_start_that_fails_shows_the_log(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    host, port = broker.bootstrap.split(":")
    with socket.create_server((host, int(port))), pytest.raises(BrokerError, match=f"(?s)log ends with.*{port}"):
        broker.start()
    assert not broker.running


def test_a_missing_topic_and_a_known_one_are_refused(broker: Broker, topic: Any) -> None:
    with pytest.raises(BrokerError, match=r"'penstock-none' cannot be written: .*[Uu]nknown topic"):
        fill(broker.bootstrap, "penstock-none", 1)
    with pytest.raises(BrokerError, match="already exists"):
        broker.create_topic(topic())


_CHILD = """
from penstock.testing.kafka.broker import Broker
broker = Broker().start()
print(broker.bootstrap, broker.folder, flush=True)
input()
"""


def test_a_broker_ends_with_its_python_when_that_is_killed(until: Any) -> None:
    child = subprocess.Popen([sys.executable, "-c", _CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with child:
        assert child.stdout is not None
        bootstrap, folder = child.stdout.readline().split()
        child.kill()
    until(lambda: not Path(folder).exists())
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((LOOPBACK, int(bootstrap.split(":")[1])))
