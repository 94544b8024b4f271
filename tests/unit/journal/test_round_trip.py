"""What is written to a journal is what is read from it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.clock import ManualClock
from penstock.journal import Journal, read
from penstock.journal.records import parse, to_decision, to_line, to_record, to_sample
from penstock.sample import BatchSample, Decision, Status

Sampled = Callable[..., BatchSample]
Lines = Callable[[Path], list[dict[str, Any]]]


def test_what_is_written_is_read_back(path: Path, header: dict[str, str], a_sample: Sampled) -> None:
    clock = ManualClock(_wall_s=100.0)
    full = BatchSample(3, 20.5, 20, 0.5, 0.1, Status.WARM_UP, True, 99.0, 7.0, 1.5, "wave", {"addBatch": 0.4})
    decided = Decision(12.0, "above the band", min_size=2.0, max_wait_s=0.5)
    with Journal.open(path, header, clock=clock) as journal:
        journal.sample(a_sample(2), control_s=0.001)
        journal.sample(full)
        clock.advance(1.0)
        journal.decision(3, decided, applied=False)
        journal.event("detach", reason="the user asked", kind="calm")
    recording = read(path)
    assert recording.samples == [a_sample(2), full]
    assert recording.decisions == [(3, decided, False, 101.0)]
    assert recording.events == [("detach", 101.0, {"reason": "the user asked", "kind_": "calm"})]
    assert recording.control_s == [0.001]
    assert recording.torn == 0


def test_first_line_is_a_versioned_header_and_every_record_has_time_and_kind(
    path: Path, header: dict[str, str], a_sample: Sampled, lines: Lines
) -> None:
    with Journal.open(path, header, clock=ManualClock(_wall_s=5.0)) as journal:
        journal.sample(a_sample(0))
        journal.event("fault")
    first, *others = lines(path)
    assert (first["kind"], first["version"], first["segment"], first["slo"]) == ("header", 1, 1, "1 s ± 10%")
    assert isinstance(first["penstock"], str)
    assert [(each["kind"], each["t"]) for each in others] == [("sample", 5.0), ("event", 5.0)]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_valid_json_and_comes_back(
    path: Path, value: float, header: dict[str, str], a_sample: Sampled
) -> None:
    with Journal.open(path, header) as journal:
        journal.sample(a_sample(0, processing_s=value, durations_s={"addBatch": value}))
        journal.event("odd", ratio=value, deep={"a": [np.float64(value)]})

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    for line in path.read_text().splitlines():
        json.loads(line, parse_constant=refuse)
    (sample,) = read(path).samples
    np.testing.assert_equal(sample.processing_s, value)
    np.testing.assert_equal(sample.durations_s["addBatch"], value)
    assert float(read(path).events[0].details["ratio"]) == pytest.approx(value, nan_ok=True)


def test_numpy_values_and_odd_objects_do_not_break_a_record(
    path: Path, header: dict[str, str], a_sample: Sampled
) -> None:
    circle: list[Any] = []
    circle.append(circle)
    with Journal.open(path, header) as journal:
        journal.sample(a_sample(0, items=np.int64(7), size=np.float64(7.0)))
        journal.event("odd", error=RuntimeError("no"), where=Path("x"), circle=circle, text="\udc80", keys={(1, 2): 3})
    recording = read(path)
    assert recording.samples[0].items == 7
    assert recording.events[0].details["error"] == "no"
    assert recording.events[0].details["keys"] == {"(1, 2)": 3}
    assert recording.torn == 0


numbers = st.none() | st.floats(allow_nan=False)
samples = st.builds(
    BatchSample,
    batch_id=st.integers(0, 2**40),
    size=st.floats(allow_nan=False),
    items=st.integers(0, 2**40),
    processing_s=st.floats(allow_nan=False),
    wait_s=numbers,
    status=st.sampled_from(Status),
    confirmed=st.booleans(),
    started_s=numbers,
    backlog=numbers,
    load=numbers,
    part=st.none() | st.text(),
    durations_s=st.dictionaries(st.text(), st.floats(allow_nan=False)),
)


@given(samples)
def test_any_sample_survives_its_line(sample: BatchSample) -> None:
    line = to_line({"kind": "sample", **to_record(sample)})
    assert line.count(b"\n") == 1
    record = parse(line)
    assert record is not None
    assert to_sample(record) == sample


@given(st.floats(1e-3, 1e12), st.text(), st.none() | st.floats(0, 1e6))
def test_any_decision_survives_its_line(size: float, reason: str, max_wait_s: float | None) -> None:
    decision = Decision(size, reason, min_size=None if max_wait_s is None else size / 2, max_wait_s=max_wait_s)
    record = parse(to_line({"kind": "decision", **to_record(decision)}))
    assert record is not None
    assert to_decision(record) == decision


def test_a_confirmed_sample_replaces_its_estimates_and_is_not_replaced_by_one(
    path: Path, header: dict[str, str], a_sample: Sampled
) -> None:
    with Journal.open(path, header) as journal:
        journal.sample(a_sample(0, processing_s=1.0, confirmed=False))
        journal.sample(a_sample(0, processing_s=2.0, confirmed=False))
        journal.sample(a_sample(1, processing_s=9.0, confirmed=False))
        journal.sample(a_sample(0, processing_s=3.0))
        journal.sample(a_sample(0, processing_s=4.0, confirmed=False))
    assert [(s.batch_id, s.processing_s, s.confirmed) for s in read(path).samples] == [(0, 3.0, True), (1, 9.0, False)]


def test_batch_ids_of_another_query_do_not_replace_those_of_the_first(
    path: Path, header: dict[str, str], a_sample: Sampled
) -> None:
    for query, seconds in (("a", 1.0), ("b", 2.0), ("b", 3.0)):
        with Journal.open(path, {**header, "query_id": query}) as journal:
            journal.sample(a_sample(0, processing_s=seconds))
    assert [sample.processing_s for sample in read(path).samples] == [1.0, 3.0]


def test_without_a_query_id_each_opening_has_its_own_batches(
    path: Path, header: dict[str, str], a_sample: Sampled
) -> None:
    clock = ManualClock()
    for seconds in (1.0, 2.0):
        clock.advance(1.0)
        with Journal.open(path, header, clock=clock, segment_bytes=400) as journal:
            journal.sample(a_sample(0, processing_s=seconds, confirmed=False))
            journal.event("padding", text="x" * 300)
            journal.sample(a_sample(0, processing_s=seconds + 0.5))
    assert len(list(path.parent.iterdir())) > 2
    assert [sample.processing_s for sample in read(path).samples] == [1.5, 2.5]


def test_opening_again_continues_and_the_latest_header_holds(
    path: Path, header: dict[str, str], a_sample: Sampled
) -> None:
    with Journal.open(path, {**header, "query_id": "q"}) as journal:
        journal.sample(a_sample(0))
    with Journal.open(path, {**header, "query_id": "q", "controller": "pid"}) as journal:
        journal.sample(a_sample(1))
    recording = read(path)
    assert [sample.batch_id for sample in recording.samples] == [0, 1]
    assert recording.header["controller"] == "pid"
    assert [event.name for event in recording.events] == ["resumed"]
