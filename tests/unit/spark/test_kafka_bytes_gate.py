"""The gate of Kafka in bytes: the rows it sets, what it says a batch took, and what it does while it knows nothing."""

from __future__ import annotations

import json
import math
from typing import Any, cast

import pytest

pytest.importorskip("pyspark", reason="the gates need Spark's classes")

from penstock.errors import BadInputError
from penstock.sample import Decision
from penstock.spark.gates import KafkaBytesGate, KafkaGate, SplitGate, gate_for
from penstock.spark.jvm.bridge import SourceInfo
from penstock.spark.observe.report import SourceRange


class LiveFake:
    """A running query on Kafka, as far as a gate asks."""

    def __init__(self, *kinds: str, available_now: bool = False, **options: str) -> None:
        sources = kinds or ("KafkaMicroBatchStream",)
        self.sources = tuple(SourceInfo(kind, kind, "MaxRows: 1000", options) for kind in sources)
        self.available_now = available_now
        self.asked: list[Any] = []
        self.weighed: list[int] = []

    def set_rows(self, source: int, most: int, least: int = 0, delay_s: float = 0.0) -> None:
        self.asked.append((most, least, round(delay_s, 6)) if least else most)

    def set_limit(self, source: int, limit: Any) -> None:
        self.asked.append(limit)

    def user_limit(self, source: int, remembered: str | None) -> Any:
        return "the user's own"

    def owe_file(self, path: str, text: str) -> None:
        self.owed = (path, text)

    def measure_bytes(self, source: int) -> None:
        self.weighed.append(source)


def gate_of(live: LiveFake) -> KafkaBytesGate:
    return cast(KafkaBytesGate, gate_for(cast(Any, live), "bytes"))


def sizes(*logs: tuple[int, int, int]) -> str:
    return json.dumps({"t": {str(number): log for number, log in enumerate(logs)}})


def offsets(*ends: int) -> str:
    return json.dumps({"t": {str(number): end for number, end in enumerate(ends)}})


def planned(end: str | None) -> dict[str, Any]:
    return {"kind": "planned", "sources": [{"end": end}]}


def ends(latest: str, at_s: float) -> dict[str, Any]:
    return {"kind": "offsets", "source": 0, "at_ms": at_s * 1e3, "latest": latest}


def took(start: int | None, end: int, latest: int, rows: int | None = None) -> tuple[SourceRange, ...]:
    at = None if start is None else offsets(start)
    return (SourceRange(at, offsets(end), rows=rows, latest=offsets(latest), at_s=1000.0 + end),)


@pytest.fixture
def live() -> LiveFake:
    return LiveFake()


@pytest.fixture
def gate(live: LiveFake) -> KafkaBytesGate:
    """In front of 1000 records of 100 bytes and then 1000 of 10,000."""
    made = gate_of(live)
    for look in ((0, 0, 0), (0, 1000, 100_000), (0, 2000, 10_100_000)):
        made.on_event({"kind": "bytes", "source": 0, "sizes": sizes(look)})
    return made


def test_bytes_are_set_as_the_rows_that_come_to_them_and_follow_the_query(live: LiveFake, gate: KafkaBytesGate) -> None:
    gate.apply(Decision(50_000, "why"))
    for start, end in ((0, 500), (500, 1000), (1000, 1005)):
        gate.admitted(took(start, end, 2000))
        gate.on_event({"kind": "job"})
    # From 500 on there are 500 light ones left; from 1000 on all are heavy.
    assert live.asked == [5, 500, 5]
    assert live.weighed == [0]


def test_a_batch_that_is_told_of_late_does_not_set_the_rows_of_one_that_has_begun(
    live: LiveFake, gate: KafkaBytesGate
) -> None:
    gate.apply(Decision(50_000, "why"))
    gate.on_event(planned(offsets(1000)))
    gate.admitted(took(0, 500, 2000))
    gate.on_event({"kind": "job"})
    assert live.asked[-1] == 5


def test_what_was_taken_and_what_waits_is_in_bytes_and_rows_are_known(gate: KafkaBytesGate) -> None:
    admitted = gate.admitted(took(990, 1010, 2000))
    assert admitted.size == 10 * 100 + 10 * 10_000
    assert admitted.backlog == 990 * 10_000
    assert admitted.rows == 20


def test_of_the_first_batch_of_all_only_the_rows_are_told(gate: KafkaBytesGate) -> None:
    assert math.isnan(gate.admitted(took(None, 30, 2000)).size)
    assert gate.admitted(took(None, 30, 2000, rows=30)).rows == 30
    assert gate.admitted(took(None, 30, 2000, rows=30)).size == 30 * 10_000
    assert math.isnan(gate.admitted(()).size)


def test_as_long_as_nothing_is_known_a_row_counts_a_thousand_bytes(live: LiveFake) -> None:
    gate = gate_of(live)
    gate.apply(Decision(gate.first_size, "why"))
    admitted = gate.admitted(took(0, 20, 50))
    assert live.asked == [1000]
    assert (admitted.size, admitted.backlog, admitted.rows) == (20_000, 30_000, 20)


def test_a_decision_is_always_set_and_following_sets_only_what_is_new(live: LiveFake, gate: KafkaBytesGate) -> None:
    gate.admitted(took(0, 100, 2000))
    gate.apply(Decision(10_000, "why"))
    gate.on_event({"kind": "job"})
    gate.apply(Decision(10_000, "why"))
    assert live.asked == [100, 100]


def test_the_users_limit_comes_back_and_stays(live: LiveFake, gate: KafkaBytesGate) -> None:
    gate.apply(Decision(50_000, "why"))
    gate.restore()
    gate.admitted(took(0, 100, 2000))
    gate.on_event({"kind": "job"})
    assert live.asked[-1] == "the user's own"


def test_nothing_is_set_before_something_was_decided(live: LiveFake, gate: KafkaBytesGate) -> None:
    gate.on_event({"kind": "job"})
    assert live.asked == []


def test_a_minimum_and_its_delay_are_in_bytes_too(live: LiveFake, gate: KafkaBytesGate) -> None:
    gate.admitted(took(1990, 2000, 2000))
    gate.on_event(ends(offsets(1900), 5000.0))
    gate.on_event(ends(offsets(2000), 5010.0))
    gate.apply(Decision(1_000_000, "why", 200_000, 4.0, 1e-5))
    # 10 records a second, of 10,000 bytes, at 10 µs a byte: the queue takes a second longer with every second.
    assert live.asked == [(100, 20, 2.0)]
    gate.apply(Decision(1_000_000, "why", 0.0, 4.0))
    assert live.asked[-1] == 100


def test_available_now_shares_over_what_was_there_at_its_start() -> None:
    live = LiveFake(available_now=True)
    gate = gate_of(live)
    gate.on_event({"kind": "bytes", "source": 0, "sizes": sizes((0, 1000, 100_000), (0, 1000, 10_000_000))})
    gate.on_event(ends(offsets(1000, 0), 1.0))
    gate.admitted((SourceRange(offsets(0, 0), offsets(0, 0), latest=offsets(1000, 0), at_s=2.0),))
    gate.apply(Decision(50_000, "why"))
    assert live.asked == [500]


def test_a_later_run_goes_on_with_what_was_known(live: LiveFake, gate: KafkaBytesGate) -> None:
    gate.admitted(took(0, 1000, 2000))
    later = gate_of(live)
    later.inherit(gate)
    later.apply(Decision(50_000, "why"))
    assert live.asked == [5]


def test_kafka_and_files_share_one_budget_in_bytes() -> None:
    live = LiveFake("KafkaMicroBatchStream", "FileStreamSource")
    both = gate_for(cast(Any, live), "bytes")
    assert isinstance(both, SplitGate)
    assert (both.unit, both.waits, live.weighed) == ("bytes", False, [0, 1])


def test_a_backlog_in_bytes_is_split_as_bytes() -> None:
    live = LiveFake("KafkaMicroBatchStream", "KafkaMicroBatchStream")
    both = gate_for(cast(Any, live), "bytes")
    assert isinstance(both, SplitGate)
    for number, log in enumerate(((0, 10_000, 1_000_000), (0, 100, 1_000_000))):
        both.on_event({"kind": "bytes", "source": number, "sizes": sizes(log)})
    for _ in range(2):
        both.admitted((*took(0, 0, 10_000), *took(0, 0, 100)))
    both.apply(Decision(100_000, "why"))
    assert live.asked == [500, 5]


@pytest.mark.parametrize(
    ("kind", "unit", "remedy"),
    [
        ("KafkaMicroBatchStream", "files", "rows or bytes"),
        ("FileStreamSource", "rows", "files or bytes"),
        ("PythonMicroBatchStream", "bytes", "admitted by rows"),
        ("KafkaMicroBatchStream", "kilos", "rows, files or bytes"),
    ],
)
def test_a_unit_that_a_source_does_not_have_is_refused(kind: str, unit: str, remedy: str) -> None:
    with pytest.raises(BadInputError, match=remedy):
        gate_for(cast(Any, LiveFake(kind, mailbox="/nowhere")), unit)


def test_rows_may_be_written_out() -> None:
    assert gate_for(cast(Any, LiveFake()), "rows").unit == "rows"
    assert type(gate_for(cast(Any, LiveFake()))) is KafkaGate
    assert gate_for(cast(Any, LiveFake("PythonMicroBatchStream", mailbox="/nowhere")), "rows").unit == "rows"


def test_the_rows_of_the_next_batch_are_set_when_one_begins(live: LiveFake, gate: KafkaBytesGate) -> None:
    gate.admitted(took(0, 500, 2000))
    gate.apply(Decision(50_000, "why"))
    gate.on_event(planned(offsets(1000)))
    gate.on_event(planned(None))
    assert live.asked == [500, 5]
