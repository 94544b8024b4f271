"""What Spark users cannot see of Kafka today: the lag of a query, scraped over HTTP."""

from __future__ import annotations

import socket
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client.parser import text_string_to_metric_families

from penstock.spark.attach import attach
from penstock.spark.reader import gated
from penstock.testing.kafka.produce import fill

if TYPE_CHECKING:
    from penstock.testing.kafka.broker import Broker


def test_the_lag_of_a_query_is_scraped_and_goes_down_to_nothing(
    broker: Broker, topic, subscribed, start, sizes, until, tmp_path: Path
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    name = topic(partitions=1)
    fill(broker.bootstrap, name, 3000)
    query = start(gated(subscribed(name), first=50).load())
    seen: set[float] = set()

    def lag() -> float | None:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
            families = text_string_to_metric_families(answer.read().decode())
            found = [s for family in families for s in family.samples if s.name == "penstock_backlog"]
        assert len(found) <= 1
        if found:
            assert found[0].labels["unit"] == "rows"
            seen.add(found[0].value)
        return found[0].value if found else None

    with attach(query, "1 s", "fixed", size=100, journal=tmp_path / "j.jsonl", metrics=port) as handle:
        until(lambda: lag() == 0 and sum(sizes(query)) == 3000)
    told = {sample.backlog for sample in handle.recording().samples}
    assert len(seen) > 1
    assert seen <= told
