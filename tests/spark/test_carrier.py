"""A plan reaches the workers with the batch that shall obey it, in every kind of worker, and never in mid-batch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock.errors import UnsupportedError
from penstock.journal import read
from penstock.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HERE = Path(__file__).parent
CHANGES = 60


@pytest.mark.parametrize("master", ["local[2,4]", "local-cluster[2,1,1024]"])
def test_a_change_at_every_batch_is_obeyed_by_the_next_one_whole(master: str, tmp_path: Path) -> None:
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, str(HERE / "carrying.py"), master, str(tmp_path), str(CHANGES)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout)
    print(told)
    wrong = ("torn", "missed", "wrong_content", "late", "echoes_untrue", "disobeyed", "failed_attempt_counted")
    assert {name: told[name] for name in wrong} == dict.fromkeys(wrong, 0)
    assert told["in_two_partitions"] == told["batches"] > CHANGES
    # A version that the next one overtakes before any batch is planned never runs.
    assert told["versions_run"] > 0.8 * CHANGES
    assert told["first_batch_ran"] == [1], "the plan was set on the session before the start"
    assert told["left_on_session"] is None
    # The last batch may be stopped before its progress is told.
    assert told["echoes"] >= told["batches"] - 2
    assert told["confirmed"] >= told["versions_run"] - 2
    assert told["left_in_accumulator"] <= 4


def test_a_change_between_two_actions_of_a_batch_waits_for_the_next_batch(
    spark: SparkSession, incoming: Any, start: Any, until: Any, tmp_path: Path
) -> None:
    ran: dict[int, list[int]] = {}
    handles: list[Any] = []

    def act(df: DataFrame, batch_id: int) -> None:
        for action in range(2):
            ran.setdefault(batch_id, []).extend(row.version for row in df.collect())
            if handles and action == 0:
                # Twice: the first of them is never run.
                for number in range(2):
                    handles[0].set_plan({"number": [batch_id, number]}, "in the middle of a batch")

    incoming.put(2)
    query = start(_versions(incoming.load(spark.readStream.option("maxFilesPerTrigger", 2))), each=act)
    with penstock.attach(query, "<= 10 s", "fixed", size=2, journal=tmp_path / "journal.jsonl") as handle:
        handles.append(handle)
        until(lambda: ran)
        incoming.put(12)
        until(lambda: len(ran.get(6, ())) == 4)
    query.stop()
    whole = {batch_id: set(versions) for batch_id, versions in ran.items()}
    assert all(len(versions) == 1 for versions in whole.values()), whole
    *_, before, last = (versions.pop() for _, versions in sorted(whole.items()))
    assert (before, last) == (last - 2, handle.plan.version - 2)


@pytest.mark.parametrize("kind", ["mapInPandas", "pandas_udf", "udf", "transformWithStateInPandas"])
def test_every_kind_of_worker_sees_the_plan_and_can_echo_it(
    kind: str, spark: SparkSession, incoming: Any, start: Any, until: Any, tmp_path: Path
) -> None:
    from penstock.spark.plans.carrier import starting
    from penstock.spark.plans.echo import Echo

    journal = tmp_path / "journal.jsonl"
    incoming.put(1)
    stream = incoming.load(spark.readStream.option("maxFilesPerTrigger", 1))
    df = WORKERS[kind](stream, Echo.of(spark.sparkContext))
    provider = "spark.sql.streaming.stateStore.providerClass"
    spark.conf.set(provider, "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")
    try:
        with starting(spark, journal, {"number": 1}):
            query = start(df)
    finally:
        spark.conf.unset(provider)
    with penstock.attach(query, "<= 10 s", "fixed", size=1, journal=journal) as handle:
        incoming.put(2)
        until(lambda: handle.recording().echoes)
        handle.set_plan({"number": 2}, "the second")
        incoming.put(2)
        until(lambda: any(echo.version == 2 for echo in handle.recording().echoes))
    recording = read(journal)
    assert {version for echo in recording.echoes for version in echo.versions} == {1, 2}
    assert all(echo.seconds["work"] > 0 for echo in recording.echoes)
    assert not [event for event in recording.events if event.name == "plan-disobeyed"]


def test_the_read_of_a_python_source_sees_the_plan_and_can_echo_it(
    spark: SparkSession, start: Any, until: Any, tmp_path: Path
) -> None:
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

    from penstock.spark.plans.carrier import starting
    from penstock.spark.plans.echo import Echo

    echo = Echo.of(spark.sparkContext)

    class Reader(DataSourceStreamReader):
        def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
            return {"at": 0}

        def latestOffset(self, start: Any = None, limit: Any = None) -> dict[str, int]:  # noqa: N802 - Spark's name
            return {"at": (start or {"at": 0})["at"] + 1}

        def partitions(self, start: Any, end: Any) -> list[InputPartition]:
            return [InputPartition(0)]

        def read(self, partition: Any) -> Iterator[tuple[int]]:
            from penstock.spark.plans.in_force import plan_in_force

            echo.tell(plan_in_force(), {"read": 0.5})
            yield (plan_in_force().version,)

        def commit(self, end: Any) -> None:
            pass

    class Source(DataSource):
        @classmethod
        def name(cls) -> str:
            return "versions"

        def schema(self) -> str:
            return "version bigint"

        def streamReader(self, schema: Any) -> Reader:  # noqa: N802 - Spark's name
            return Reader()

    spark.dataSource.register(Source)
    seen: list[int] = []
    with starting(spark, tmp_path / "journal.jsonl", {"number": 1}):
        query = start(
            spark.readStream.format("versions").load(),
            each=lambda df, _: seen.extend(row.version for row in df.collect()),
        )
    until(lambda: len(seen) >= 2)
    query.stop()
    assert set(seen) == {1}
    assert {key[3] for key in echo.take(str(query.id))} == {1}


def test_a_later_run_in_the_same_application_carries_the_plan_on(
    spark: SparkSession, incoming: Any, start: Any, until: Any, tmp_path: Path
) -> None:
    ran: list[int] = []
    incoming.put(1)
    df = _versions(incoming.load(spark.readStream.option("maxFilesPerTrigger", 1)))

    def act(df: DataFrame, _: int) -> None:
        ran.extend(row.version for row in df.collect())

    query = start(df, each=act)
    with penstock.attach(query, "<= 10 s", "fixed", size=1, journal=tmp_path / "journal.jsonl") as handle:
        until(lambda: ran)
        handle.set_plan({"number": 1}, "the first")
        incoming.put(1)
        until(lambda: len(ran) >= 2)
        query.stop()
        start(df, each=act)
        until(lambda: handle.active and handle.query.isActive)
        assert handle.plan == Plan(1, {"number": 1})
        incoming.put(2)
        until(lambda: len(ran) >= 4)
    # The batch that was stopped may run again, and is then the first of the later run.
    assert ran == [0] + [1] * (len(ran) - 1)
    with pytest.raises(UnsupportedError, match="this handle is detached"):
        handle.set_plan({"number": 2}, "too late")
    plans = [event.details["why"] for event in read(tmp_path / "journal.jsonl").events if event.name == "plan"]
    assert plans == ["the first", "the query was started with it"]


def test_a_query_whose_session_is_out_of_reach_is_refused_with_the_version_of_spark(
    spark: SparkSession, incoming: Any, start: Any, tmp_path: Path
) -> None:
    import pyspark

    from penstock.spark.observe.monitor import Monitor

    incoming.put(1)
    query = start(incoming.load(spark.readStream))
    live = Monitor.of(spark.sparkContext).live(query)
    # An object of the JVM that has none of the methods, as in another version of Spark.
    live._execution = spark.sparkContext._jvm.java.util.ArrayList()
    with pytest.raises(UnsupportedError, match=f"Spark {pyspark.__version__}"):
        live.carry_plan(Plan(1).to_text())
    with pytest.raises(UnsupportedError, match="no plan reaches"):
        live.carried_plan()


def _versions(df: DataFrame) -> DataFrame:
    def work(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        from penstock.spark.plans.in_force import plan_in_force

        for batch in batches:
            versions = pa.array([plan_in_force().version] * batch.num_rows, pa.int64())
            yield pa.RecordBatch.from_arrays([versions], names=["version"])

    return df.mapInArrow(work, "version bigint")


def _map_in_pandas(df: DataFrame, echo: Any) -> DataFrame:
    def work(frames: Iterator[Any]) -> Iterator[Any]:
        with echo.task() as task:
            for frame in frames:
                with task.stage("work"):
                    answer = frame.assign(id=frame["id"] + task.plan.version)
                yield answer

    return df.mapInPandas(work, "id bigint")


def _pandas_udf(df: DataFrame, echo: Any) -> DataFrame:
    import pandas as pd
    from pyspark.sql.functions import pandas_udf

    def work(ids: Any) -> Any:
        from penstock.spark.plans.in_force import plan_in_force

        plan = plan_in_force()
        echo.tell(plan, {"work": 0.5})
        return ids + plan.version

    # Spark reads the kind of the function from its hints, and those of this file are texts.
    work.__annotations__ = {"ids": pd.Series, "return": pd.Series}
    return df.select(pandas_udf(work, "bigint")("id").alias("id"))


def _udf(df: DataFrame, echo: Any) -> DataFrame:
    from pyspark.sql.functions import udf

    def work(number: int) -> int:
        from penstock.spark.plans.in_force import plan_in_force

        plan = plan_in_force()
        echo.tell(plan, {"work": 0.5})
        return number + plan.version

    return df.select(udf(work, "bigint")("id").alias("id"))


def _with_state(df: DataFrame, echo: Any) -> DataFrame:
    from pyspark.sql.streaming import StatefulProcessor

    class Count(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.seen = handle.getValueState("seen", "n bigint")

        def handleInputRows(self, key: Any, rows: Any, timers: Any) -> Iterator[Any]:  # noqa: N802 - Spark's name
            import pandas as pd

            with echo.task() as task, task.stage("work"):
                count = sum(len(frame) for frame in rows)
                self.seen.update((count,))
                answer = pd.DataFrame({"id": [key[0]], "version": [task.plan.version]})
            yield answer

        def close(self) -> None:
            pass

    schema = "id bigint, version bigint"
    return df.groupBy("id").transformWithStateInPandas(Count(), schema, "append", "none")


WORKERS = {
    "mapInPandas": _map_in_pandas,
    "pandas_udf": _pandas_udf,
    "udf": _udf,
    "transformWithStateInPandas": _with_state,
}
