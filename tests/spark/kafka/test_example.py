"""The example of the README, run as a user runs it: in a process of its own, with the connector on `spark.jars`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.journal import read
from penstock.testing.kafka import jars
from penstock.testing.kafka.produce import fill

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.testing.kafka.broker import Broker

EXAMPLE = Path(__file__).parents[3] / "examples" / "kafka_slo.py"
RECORDS = 3000


def values(indices) -> list[bytes]:
    return [b"not json" if i % 1000 == 7 else json.dumps({"id": int(i), "amount": 2.5}).encode() for i in indices]


def _journaled(path: Path) -> int:
    try:
        return sum(s.items for s in read(path).samples if s.confirmed)
    except PenstockError:
        # The file may be there before its first line is.
        return 0


def test_the_example_is_short_and_loses_no_record_also_those_that_do_not_parse(
    spark: SparkSession, broker: Broker, topic, until, tmp_path: Path
) -> None:
    assert len(EXAMPLE.read_text().splitlines()) < 40
    name = topic(partitions=2)
    fill(broker.bootstrap, name, RECORDS, values)
    connector = ",".join(map(str, jars.fetch(jars.CONNECTOR)))
    submit = f"--master local[2] --conf spark.ui.enabled=false --jars {connector} pyspark-shell"
    command = [sys.executable, str(EXAMPLE), broker.bootstrap, name, str(tmp_path)]
    environment = os.environ | {"PYSPARK_SUBMIT_ARGS": submit}
    with open(tmp_path / "log", "w") as log, subprocess.Popen(command, env=environment, stderr=log) as example:
        try:
            until(lambda: example.poll() is not None or _journaled(tmp_path / "journal.jsonl") >= RECORDS)
            assert example.poll() is None, (tmp_path / "log").read_text()[-2000:]
        finally:
            example.terminate()
    rows = spark.read.parquet(str(tmp_path / "orders")).collect()
    assert len(rows) == RECORDS
    assert {row["id"] for row in rows if not row["bad"]} == {i for i in range(RECORDS) if i % 1000 != 7}
    assert sum(row["bad"] for row in rows) == 3
    assert {bytes(row["value"]) for row in rows if row["bad"]} == {b"not json"}
    journal = read(tmp_path / "journal.jsonl")
    assert max(sample.items for sample in journal.samples) <= 1500
    assert not [event for event in journal.events if event.name.endswith("fault")]
