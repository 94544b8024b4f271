"""A toy stage whose plan changes at the end of every batch, on a master of its own; what came of it, as JSON.

Run as `python carrying.py MASTER FOLDER CHANGES`. The toy's rows say which version each partition of each batch ran,
so what workers echo can be held against what they did.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# The batch whose first attempt fails after it has echoed nonsense.
FAILING = 3
NONSENSE_S = 1e6
WAIT_S = 120.0


def toy(echo: Any) -> Any:
    """One row a partition: batch, partition, version, and the part of the plan that the version stands for."""

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        batch_id = int(context.getLocalProperty("streaming.sql.batchId"))
        with echo.task() as task:
            with task.stage("toy"):
                rows = sum(batch.num_rows for batch in batches)
            if batch_id == FAILING and context.attemptNumber() == 0:
                echo.tell(task.plan, {"toy": NONSENSE_S})
                raise RuntimeError("the first attempt fails, after it has echoed")
            told = [batch_id, context.partitionId(), task.plan.version, task.plan.parts.get("number", -1), rows]
            yield pa.RecordBatch.from_arrays(
                [pa.array([each]) for each in told], names=["batch", "part", "version", "number", "rows"]
            )

    return work


def planned(checkpoint: Path) -> int:
    """The last batch that Spark has planned, from its own log."""
    folder = checkpoint / "offsets"
    names = os.listdir(folder) if folder.is_dir() else []
    return max((int(name) for name in names if name.isdecimal()), default=-1)


def next_batch(follower: Any, after: int) -> int:
    """Wait for the end of a batch's job, as the journal tells it; the newest batch whose job has ended."""
    deadline_s, newest = time.monotonic() + WAIT_S, after
    while time.monotonic() < deadline_s:
        for record in follower.poll():
            if record["kind"] == "sample":
                newest = max(newest, record["batch_id"])
        if newest > after:
            return newest
        time.sleep(0.001)
    raise TimeoutError("no batch ends")


def main(master: str, folder_name: str, changes_text: str) -> None:
    from pyspark.sql import SparkSession

    import penstock
    from penstock.journal import Follower, read
    from penstock.patterns import parse, parse_arrivals
    from penstock.spark.plans.carrier import starting
    from penstock.spark.plans.echo import Echo
    from penstock.workloads.workload import Workload

    folder, changes = Path(folder_name), int(changes_text)
    builder = SparkSession.builder.master(master).appName("carrying").config("spark.ui.enabled", "false")
    builder = builder.config("spark.executorEnv.PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    spark = penstock.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    workload = Workload(parse_arrivals("saturated"), parse("constant:value=1"), items=10_000_000, seed=1)
    reader = penstock.gated(penstock.read_workload(spark, workload, partitions=2), first=100)
    out = reader.load().mapInArrow(
        toy(Echo.of(spark.sparkContext)), "batch bigint, part bigint, version bigint, number bigint, rows bigint"
    )
    journal, checkpoint = folder / "journal.jsonl", folder / "checkpoint"
    with starting(spark, journal, {"number": 0}):
        writer = out.writeStream.format("memory").queryName("toy")
        query = writer.option("checkpointLocation", str(checkpoint)).start()
    handle = penstock.attach(query, "<= 10 s", "fixed", size=100, journal=journal)
    set_ms, jvm_ms, late, at_once = [], [], 0, 0
    follower, done = Follower(journal), -1
    carry = handle._runs.live.carry_plan

    def timed_carry(text: str) -> int:
        began_s = time.perf_counter()
        first = carry(text)
        jvm_ms.append((time.perf_counter() - began_s) * 1e3)
        return first

    handle._runs.live.carry_plan = timed_carry  # type: ignore[method-assign]
    for number in range(1, changes + 1):
        done = next_batch(follower, done)
        began_s = time.perf_counter()
        plan = handle.set_plan({"number": number}, "the toy counts")
        set_ms.append((time.perf_counter() - began_s) * 1e3)
        first, version = handle._runs.carrier._firsts[-1]
        assert version == plan.version == number + 1
        # The next one that Spark plans after the call must be of this version.
        late += first > planned(checkpoint) + 1
        at_once += first == done + 1
    last = planned(checkpoint) + 2
    while done < last:
        done = next_batch(follower, done)
    query.stop()
    handle.detach()

    rows = [row.asDict() for row in spark.table("toy").collect()]
    ran: dict[int, set[tuple[int, int]]] = {}
    parts: dict[int, set[int]] = {}
    for row in rows:
        ran.setdefault(row["batch"], set()).add((row["version"], row["number"]))
        parts.setdefault(row["batch"], set()).add(row["part"])
    recording = read(journal)
    sets = [(event.details["first"], event.details["version"]) for event in recording.events if event.name == "plan"]
    due = {batch: max(version for first, version in sets if first <= batch) for batch in ran}
    echoes = {echo.batch_id: echo for echo in recording.echoes}
    print(
        json.dumps(
            {
                "changes": changes,
                "batches": len(ran),
                "versions_run": len({version for versions in ran.values() for version, _ in versions}),
                "in_two_partitions": sum(len(each) == 2 for each in parts.values()),
                "torn": sum(len(versions) != 1 for versions in ran.values()),
                "missed": sum({version for version, _ in versions} != {due[batch]} for batch, versions in ran.items()),
                "wrong_content": sum(
                    number != version - 1 for versions in ran.values() for version, number in versions
                ),
                "late": late,
                "right_after_the_ended_batch": at_once,
                "first_batch_ran": sorted(version for version, _ in ran[0]),
                "echoes": len(echoes),
                "echoes_untrue": sum(
                    set(echo.versions) != {version for version, _ in ran[batch]} or echo.partitions != len(parts[batch])
                    for batch, echo in echoes.items()
                    if batch in ran
                ),
                "failed_attempt_counted": echoes[FAILING].seconds["toy"] >= NONSENSE_S,
                "confirmed": sum(event.name == "plan-confirmed" for event in recording.events),
                "disobeyed": sum(event.name == "plan-disobeyed" for event in recording.events),
                "left_in_accumulator": len(Echo.of(spark.sparkContext)._echoed.value),
                "left_on_session": spark.conf.get("spark.penstock.plan", None),
                "set_ms": [round(statistics.median(set_ms), 2), round(max(set_ms), 2)],
                "jvm_ms": [round(statistics.median(jvm_ms), 2), round(max(jvm_ms), 2)],
            }
        )
    )
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
