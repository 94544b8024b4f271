"""The program that the tests of this folder kill: gated queries on a local Spark, all they keep in one folder.

Run as `python child.py SCENARIO FOLDER PROFILE QUERIES ITEMS SIZE`. Test and workers talk by markers in the folder:
`attached` opens the stages, `waiting` says that one waits for it, `broken` makes them raise.
"""

from __future__ import annotations

import resource
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from penstock.spark.attach import Handle

SEED = 1
WAIT_S = 120.0
BROKEN_AT = 5000


class Run:
    """What the command line asked for."""

    def __init__(self, folder: str, profile: str, queries: str, items: str, size: str) -> None:
        self.folder = Path(folder)
        self.profile = profile
        self.names = [f"q{number}" for number in range(int(queries))]
        self.items = int(items)
        self.size = int(size)
        self.attached = self.folder / "attached"
        self.journal_room_bytes: int | None = None

    def session(self) -> SparkSession:
        from pyspark.sql import SparkSession

        import penstock

        builder = SparkSession.builder.master("local[2]").appName("killed").config("spark.ui.enabled", "false")
        builder = builder.config("spark.ui.showConsoleProgress", "false")
        raw = self.profile == "raw_local_files"
        profile = "fast" if raw else self.profile
        spark = penstock.configure(builder, profile, raw_local_files=raw).getOrCreate()
        spark.sparkContext.setLogLevel("OFF")
        return spark

    def journal(self, name: str) -> Path:
        return self.folder / name / "journal.jsonl"

    def start(
        self, spark: SparkSession, name: str, stage: Any = None, schema: str = "id bigint, hash bigint"
    ) -> StreamingQuery:
        import penstock
        from penstock.patterns import parse, parse_arrivals
        from penstock.workloads.workload import Workload

        workload = Workload(
            parse_arrivals("saturated"), parse("constant:value=1"), items=self.items, seed=SEED + int(name[1:])
        )
        reader = penstock.gated(penstock.read_workload(spark, workload), first=self.size)
        stage = stage or stage_of(str(self.attached), str(self.folder / "broken"))
        df = reader.load().mapInArrow(stage, schema)
        place = self.folder / name
        writer = df.writeStream.format("parquet").option("path", str(place / "output"))
        return writer.option("checkpointLocation", str(place / "checkpoint")).queryName(name).start()

    def attach(self, query: StreamingQuery) -> Handle:
        import penstock

        return penstock.attach(
            query,
            "5 s ± 10%",
            "faf",
            size=self.size,
            min_size=self.size,
            max_size=self.size * 1.2,
            journal=self.journal(str(query.name)),
        )


def stage_of(attached: str, broken: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A stage that waits for the loop, so that it sees also the first batch of a run; and that can be broken."""

    def stage(batches: Iterator[Any]) -> Iterator[Any]:
        import numpy as np
        import pyarrow as pa

        deadline_s = time.monotonic() + WAIT_S
        while not Path(attached).exists() and time.monotonic() < deadline_s:
            Path(attached).with_name("waiting").touch()
            time.sleep(0.01)
        for batch in batches:
            ids = batch.column("id").to_numpy()
            if Path(broken).exists() and ids.max() >= BROKEN_AT:
                raise RuntimeError("the stage is broken")
            bits = batch.column("value").to_numpy().view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            yield pa.RecordBatch.from_arrays([batch.column("id"), pa.array(bits.view(np.int64))], names=["id", "hash"])

    return stage


def planned_stage_of(echo: Any) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A stage whose rows tell their batch, the version of the plan that it ran, and which process made that plan."""

    def stage(batches: Iterator[Any]) -> Iterator[Any]:
        import numpy as np
        import pyarrow as pa
        from pyspark import TaskContext

        batch_id = int(TaskContext.get().getLocalProperty("streaming.sql.batchId"))
        with echo.task() as task:
            for batch in batches:
                with task.stage("hash"):
                    bits = batch.column("value").to_numpy().view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
                told = [batch_id, task.plan.version, task.plan.parts["made_by"]]
                arrays = [batch.column("id"), pa.array(bits.view(np.int64))]
                arrays += [pa.array([each] * batch.num_rows) for each in told]
                yield pa.RecordBatch.from_arrays(arrays, names=["id", "hash", "batch", "version", "made_by"])

    return stage


def plans(run: Run, spark: SparkSession) -> None:
    """The plan changes whenever a batch has ended, until all items are done."""
    from penstock.journal import Follower
    from penstock.spark.plans.carrier import starting
    from penstock.spark.plans.echo import Echo

    (name,), made_by = run.names, uuid.uuid4().hex
    schema = "id bigint, hash bigint, batch bigint, version bigint, made_by string"
    with starting(spark, run.journal(name), {"made_by": made_by, "number": 0}):
        query = run.start(spark, name, planned_stage_of(Echo.of(spark.sparkContext)), schema)
    handle = run.attach(query)

    def change() -> None:
        follower, number = Follower(run.journal(name)), 0
        while handle.active:
            for record in follower.poll():
                if record["kind"] == "sample":
                    number += 1
                    handle.set_plan({"made_by": made_by, "number": number}, "a batch has ended")
            time.sleep(0.001)

    changing = threading.Thread(target=change, daemon=True)
    changing.start()
    query.processAllAvailable()
    query.stop()
    handle.detach()
    changing.join(WAIT_S)
    spark.stop()


def windows(run: Run, spark: SparkSession) -> None:
    """Windows over the numbered items of a query, in other sliding batches after each batch, until all are done."""
    import penstock
    from penstock.journal import Follower
    from penstock.patterns import parse, parse_arrivals
    from penstock.spark.windows.checks import ROCKSDB, SHUFFLE, STATE_STORE
    from penstock.workloads.workload import Workload

    spark.conf.set(STATE_STORE, ROCKSDB)
    spark.conf.set(SHUFFLE, "2")

    @penstock.kernel("total double")
    def total(value: Any) -> Any:
        found = 0.0
        for each in value:
            found += each
        return found

    (name,) = run.names
    workload = Workload(parse_arrivals("saturated"), parse("constant:value=1"), items=run.items, seed=SEED)
    df = penstock.gated(penstock.read_workload(spark, workload), first=run.size).load()
    numbered = penstock.windows(df, order="id", journal=run.journal(name))
    out = numbered.rows(50, every=7, batch=3, replicas=2).apply(total, "value")
    place = run.folder / name
    writer = out.writeStream.format("parquet").option("path", str(place / "output"))
    query = writer.option("checkpointLocation", str(place / "checkpoint")).queryName(name).start()
    handle = run.attach(query)

    def change() -> None:
        follower, number = Follower(run.journal(name)), 0
        while handle.active:
            for record in follower.poll():
                if record["kind"] == "echo":
                    number += 1
                    protocol = ("hard", "soft")[number % 2]
                    handle.set_windows(batch=1 + number % 4, replicas=1 + number % 3, protocol=protocol)
            time.sleep(0.001)

    changing = threading.Thread(target=change, daemon=True)
    changing.start()
    query.processAllAvailable()
    query.stop()
    handle.detach()
    changing.join(WAIT_S)
    spark.stop()


def finish(run: Run, spark: SparkSession) -> None:
    """Every query until all its items are done."""
    queries, handles = [], []
    for name in run.names:
        # One after another: on a busy machine a query can fail while several start their Python processes at once.
        queries.append(run.start(spark, name))
        handles.append(run.attach(queries[-1]))
    run.attached.touch()
    for query in queries:
        query.processAllAvailable()
    for query, handle in zip(queries, handles, strict=True):
        query.stop()
        handle.detach()
    spark.stop()


def fail(run: Run, spark: SparkSession) -> None:
    """A query whose stage raises; then the repaired one, in the same session."""
    (run.folder / "broken").touch()
    query = run.start(spark, "q0")
    handle = run.attach(query)
    run.attached.touch()
    try:
        query.awaitTermination()
    except Exception as error:
        print("FAILED" if "the stage is broken" in str(error) else f"OTHER {error}", flush=True)
    wait_until(lambda: not handle.active)
    print(f"ENDED {handle.ended}", flush=True)
    handle.detach()
    print(f"STILL {handle.ended}", flush=True)
    (run.folder / "broken").unlink()
    finish(run, spark)


def stop(run: Run, spark: SparkSession) -> None:
    """The session is stopped under a live handle."""
    handle = running(run, spark)
    spark.stop()
    wait_until(lambda: not handle.active)
    print(f"ENDED {handle.ended}", flush=True)
    handle.detach()


def leave(run: Run, spark: SparkSession) -> None:
    """The program ends and has neither detached nor stopped anything."""
    running(run, spark)


def full(run: Run, spark: SparkSession) -> None:
    """No file of this process may grow past a limit, as on a full disk; later there is room again."""
    query = run.start(spark, "q0")
    handle = run.attach(query)
    run.attached.touch()
    wait_until(lambda: len(handle.recording().samples) >= 3)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Ten bytes more: the next record is written in part, as at the very end of a disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (handle.journal_path.stat().st_size + 10, most))
    done = len(query.recentProgress)
    wait_until(lambda: len(query.recentProgress) >= done + 5)
    print(f"WENT ON, {'active' if handle.active else handle.ended}", flush=True)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    query.processAllAvailable()
    query.stop()
    handle.detach()
    spark.stop()


def running(run: Run, spark: SparkSession) -> Handle:
    """A query in the middle of its work."""
    query = run.start(spark, "q0")
    handle = run.attach(query)
    run.attached.touch()
    wait_until(lambda: len(handle.recording().samples) >= 3)
    # Anew, in mid-run: by now Spark has forgotten what the first attach was told.
    handle.detach()
    return run.attach(query)


def wait_until(true: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while not true():
        if time.monotonic() > deadline_s:
            raise TimeoutError("waited in vain")
        time.sleep(0.02)


def main(scenario: str, *what: str) -> None:
    run = Run(*what)
    run.attached.unlink(missing_ok=True)
    spark = run.session()
    print("READY", flush=True)
    scenarios = (finish, fail, stop, leave, full, plans, windows)
    {each.__name__: each for each in scenarios}[scenario](run, spark)
    print("DONE", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
