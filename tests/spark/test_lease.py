"""What becomes of the users' limits when our side falls silent: on a real engine, with a real probe."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import LimitsReturnedError, UnsupportedError
from penstock.journal import Journal
from penstock.sample import Decision
from penstock.spark import attach_all as attaching
from penstock.spark.attach import attach
from penstock.spark.attach_all import attach_all
from penstock.spark.jvm.bridge import instance, java_classes
from penstock.spark.observe.monitor import LEASE_S, Monitor
from penstock.spark.reader import gated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHORT_MS = 300


class Paused:
    """The probe, whose polls fail or wait as a test wishes."""

    def __init__(self, probe: Any) -> None:
        self._probe = probe
        self.go_on = threading.Event()
        self.go_on.set()
        self.silent = threading.Event()
        self.error: BaseException | None = None

    def pause(self) -> None:
        """Let nobody poll, and wait for the end of the poll that is under way."""
        self.silent.clear()
        self.go_on.clear()
        self.silent.wait()

    def poll(self, timeout_ms: int) -> Any:
        if not self.go_on.is_set():
            self.silent.set()
        self.go_on.wait()
        if self.error is not None:
            raise self.error
        return self._probe.poll(timeout_ms)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._probe, name)


@pytest.fixture
def monitor(spark: SparkSession) -> Monitor:
    return Monitor.of(spark.sparkContext)


@pytest.fixture
def probe(monitor: Monitor) -> Iterator[Paused]:
    real = monitor._bridge.probe
    paused = Paused(real)
    monitor._bridge.probe = paused
    yield paused
    paused.go_on.set()
    real.setLease(round(LEASE_S * 1e3))
    monitor._bridge.probe = real


def limit_at_the_jvm(handle: Any) -> str:
    live = handle._runs.live
    return str(live._engine.limit(live._execution, 0))


def threads(spark: SparkSession, name: str) -> int:
    jvm: Any = spark.sparkContext._jvm
    return sum(thread.getName() == name for thread in jvm.java.lang.Thread.getAllStackTraces().keySet())


def test_where_nobody_polls_the_jvm_gives_the_users_limit_back_and_polling_takes_it_up_again(
    spark: SparkSession, incoming, start, until, sizes, tmp_path: Path, probe: Paused
) -> None:
    query = start(incoming.load(gated(spark.readStream.option("maxFilesPerTrigger", 9))))
    handle = attach(query, "1 s", "fixed", size=2, journal=tmp_path / "j.jsonl")
    incoming.put(6)
    until(lambda: sum(sizes(query)) == 6)
    probe.pause()
    probe.setLease(SHORT_MS)
    until(lambda: "MaxFiles: 9" in limit_at_the_jvm(handle))
    incoming.put(27)
    until(lambda: sum(sizes(query)) == 33)
    assert 9 in sizes(query)
    with pytest.raises(LimitsReturnedError):
        handle._runs.live.set_max_files(0, 3)
    assert "MaxFiles: 9" in limit_at_the_jvm(handle)
    probe.setLease(round(LEASE_S * 1e3))
    probe.go_on.set()
    until(lambda: "MaxFiles: 2" in limit_at_the_jvm(handle))
    incoming.put(6)
    until(lambda: sum(sizes(query)) == 39)
    assert max(sizes(query)[-3:]) == 2
    handle.detach()
    recording = handle.recording()
    assert "limits-returned" in [event.name for event in recording.events]
    sized = {sample.batch_id: sample.size for sample in recording.samples}
    assert {batch_id for batch_id, size in sized.items() if size == 9} & set(recording.obeyed) == set()
    assert {batch_id for batch_id, size in sized.items() if size == 2} <= set(recording.obeyed)


def test_a_later_run_of_a_gated_query_is_owed_the_users_limit_and_not_the_first_one(
    spark: SparkSession, incoming, start, until, tmp_path: Path, probe: Paused
) -> None:
    df = incoming.load(gated(spark.readStream.option("maxFilesPerTrigger", 9)))
    first = start(df)
    handle = attach(first, "1 s", "fixed", size=2, journal=tmp_path / "j.jsonl")
    first.stop()
    second = start(df)
    until(lambda: handle.active and handle.query.runId == second.runId)
    assert "MaxFiles: 2" in limit_at_the_jvm(handle)
    probe.pause()
    probe.setLease(SHORT_MS)
    until(lambda: "MaxFiles: 2" not in limit_at_the_jvm(handle))
    assert "MaxFiles: 9" in limit_at_the_jvm(handle)
    probe.setLease(round(LEASE_S * 1e3))
    probe.go_on.set()
    handle.detach()


def test_one_run_whose_limits_cannot_be_given_back_keeps_no_other_from_its_own(
    spark: SparkSession, incoming, start, until, tmp_path: Path, probe: Paused
) -> None:
    query = start(incoming.load(gated(spark.readStream.option("maxFilesPerTrigger", 9))))
    handle = attach(query, "1 s", "fixed", size=2, journal=tmp_path / "j.jsonl")
    jvm: Any = spark.sparkContext._jvm
    limits, no_execution = probe.limits(), jvm.java.lang.Object()
    broken = [f"{number}-of-no-query" for number in range(40)]
    for run in broken:
        limits.owe(run, no_execution, 0, "no limit")
    try:
        for _ in range(2):
            probe.pause()
            probe.setLease(SHORT_MS)
            until(lambda: "MaxFiles: 9" in limit_at_the_jvm(handle))
            probe.setLease(round(LEASE_S * 1e3))
            probe.go_on.set()
            until(lambda: "MaxFiles: 2" in limit_at_the_jvm(handle))
    finally:
        for run in broken:
            limits.settle(run)
    handle.detach()
    assert "monitor-fault" in [event.name for event in handle.recording().events]


def test_a_machine_that_stood_still_does_not_end_the_lease(
    spark: SparkSession, incoming, start, until, sizes, tmp_path: Path, monitor: Monitor
) -> None:
    query = start(incoming.load(gated(spark.readStream.option("maxFilesPerTrigger", 9))))
    handle = attach(query, "1 s", "fixed", size=2, journal=tmp_path / "j.jsonl")
    jvm: Any = spark.sparkContext._jvm
    pid = jvm.java.lang.ProcessHandle.current().pid()
    monitor._bridge.probe.setLease(2000)
    try:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(4.0)
    finally:
        os.kill(pid, signal.SIGCONT)
    incoming.put(6)
    until(lambda: sum(sizes(query)) == 6)
    monitor._bridge.probe.setLease(round(LEASE_S * 1e3))
    handle.detach()
    assert max(sizes(query)) == 2
    assert "limits-returned" not in [event.name for event in handle.recording().events]


def test_a_query_whose_start_hangs_gets_its_own_limit_back_and_holds_up_no_other(
    spark: SparkSession, incoming, incoming_too, start, until, sizes, tmp_path: Path, monitor: Monitor, monkeypatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(monitor, "lease_s", 1.0)
    go_on, hung, opened = threading.Event(), threading.Event(), Journal.open

    def slow(path: Path, header: dict[str, Any]) -> Journal:
        if not hung.is_set():
            hung.set()
            go_on.wait()
        return opened(path, header)

    monkeypatch.setattr(Journal, "open", slow)
    incoming.put(300)
    incoming_too.put(6)
    with attach_all(spark, "1 s", "fixed") as attached:
        try:
            stuck = start(incoming.load(spark.readStream))
            until(hung.is_set)
            well = start(incoming_too.load(spark.readStream), checkpoint="too")
            until(lambda: [handle.query.id for handle in attached.handles] == [well.id])
            until(lambda: sum(sizes(well)) == 6 and sum(sizes(stuck)) == 300)
            assert max(sizes(well)) == 1
            assert max(sizes(stuck)) > 1
            with pytest.raises(UnsupportedError, match="is being attached by another thread"):
                attach(stuck, "1 s", journal=tmp_path / "j.jsonl")
        finally:
            go_on.set()
        until(lambda: len(attached.handles) == 2)
        until(lambda: all("MaxFiles: 1" in limit_at_the_jvm(handle) for handle in attached.handles))


def test_a_query_whose_sources_come_after_the_lease_is_over_is_not_limited(
    spark: SparkSession, incoming, incoming_too, start, until, sizes, tmp_path: Path, probe: Paused
) -> None:
    from pyspark.sql.streaming.listener import StreamingQueryListener

    class Slow(StreamingQueryListener):
        """A listener of the user's, which holds the start up between ours and the making of the sources."""

        def onQueryStarted(self, event: Any) -> None:  # noqa: N802
            met.set()
            go_on.wait(60)

        def onQueryProgress(self, event: Any) -> None:  # noqa: N802
            pass

        def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
            pass

    met, go_on, listener = threading.Event(), threading.Event(), Slow()
    query = start(incoming.load(gated(spark.readStream.option("maxFilesPerTrigger", 9))))
    incoming_too.put(20)
    late: list[Any] = []
    with attach_all(spark, "1 s", "fixed") as attached:
        until(lambda: len(attached.handles) == 1)
        spark.streams.addListener(listener)
        starter = threading.Thread(
            target=lambda: late.append(start(incoming_too.load(spark.readStream), checkpoint="late"))
        )
        try:
            starter.start()
            until(met.is_set)
            probe.pause()
            probe.setLease(SHORT_MS)
            until(lambda: "MaxFiles: 9" in limit_at_the_jvm(attached.handles[0]))
            go_on.set()
            starter.join()
            until(lambda: sum(sizes(late[0])) == 20)
            assert sizes(late[0]) == [20]
            probe.setLease(round(LEASE_S * 1e3))
            probe.go_on.set()
            until(lambda: len(attached.handles) == 2)
        finally:
            go_on.set()
            spark.streams.removeListener(listener)
    assert query.isActive


def test_our_own_source_too_has_its_limit_back_where_nobody_polls(
    spark: SparkSession, start, until, sizes, tmp_path: Path, probe: Paused
) -> None:
    from penstock.apps.military.app import MilitaryServer
    from penstock.spark.source.workload import read_workload

    workload = MilitaryServer().workload("test", 1, "saturated", "constant:value=16")
    reader = read_workload(spark, workload).option("maxRowsPerTrigger", 7000)
    query = start(gated(reader).load().select("id"))
    handle = attach(query, "1 s", "fixed", size=500, journal=tmp_path / "j.jsonl")
    until(lambda: 500 in sizes(query))
    probe.pause()
    probe.setLease(SHORT_MS)
    until(lambda: 7000 in sizes(query))
    with pytest.raises(LimitsReturnedError):
        handle._runs.loop.gate.apply(Decision(500, "on an event that waited"))
    probe.setLease(round(LEASE_S * 1e3))
    probe.go_on.set()
    until(lambda: sizes(query)[-1] == 500)
    assert {500, 7000} <= set(sizes(query))
    handle.detach()


def test_a_query_that_starts_while_nobody_polls_is_not_limited_and_is_taken_up_later(
    spark: SparkSession, incoming, incoming_too, start, until, sizes, probe: Paused
) -> None:
    incoming.put(300)
    with attach_all(spark, "1 s", "fixed") as attached:
        probe.pause()
        # One that starts before the lease is over is limited, but not for ever.
        query = start(incoming.load(spark.readStream))
        until(lambda: sizes(query))
        probe.setLease(SHORT_MS)
        until(lambda: sum(sizes(query)) == 300)
        assert sizes(query)[0] == 1
        assert max(sizes(query)) > 20
        incoming_too.put(30)
        late = start(incoming_too.load(spark.readStream), checkpoint="late")
        until(lambda: sum(sizes(late)) == 30)
        assert sizes(late) == [30]
        probe.setLease(round(LEASE_S * 1e3))
        probe.go_on.set()
        until(lambda: len(attached.handles) == 2)


@pytest.mark.parametrize("silent", ["no polls", "attach hangs"])
def test_a_query_starts_and_runs_at_its_own_limit_while_python_is_silent(
    spark: SparkSession, incoming, start, until, sizes, probe: Paused, monkeypatch: pytest.MonkeyPatch, silent: str
) -> None:
    go_on = threading.Event()

    def hang(query: Any, *args: Any, **settings: Any) -> Any:
        go_on.wait()
        return attach(query, *args, **settings)

    incoming.put(21)
    with attach_all(spark, "1 s", "fixed") as attached:
        if silent == "attach hangs":
            monkeypatch.setattr(attaching, "attach", hang)
        else:
            go_on = probe.go_on
            probe.pause()
        try:
            query = start(incoming.load(spark.readStream.option("maxFilesPerTrigger", 7)))
            until(lambda: sum(sizes(query)) == 21)
            assert sizes(query) == [7, 7, 7]
            assert attached.handles == ()
        finally:
            go_on.set()
        until(lambda: attached.handles)


def test_a_start_waits_for_the_planning_lock_no_longer_than_its_bound(
    spark: SparkSession, incoming, start, until, sizes
) -> None:
    from pyspark.sql.streaming.listener import StreamingQueryListener

    held, release, in_time = threading.Event(), threading.Event(), []

    def hold(query_id: str, run_id: str) -> None:
        bridge = Monitor.of(spark.sparkContext)._bridge
        lock = bridge.engine.planningLock(bridge.probe.starts().execution(query_id, run_id))
        lock.lock()
        held.set()
        in_time.append(release.wait(30))
        lock.unlock()

    class Holding(StreamingQueryListener):
        """Lets a thread take the lock that our side wants next."""

        def onQueryStarted(self, event: Any) -> None:  # noqa: N802
            threading.Thread(target=hold, args=(str(event.id), str(event.runId)), daemon=True).start()
            held.wait(30)

        def onQueryProgress(self, event: Any) -> None:  # noqa: N802
            pass

        def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
            pass

    # In a session of its own this listener is told before ours.
    session, listener = spark.newSession(), Holding()
    session.streams.addListener(listener)
    incoming.put(21)
    try:
        with attach_all(session, "1 s", "fixed"):
            query = start(incoming.load(session.readStream.option("maxFilesPerTrigger", 7)))
            assert held.is_set()
            assert sizes(query) == []
            release.set()
            until(lambda: sum(sizes(query)) == 21)
            assert sizes(query)[0] == 7
            # The start has ended first: had it waited for the lock, nobody would have asked to release it.
            assert in_time == [True]
    finally:
        release.set()
        session.streams.removeListener(listener)


def test_a_first_plan_waits_no_longer_than_its_bound_for_sources_that_do_not_come(
    spark: SparkSession, incoming, start, until, sizes, tmp_path: Path
) -> None:
    query = start(incoming.load(spark.readStream))
    attach(query, "1 s", "fixed", size=3, journal=tmp_path / "j.jsonl").detach()
    context, jvm, bridge = spark.sparkContext, spark.sparkContext._jvm, Monitor.of(spark.sparkContext)._bridge
    assert context._gateway is not None
    assert jvm is not None
    execution = bridge.query(str(query.id), str(query.runId))._jsq  # type: ignore[union-attr]
    field = bridge.engine.find(execution.getClass(), "uniqueSources")
    sources, gone = field.get(execution), threading.Event()
    kinds = java_classes(context)["Starts"].getDeclaredClasses()
    meeting = next(kind for kind in kinds if kind.getName().endswith("Meeting")).getDeclaredConstructors()[0]
    meeting.setAccessible(True)
    arguments = context._gateway.new_array(jvm.java.lang.Object, 4)
    for index, argument in enumerate((bridge.probe.starts(), str(query.id), str(query.runId), "")):
        arguments[index] = argument

    def meet() -> None:
        meeting.newInstance(arguments).run()
        gone.set()

    # As at a start: the meeting holds the lock, the engine asks for it, and no source is there.
    field.set(execution, sources.empty())
    try:
        threading.Thread(target=meet, daemon=True).start()
        assert gone.wait(30)
        assert query.isActive
    finally:
        field.set(execution, sources)
    incoming.put(5)
    until(lambda: sum(sizes(query)) == 5)


def test_the_bound_on_the_delay_of_a_start_is_the_documented_one(spark: SparkSession) -> None:
    bound = java_classes(spark.sparkContext)["Starts"].getDeclaredField("HOLD_MS")
    bound.setAccessible(True)
    documented = re.search(r"at most by ([\d.]+) s each", attach_all.__doc__ or "")
    assert documented is not None
    assert bound.getLong(None) == 1000 * float(documented[1])


def test_a_monitor_that_fails_leaves_no_query_limited_now_or_later(
    spark: SparkSession, incoming, incoming_too, start, until, sizes, tmp_path: Path, probe: Paused
) -> None:
    query = start(incoming.load(gated(spark.readStream.option("maxFilesPerTrigger", 9))))
    handle = attach(query, "1 s", "fixed", size=2, journal=tmp_path / "j.jsonl")
    attached = attach_all(spark, "1 s", "fixed", names="late-*")
    probe.error = RuntimeError("a bug of ours")
    until(lambda: handle.ended)
    assert handle.ended == "the monitor has failed: RuntimeError('a bug of ours')"
    assert attached.ended == handle.ended
    fault = next(event for event in handle.recording().events if event.name == "monitor-fault")
    assert "Traceback" in fault.details["traceback"]
    assert "in poll" in fault.details["traceback"]
    incoming.put(27)
    until(lambda: sum(sizes(query)) == 27)
    assert 9 in sizes(query)
    incoming_too.put(20)
    late = incoming_too.load(spark.readStream).writeStream.format("noop").queryName("late-1")
    late = late.option("checkpointLocation", str(tmp_path / "late")).start()
    try:
        until(lambda: sum(sizes(late)) == 20)
        assert sizes(late) == [20]
        attached.stop()
        # The next attach has another monitor, and of the first one nothing is left in the JVM.
        again = attach(query, "1 s", "fixed", size=3, journal=tmp_path / "again.jsonl")
        until(lambda: threads(spark, "penstock-lease") == 1)
        incoming.put(9)
        until(lambda: sum(sizes(query)) == 36)
        assert sizes(query)[-1] == 3
        again.detach()
    finally:
        late.stop()


def test_events_that_nobody_takes_are_bounded_in_bytes(spark: SparkSession) -> None:
    context, jvm = spark.sparkContext, spark.sparkContext._jvm
    assert jvm is not None
    outbox = instance(context, java_classes(context)["Outbox"])
    event = jvm.java.util.HashMap()
    event.put("text", "x" * 2**20)
    assert [outbox.emit(event) for _ in range(12)] == [True] * 7 + [False] * 5
    assert len(outbox.take(0)) > 2**20
    assert outbox.emit(event)
