"""Advice to users: when each is given, and what it tells them to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.sample import BatchSample
from penstock.spark import advice
from penstock.spark.observe.report import BatchReport

BATCH = BatchReport("q", 3, 1000.0, 0.2, confirmed=True, items=100)


def samples(*backlogs: float | None, processing_s: float = 0.2) -> list[BatchSample]:
    return [
        BatchSample(batch_id=number, size=10, items=10, processing_s=processing_s, backlog=backlog)
        for number, backlog in enumerate(backlogs)
    ]


def test_a_source_without_a_limit_is_told_how_its_first_batch_is_gated() -> None:
    given = advice.first_batch_ungated(["MaxFiles: 3", "All Available"], observe_only=False)
    assert given is not None
    assert (given.name, "penstock.gated(" in given.why) == ("first-batch-ungated", True)


def test_the_first_batch_is_no_matter_where_all_are_limited_or_nothing_is_applied() -> None:
    assert advice.first_batch_ungated(["MaxFiles: 3"], observe_only=False) is None
    assert advice.first_batch_ungated(["All Available"], observe_only=True) is None


@pytest.mark.parametrize(
    ("checkpoint", "fast", "told"),
    [("s3a://bucket/c", True, True), ("s3a://bucket/c", False, False), ("file:/tmp/c", True, False)],
)
def test_the_profile_for_local_disks_is_told_where_the_checkpoint_is_elsewhere(
    checkpoint: str, fast: bool, told: bool
) -> None:
    given = advice.remote_checkpoint(checkpoint, fast=fast)
    assert (given is not None) is told
    if given is not None:
        assert (given.name, "profile='safe'" in given.why) == ("remote-checkpoint", True)


def test_a_trigger_that_idles_while_the_backlog_grows_is_told() -> None:
    given = advice.idle_interval(10.0, samples(5, 5, 5, 5, 6))
    assert given is not None
    assert given.name == "idle-interval"
    assert "waits 10 s but a batch takes 0.2 s" in given.why


@pytest.mark.parametrize(
    ("interval_s", "recent"),
    [
        (0.0, samples(1, 2, 3, 4, 5)),
        (10.0, samples(1, 2, 3, 4)),
        (10.0, samples(5, 6, 7, 8, 5)),
        (10.0, samples(1, 2, None, 4, 5)),
        (10.0, samples(1, 2, 3, 4, 5, processing_s=5.1)),
    ],
    ids=["no-interval", "too-few", "not-grown", "not-known", "busy"],
)
def test_a_trigger_that_does_not_idle_is_left_alone(interval_s: float, recent: list[BatchSample]) -> None:
    assert advice.idle_interval(interval_s, recent) is None


@pytest.mark.parametrize(
    ("partitions", "items", "told"), [(16, 15_999, True), (15, 100, False), (16, 16_000, False), (16, 0, False)]
)
def test_state_in_many_partitions_of_few_rows_is_told(partitions: int, items: int, told: bool) -> None:
    given = advice.many_partitions(replace(BATCH, state_partitions=partitions, items=items), cores=2)
    assert (given is not None) is told
    if given is not None:
        assert (given.name, "spark.sql.shuffle.partitions" in given.why) == ("many-partitions", True)


@pytest.mark.parametrize(("newest_s", "told"), [(1060.5, True), (1060.0, False), (None, False)])
def test_event_times_more_than_a_minute_in_the_future_are_told(newest_s: float | None, told: bool) -> None:
    given = advice.future_timestamps(replace(BATCH, newest_s=newest_s))
    assert (given is not None) is told
    if given is not None:
        assert (given.name, "up to 60 s in the future" in given.why) == ("future-timestamps", True)


def test_a_broker_that_tells_no_sizes_says_what_a_row_counts_meanwhile() -> None:
    assert "a row counts 1,000 bytes" in advice.bytes_unknown("denied", 1000.0).why
    assert "as large as the last ones" in advice.bytes_unknown("denied", None).why


def test_a_long_error_is_cut() -> None:
    assert len(advice.bytes_unknown("x" * 5000, None).why) == 700
    assert len(advice.broker_silent(RuntimeError("x" * 5000)).why) == 500
