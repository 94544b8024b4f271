"""What a handle and a monitor do with events, without a session: the events are made by hand."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.control.fixed import Fixed
from penstock.control.loop import Loop
from penstock.errors import BadInputError, UnsupportedError
from penstock.journal import Journal
from penstock.sample import Decision
from penstock.slo import Slo
from penstock.spark.gates import KafkaBytesGate, SourceGate
from penstock.spark.handle import Handle
from penstock.spark.observe import monitor as monitors
from penstock.spark.observe.monitor import Monitor
from penstock.spark.observe.report import SourceRange
from penstock.spark.observe.sampler import Admitted, Sampler
from penstock.spark.plans.carrier import Carrier
from penstock.spark.runs import Runs
from penstock.testing.fakes import FakeGate

SLO = Slo.parse("1 s ± 10%")


class Meter:
    def __init__(self, *backlogs: float) -> None:
        self.backlogs = list(backlogs)

    def admitted(self, sources: tuple[SourceRange, ...]) -> Admitted:
        return Admitted(10.0, backlog=self.backlogs.pop(0))


class Gate(FakeGate, SourceGate):
    """A gate that takes no event."""


class Probe:
    """The JVM's side: hands out the events it was given, and says when nobody has come for them."""

    def __init__(self) -> None:
        self.events: queue.Queue[str | Exception] = queue.Queue()
        self.closed = False
        self.may_close = threading.Event()
        self.may_close.set()
        self.given_back: list[str] = []
        self.taken_up: list[str] = []
        self.released: list[str] = []
        self.errors: list[Exception] = []

    def close(self) -> None:
        self.closed = True
        self.may_close.wait()

    def limits(self) -> Any:
        return SimpleNamespace(
            giveBack=self._or_fail(self.given_back), takeUp=self._or_fail(self.taken_up), release=self.released.append
        )

    def _or_fail(self, runs: list[str]) -> Callable[[str], None]:
        def done(run: str) -> None:
            if self.errors:
                raise self.errors.pop()
            runs.append(run)

        return done

    def poll(self, timeout_ms: int) -> str | None:
        try:
            event = self.events.get(timeout=0.01)
        except queue.Empty:
            return None
        if isinstance(event, Exception):
            raise event
        return event


class Watcher:
    gives_way = False

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.lost: list[str] = []

    def on_event(self, event: dict[str, Any]) -> None:
        self.events.append(event)
        if event.get("bad"):
            raise RuntimeError("a bug of the watcher")

    def on_lost(self, why: str, stack: str | None = None) -> None:
        self.lost.append(why)
        self.stack = stack


class Context:
    def __init__(self) -> None:
        self._jsc: object | None = object()
        self.settings: dict[str, str] = {}

    def getConf(self) -> dict[str, str]:  # noqa: N802
        return self.settings


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> Probe:
    made = Probe()
    found = lambda query_id, run_id: SimpleNamespace(id=query_id, runId=run_id)  # noqa: E731
    bridge = SimpleNamespace(probe=made, limits=made.limits(), query=found)
    monkeypatch.setattr(monitors, "Bridge", lambda context, lease_s: bridge)
    return made


def live(run_id: str = "r", interval_s: float = 10.0) -> Any:
    nothing = lambda *_: None  # noqa: E731
    return SimpleNamespace(
        id="q",
        run_id=run_id,
        name="query",
        interval_s=interval_s,
        cores=2,
        sources=(),
        watch=nothing,
        unwatch=nothing,
        unfollow=nothing,
        stopped=lambda: False,
        carried_plan=lambda: None,
    )


def progress(batch_id: int, trigger_ms: int = 200) -> dict[str, Any]:
    body = {
        "id": "q",
        "runId": "r",
        "batchId": batch_id,
        "timestamp": "2026-01-31T10:00:00.250Z",
        "numInputRows": 10,
        "durationMs": {"addBatch": 70, "latestOffset": 5, "triggerExecution": trigger_ms},
    }
    return {"kind": "progress", "query": "q", "run": "r", "progress": json.dumps(body)}


def handle_of(path: Path, *backlogs: float, interval_s: float = 10.0) -> Handle:
    gate: Any = Gate()
    loop = Loop(SLO, Fixed(SLO, 10), gate, Journal.open(path, {}))
    nothing = lambda *_, **__: None  # noqa: E731
    monitor: Any = SimpleNamespace(
        watch=nothing, unwatch=nothing, unfollow=nothing, live=lambda query: live(query, interval_s)
    )

    def again(live: Any) -> Any:
        return Gate(), Sampler(Meter(*backlogs)), Journal.open(path, {})

    query: Any = None
    runs = Runs(
        query, live(interval_s=interval_s), monitor, loop, gate, Sampler(Meter(*backlogs)), Carrier(path), again
    )
    return Handle(runs, path)


def events(handle: Handle, name: str) -> list[str]:
    return [event.name for event in handle.recording().events if event.name == name]


def warnings(handle: Handle) -> list[str]:
    return events(handle, "idle-interval")


def test_a_trigger_that_idles_while_the_backlog_grows_is_told_once(tmp_path: Path):
    handle = handle_of(tmp_path / "j.jsonl", 5, 5, 5, 5, 5, *range(6, 40))
    for batch_id in range(5):
        handle._runs.on_event(progress(batch_id))
    assert warnings(handle) == []
    for batch_id in range(5, 30):
        handle._runs.on_event(progress(batch_id))
    assert warnings(handle) == ["idle-interval"]


@pytest.mark.parametrize(
    ("backlogs", "interval_s", "trigger_ms"),
    [(range(50, 0, -1), 10.0, 200), (range(50), 10.0, 9_000), (range(50), 0.0, 200)],
    ids=["shrinks", "busy", "no-interval"],
)
def test_a_trigger_that_keeps_up_is_left_alone(tmp_path: Path, backlogs: range, interval_s: float, trigger_ms: int):
    handle = handle_of(tmp_path / "j.jsonl", *backlogs, interval_s=interval_s)
    for batch_id in range(30):
        handle._runs.on_event(progress(batch_id, trigger_ms))
    assert warnings(handle) == []


def test_the_end_of_the_query_restores_and_closes_and_later_events_are_nothing(tmp_path: Path):
    handle = handle_of(tmp_path / "j.jsonl", *range(9))
    handle._runs.on_event(progress(0))
    handle._runs.on_event({"kind": "terminated", "query": "q", "run": "r", "error": "boom"})
    handle._runs.on_event(progress(1))
    handle.detach()
    assert handle.ended == "the query has stopped"
    assert handle._runs.loop.gate.restored
    recording = handle.recording()
    assert len(recording.samples) == 1
    assert [event.name for event in recording.events] == ["query-failed", "detached"]


def test_a_later_run_is_taken_up_with_what_was_decided_and_after_detach_no_more(tmp_path: Path):
    handle = handle_of(tmp_path / "j.jsonl", *range(9))
    handle._runs.on_event(progress(0))
    handle._runs.on_event({"kind": "terminated", "query": "q", "run": "r", "error": None})
    assert not handle.active
    again: Any = "r2"
    handle._runs.on_started(again)
    assert handle.active
    assert handle._runs.loop.gate.applied[-1].size == 10
    handle._runs.on_event(progress(1))
    handle.detach()
    handle._runs.on_started(again)
    assert not handle.active
    assert [sample.batch_id for sample in handle.recording().samples] == [0, 1]
    assert events(handle, "resumed") == ["resumed"]


@pytest.mark.parametrize(("partitions", "told"), [(200, ["many-partitions"]), (4, [])])
def test_state_in_many_partitions_is_told_once(tmp_path: Path, partitions: int, told: list[str]):
    handle = handle_of(tmp_path / "j.jsonl", *range(9))
    for batch_id in range(3):
        event = progress(batch_id)
        body = json.loads(event["progress"]) | {"stateOperators": [{"numShufflePartitions": partitions}]}
        handle._runs.on_event(event | {"progress": json.dumps(body)})
    assert events(handle, "many-partitions") == told


def test_event_times_in_the_future_are_told_once_and_have_not_waited(tmp_path: Path):
    handle = handle_of(tmp_path / "j.jsonl", *range(9))
    future = {"min": "2026-02-01T10:00:00.000Z", "max": "2027-01-01T00:00:00.000Z", "watermark": "1970-01-01T00:00:00Z"}
    for batch_id in range(2):
        event = progress(batch_id)
        body = json.loads(event["progress"]) | {"eventTime": future}
        handle._runs.on_event(event | {"progress": json.dumps(body)})
    assert events(handle, "future-timestamps") == ["future-timestamps"]
    assert [sample.wait_s for sample in handle.recording().samples] == [0.0, 0.0]


def test_events_go_to_the_run_they_belong_to_and_faults_to_all(probe: Probe, until: Any):
    context, old, new = Context(), Watcher(), Watcher()
    monitor = Monitor(context)  # type: ignore[arg-type]
    monitor.watch(live("old"), old)
    monitor.watch(live("new"), new)
    for event in ({"kind": "terminated", "run": "old"}, {"kind": "fault"}, {"kind": "job", "run": "other"}):
        probe.events.put(json.dumps(event))
    probe.events.put(json.dumps({"kind": "job", "run": "new", "bad": True}))
    probe.events.put(json.dumps({"kind": "job", "run": "new"}))
    until(lambda: len(new.events) == 3 and len(old.events) == 2)
    assert [event["kind"] for event in old.events] == ["terminated", "fault"]
    assert [event["kind"] for event in new.events] == ["fault", "job", "job"]
    monitor.unwatch(live("old"), settled=True)
    probe.events.put(json.dumps({"kind": "job", "run": "old"}))
    probe.events.put(json.dumps({"kind": "job", "run": "new"}))
    until(lambda: len(new.events) == 4)
    assert len(old.events) == 2
    context._jsc = None


def test_a_stopped_context_ends_the_monitor_and_tells_its_watchers(probe: Probe, until: Any):
    context, watcher = Context(), Watcher()
    monitor = Monitor(context)  # type: ignore[arg-type]
    monitor.watch(live(), watcher)
    context._jsc = None
    until(lambda: watcher.lost)
    assert watcher.lost == ["the session has ended"]
    assert probe.closed


def test_a_jvm_that_is_gone_ends_the_monitor_and_tells_its_watchers(probe: Probe, until: Any):
    context, watcher = Context(), Watcher()
    monitor = Monitor(context)  # type: ignore[arg-type]
    monitor.watch(live(), watcher)
    probe.events.put(ConnectionRefusedError())
    until(lambda: watcher.lost)
    assert watcher.lost == ["the session has ended: ConnectionRefusedError"]


def test_a_monitor_that_fails_tells_its_watchers_the_error_and_its_traceback(probe: Probe, until: Any):
    context, watcher = Context(), Watcher()
    monitor = Monitor(context)  # type: ignore[arg-type]
    monitor.watch(live(), watcher)
    probe.events.put(ZeroDivisionError("a bug of ours"))
    until(lambda: watcher.lost)
    assert watcher.lost == ["the monitor has failed: ZeroDivisionError('a bug of ours')"]
    assert "in poll" in (watcher.stack or "")
    assert probe.closed


def test_an_event_that_cannot_be_read_is_left_out_and_the_monitor_goes_on(probe: Probe, until: Any):
    context, watcher = Context(), Watcher()
    monitor = Monitor(context)  # type: ignore[arg-type]
    monitor.watch(live("r"), watcher)
    for text in ("{torn", "[]", '{"no": "kind"}', json.dumps({"kind": "job", "run": "r"})):
        probe.events.put(text)
    until(lambda: watcher.events)
    assert [event["kind"] for event in watcher.events] == ["job"]
    context._jsc = None


def test_a_query_that_is_stuck_delays_no_other_and_gets_its_own_limit_back_until_it_goes_on(probe: Probe, until: Any):
    class Stuck(Watcher):
        def on_event(self, event: dict[str, Any]) -> None:
            super().on_event(event)
            released.wait()

    released = threading.Event()
    context, stuck, well = Context(), Stuck(), Watcher()
    monitor = Monitor(context, lease_s=0.1)  # type: ignore[arg-type]
    monitor.watch(live("stuck"), stuck)
    monitor.watch(live("well"), well)
    for run in ("stuck", "well"):
        probe.events.put(json.dumps({"kind": "job", "run": run}))
    until(lambda: probe.given_back and well.events)
    assert probe.given_back == ["stuck"]
    probe.events.put(json.dumps({"kind": "progress", "run": "stuck"}))
    released.set()
    until(lambda: len(stuck.events) == 3)
    assert probe.taken_up == ["stuck"]
    assert sorted(event["kind"] for event in stuck.events) == ["job", "progress", "resumed"]
    context._jsc = None


def test_a_lane_that_is_behind_by_the_lease_counts_as_stuck_though_it_goes_on(probe: Probe, until: Any):
    class Slow(Watcher):
        def on_event(self, event: dict[str, Any]) -> None:
            next_one.acquire()
            super().on_event(event)

    next_one = threading.Semaphore(0)
    context, slow = Context(), Slow()
    monitor = Monitor(context, lease_s=0.2)  # type: ignore[arg-type]
    monitor.watch(live("slow"), slow)
    for batch in range(20):
        probe.events.put(json.dumps({"kind": "job", "run": "slow", "batch": batch}))
    until(lambda: len(monitor._lanes["slow"]._inbox) == 20)
    while not probe.given_back and len(slow.events) < 19:
        # Each event is done with in half the lease.
        done = len(slow.events) + 1
        threading.Event().wait(0.1)
        next_one.release()
        until(lambda done=done: len(slow.events) == done)
    assert probe.given_back == ["slow"]
    for _ in range(20):
        next_one.release()
    until(lambda: probe.taken_up)
    next_one.release()
    until(lambda: slow.events[-1]["kind"] == "resumed")
    assert slow.events[-1]["back_ms"] > 1e12
    context._jsc = None


def test_a_jvm_that_fails_to_give_limits_back_is_asked_again_and_the_monitor_goes_on(probe: Probe, until: Any):
    class Stuck(Watcher):
        def on_event(self, event: dict[str, Any]) -> None:
            super().on_event(event)
            released.wait()

    released = threading.Event()
    context, stuck = Context(), Stuck()
    monitor = Monitor(context, lease_s=0.1)  # type: ignore[arg-type]
    monitor.watch(live("stuck"), stuck)
    probe.errors = [RuntimeError("first"), RuntimeError("second")]
    probe.events.put(json.dumps({"kind": "job", "run": "stuck"}))
    until(lambda: probe.given_back)
    probe.errors = [RuntimeError("third")]
    released.set()
    until(lambda: probe.taken_up)
    assert (probe.errors, stuck.lost) == ([], [])
    context._jsc = None


def test_a_start_that_hangs_holds_up_no_other_start_and_no_attach_of_another_query(probe: Probe, until: Any):
    class Host:
        def take(self, query: Any) -> None:
            taken.append(query.id)
            if query.id == "hangs":
                go_on.wait()

        def on_lost(self, why: str) -> None:
            pass

    taken: list[str] = []
    go_on = threading.Event()
    context = Context()
    monitor = Monitor(context, lease_s=0.5)  # type: ignore[arg-type]
    monitor._host = Host()  # type: ignore[assignment]
    for query in ("hangs", "next"):
        probe.events.put(json.dumps({"kind": "started", "query": query, "run": f"{query}-run"}))
    until(lambda: probe.released == ["next-run"] and "hangs-run" in probe.given_back)
    assert sorted(taken) == ["hangs", "next"]
    with monitor.taking("next", 0.1):
        pass
    with (
        pytest.raises(UnsupportedError, match="hangs is being attached by another thread"),
        monitor.taking("hangs", 0.1),
    ):
        pass
    go_on.set()
    until(lambda: probe.released == ["next-run", "hangs-run"])
    until(lambda: not monitor._starts and not monitor._stuck)
    context._jsc = None


def test_a_start_whose_query_cannot_be_asked_for_gets_its_own_limits_back(probe: Probe, until: Any):
    def gone(query_id: str, run_id: str) -> Any:
        raise RuntimeError("Py4J has no answer")

    context = Context()
    monitor = Monitor(context)  # type: ignore[arg-type]
    monitor._bridge.query = gone  # type: ignore[method-assign]
    probe.events.put(json.dumps({"kind": "started", "query": "q", "run": "r"}))
    until(lambda: probe.released)
    assert probe.released == ["r"]
    context._jsc = None


def test_a_monitor_that_is_about_to_end_takes_no_further_query(
    probe: Probe, until: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(monitors, "_END_S", 0.1)
    context: Any = Context()
    dying = Monitor.of(context)
    assert Monitor.of(context) is dying
    probe.may_close.clear()
    probe.events.put(ZeroDivisionError("a bug of ours"))
    until(lambda: probe.closed)
    try:
        another = Monitor.of(context)
        assert another is not dying
        with pytest.raises(UnsupportedError, match="the monitor has ended meanwhile; attach again"):
            dying.watch(live(), Watcher())
    finally:
        probe.may_close.set()
        context._jsc = None


@pytest.mark.parametrize("lease", ["200 ms", "1.9 s", "0 s"])
def test_a_lease_shorter_than_a_few_polls_is_refused(probe: Probe, lease: str):
    context: Any = Context()
    context.settings["spark.penstock.lease"] = lease
    with pytest.raises(BadInputError, match=f"spark.penstock.lease = '{lease}': .*; write 2 s or more"):
        Monitor.of(context)


def test_batches_whose_report_was_dropped_are_blind_ones(tmp_path: Path):
    handle = handle_of(tmp_path / "j.jsonl", *[5] * 40)
    handle._runs.on_event({"kind": "dropped", "events": 300, "batches": 0})
    assert not handle._runs.loop.gate.restored
    handle._runs.on_event({"kind": "dropped", "events": 50, "batches": 20})
    assert handle._runs.loop.gate.restored
    assert events(handle, "monitor-fault") == ["monitor-fault"]
    assert events(handle, "gave-up") == ["gave-up"]


def test_an_estimate_that_is_superseded_decides_nothing_and_what_it_told_counts(tmp_path: Path):
    job = {
        "kind": "job",
        "query": "q",
        "run": "r",
        "batch": 0,
        "trigger_ms": 1_000,
        "start_ms": 1_100,
        "end_ms": 1_500,
        "ok": True,
        "planned": True,
        "sources": [{"start": None, "end": "0", "latest": None}],
    }
    handle = handle_of(tmp_path / "j.jsonl", 7, 8)
    handle._runs.on_event({**job, "superseded": True})
    assert handle.recording().samples == []
    handle._runs.on_event(progress(0))
    (sample,) = handle.recording().samples
    assert sample.backlog == 7
    handle._runs.on_event({**job, "batch": 1, "superseded": False})
    assert [sample.batch_id for sample in handle.recording().samples] == [0, 1]


@pytest.mark.parametrize("part", ["job", "progress"])
def test_a_sampler_that_fails_is_told_once_and_after_patience_the_users_limit_is_back(tmp_path: Path, part: str):
    handle = handle_of(tmp_path / "j.jsonl", *[5] * 40)
    for batch_id in range(25):
        handle._runs.on_event({"kind": "job"} if part == "job" else {**progress(batch_id), "progress": "{torn"})
    gate: Any = handle._runs.loop.gate
    assert gate.restored is (part == "progress")
    assert len(events(handle, "sampler-fault")) == 1
    assert len(events(handle, "gave-up")) == (part == "progress")


def test_a_fault_of_the_probe_is_told_once_and_blind_only_in_place_of_a_batch(tmp_path: Path):
    handle = handle_of(tmp_path / "j.jsonl", *[5] * 40)
    gate: Any = handle._runs.loop.gate
    for _ in range(25):
        handle._runs.on_event({"kind": "fault", "error": "java.lang.NullPointerException: a bug"})
    assert not gate.restored
    for _ in range(25):
        handle._runs.on_event({"kind": "fault", "error": "java.lang.NullPointerException: a bug", "run": "r"})
    assert gate.restored
    assert len(events(handle, "monitor-fault")) == 1


def in_bytes(path: Path) -> tuple[Handle, list[int]]:
    """A handle of a Kafka source in bytes, 50,000 a batch, and the rows that were set."""
    rows: list[int] = []
    source = SimpleNamespace(limit="MaxRows: 1000", options={})
    query: Any = SimpleNamespace(
        sources=(source,),
        available_now=False,
        measure_bytes=lambda _: None,
        set_rows=lambda _, most, least=0, delay_s=0.0: rows.append(most),
        set_limit=lambda *_: None,
    )
    handle = handle_of(path, *[5] * 20)
    handle._runs.loop.gate = handle._runs.gate = KafkaBytesGate(query, 0, "the user's own")
    handle._runs.loop.gate.apply(Decision(50_000, "why"))
    return handle, rows


def look(ends: int, size: int) -> dict[str, Any]:
    return {"kind": "bytes", "source": 0, "sizes": json.dumps({"t": {"0": [0, ends, size]}})}


def planned(end: int) -> dict[str, Any]:
    return {"kind": "planned", "query": "q", "run": "r", "sources": [{"end": json.dumps({"t": {"0": end}})}]}


def test_a_look_and_the_start_of_a_batch_set_the_rows_of_the_next_one(tmp_path: Path):
    handle, rows = in_bytes(tmp_path / "j.jsonl")
    for event in (look(0, 0), look(1000, 100_000), look(2000, 10_100_000), planned(500), planned(1000)):
        handle._runs.on_event(event)
    # 50 rows of 1000 bytes while nothing is known; then 500 light ones; then 5 heavy ones, before any of them was read.
    assert (rows[0], rows[-2], rows[-1]) == (50, 500, 5)


def test_a_gate_that_fails_while_it_follows_is_told_once_and_nothing_stops(tmp_path: Path):
    handle, _ = in_bytes(tmp_path / "j.jsonl")

    def fail(*_: object) -> None:
        raise RuntimeError("gone")

    handle._runs.loop.gate._query.set_rows = fail  # type: ignore[attr-defined]
    for event in (look(0, 0), look(1000, 100_000), planned(300), planned(600)):
        handle._runs.on_event(event)
    assert events(handle, "gate-fault") == ["gate-fault"]
    assert handle.active


def test_a_broker_that_tells_no_sizes_is_told_once(tmp_path: Path):
    handle, rows = in_bytes(tmp_path / "j.jsonl")
    for _ in range(2):
        handle._runs.on_event({"kind": "bytes", "source": 0, "error": "ClusterAuthorizationException"})
    assert events(handle, "bytes-unknown") == ["bytes-unknown"]
    assert set(rows) == {50}
