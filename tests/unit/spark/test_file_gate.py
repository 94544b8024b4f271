"""The gate of files: what it sets, what it says a batch took, and where it begins, in files and in bytes."""

from __future__ import annotations

import math
from typing import Any, cast

import pytest

from penstock.errors import BadInputError, UnsupportedError
from penstock.sample import Decision
from penstock.spark.observe.report import SourceRange

pytest.importorskip("pyspark", reason="the gates need Spark's classes")

from penstock.spark.gates import FileGate
from penstock.spark.jvm.bridge import SourceInfo


class LiveFake:
    """A running query on one folder of files, as far as a gate asks."""

    def __init__(self, limit: str = "All Available") -> None:
        self.sources = (SourceInfo("FileStreamSource", "files", limit, {}),)
        self.asked: list[tuple[str, Any]] = []

    def set_max_files(self, source: int, files: int) -> None:
        self.asked.append(("files", files))

    def set_max_bytes(self, source: int, bytes_: int) -> None:
        self.asked.append(("bytes", bytes_))

    def set_limit(self, source: int, limit: Any) -> None:
        self.asked.append(("limit", limit))

    def measure_bytes(self, source: int) -> None:
        self.asked.append(("measure", source))


def gate(live: LiveFake, unit: str, user_limit: Any = "All Available") -> FileGate:
    return FileGate(cast(Any, live), 0, user_limit, unit)


def took(files: int | None, size: int | None = None, backlog: float | None = None) -> tuple[SourceRange, ...]:
    return (SourceRange('{"logOffset": 0}', '{"logOffset": 1}', files, backlog, size),)


@pytest.mark.parametrize(("unit", "first"), [("files", []), ("bytes", [("measure", 0)])])
def test_a_size_is_a_limit_of_its_unit_and_never_less_than_one(unit: str, first: list[Any]) -> None:
    live = LiveFake()
    both = gate(live, unit, user_limit="the user's own")
    for size in (12.9, 0.2):
        both.apply(Decision(size, "why"))
    both.restore()
    assert live.asked == [*first, (unit, 12), (unit, 1), ("limit", "the user's own")]


def test_a_size_beyond_what_spark_counts_in_is_the_largest_it_does() -> None:
    live = LiveFake()
    gate(live, "bytes").apply(Decision(1e30, "why"))
    assert live.asked[-1] == ("bytes", 2**63 - 1)


@pytest.mark.parametrize("unit", ["files", "bytes"])
def test_a_minimum_is_refused(unit: str) -> None:
    with pytest.raises(UnsupportedError, match="no minimum"):
        gate(LiveFake(), unit).apply(Decision(10.0, "why", 5.0, 1.0))


def test_what_was_taken_is_in_the_unit_of_the_gate() -> None:
    assert gate(LiveFake(), "files").admitted(took(4, 1000, 7)).size == 4
    assert gate(LiveFake(), "files").admitted(took(4, 1000, 7)).backlog == 7
    assert gate(LiveFake(), "bytes").admitted(took(4, 1000)).size == 1000


def test_a_backlog_in_bytes_is_the_waiting_files_at_the_mean_size_of_those_taken() -> None:
    meter = gate(LiveFake(), "bytes")
    assert meter.admitted(took(4, 1000, 10)).backlog == pytest.approx(2500)
    # One odd batch moves the mean by a part only.
    assert 2500 < cast(float, meter.admitted(took(1, 1000, 10)).backlog) < 10_000
    assert meter.admitted(took(0, 0, 0)).backlog == 0
    assert meter.admitted(took(4, 1000)).backlog is None


def test_waiting_files_without_content_are_still_a_backlog() -> None:
    assert gate(LiveFake(), "bytes").admitted(took(3, 0, 5)).backlog == 5


@pytest.mark.parametrize("ranges", [(), took(None, 1000), took(4, None)])
def test_what_cannot_be_told_is_no_number(ranges: tuple[SourceRange, ...]) -> None:
    assert math.isnan(gate(LiveFake(), "bytes").admitted(ranges).size)


@pytest.mark.parametrize(
    ("in_force", "user_limit", "first"),
    [
        ("MaxBytes: 5000", "MaxBytes: 5000", 5000),
        ("MaxBytes: 1", "MaxBytes: 5000", 5000),
        ("MaxBytes: 1", "MaxBytes: 50000000", 1_000_000),
        ("MaxFiles: 1", "All Available", 1_000_000),
        ("All Available", "All Available", 1_000_000),
        ("MaxFiles: 7", "MaxFiles: 7", 1_000_000),
    ],
    ids=["users", "gated", "gated-large", "gated-none", "none", "files"],
)
def test_in_bytes_a_gate_begins_at_the_limit_in_force_or_at_a_megabyte(
    in_force: str, user_limit: str, first: float
) -> None:
    assert gate(LiveFake(in_force), "bytes", user_limit).first_size == first


def test_in_files_a_gate_begins_with_one_file() -> None:
    assert gate(LiveFake("MaxFiles: 7"), "files").first_size == 1


def test_an_unknown_unit_is_refused() -> None:
    with pytest.raises(BadInputError, match="files or bytes"):
        gate(LiveFake(), "rows")
