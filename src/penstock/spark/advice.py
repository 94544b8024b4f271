"""Advice to users: pure functions from what was seen to one line that says what to do, or None."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from penstock.sample import BatchSample
from penstock.spark.observe.report import BatchReport

IDLE_BATCHES = 5
_FUTURE_S = 60.0
_FEW_ROWS = 1000
_MANY_PARTITIONS = 8


class Advice(NamedTuple):
    """An event of the journal under this name, and a warning in the log; told once by a handle."""

    name: str
    why: str


def first_batch_ungated(limits: Iterable[str], *, observe_only: bool) -> Advice | None:
    """A source has no limit of its own, in Spark's words for it, and the first batch is planned before attach."""
    if observe_only or "All Available" not in limits:
        return None
    return Advice(
        "first-batch-ungated",
        "Spark plans the first batch of a start before attach can limit it, so that one takes the whole backlog; write "
        "penstock.gated(spark.readStream...) where the query is built, or call penstock.attach_all(spark, ...) before "
        "it starts",
    )


def remote_checkpoint(checkpoint: str, *, fast: bool) -> Advice | None:
    """The profile for local disks, and a checkpoint elsewhere."""
    if checkpoint.startswith("file:") or not fast:
        return None
    return Advice(
        "remote-checkpoint",
        f"the checkpoint {checkpoint} is not on a local disk, and profile 'fast' was made and tested for local ones; "
        "write penstock.configure(builder, profile='safe')",
    )


def idle_interval(interval_s: float, recent: Sequence[BatchSample]) -> Advice | None:
    """The trigger idles through its last five batches, and the backlog grows."""
    backlogs = [sample.backlog for sample in recent if sample.backlog is not None]
    if interval_s <= 0 or len(backlogs) < IDLE_BATCHES or backlogs[-1] <= backlogs[0]:
        return None
    if any(sample.processing_s > interval_s / 2 for sample in recent):
        return None
    return Advice(
        "idle-interval",
        f"the trigger waits {interval_s:g} s but a batch takes {recent[-1].processing_s:.2g} s, and the backlog grows: "
        "the machine is idle while data waits; write .trigger(processingTime='0 seconds') instead",
    )


def many_partitions(batch: BatchReport, cores: int) -> Advice | None:
    """The state is cut into far more partitions than there are cores, and a batch has few rows for each."""
    partitions, items = batch.state_partitions or 0, batch.items or 0
    if partitions < _MANY_PARTITIONS * cores or not 0 < items < _FEW_ROWS * partitions:
        return None
    return Advice(
        "many-partitions",
        f"the state of this query is cut into {partitions} partitions on {cores} cores, and a batch of {items:,} "
        "rows pays for all of them; set spark.sql.shuffle.partitions to a small multiple of the cores and start with a "
        "new checkpoint, since the old one keeps the number",
    )


def future_timestamps(batch: BatchReport) -> Advice | None:
    """Event times later than the batch itself."""
    if batch.newest_s is None or batch.newest_s <= batch.started_s + _FUTURE_S:
        return None
    return Advice(
        "future-timestamps",
        f"event times lie up to {batch.newest_s - batch.started_s:,.0f} s in the future: they count as not having "
        "waited, and they push the watermark, which may drop what comes on time",
    )


def rows_not_set(fault: Exception) -> Advice:
    """A gate in bytes could not set the rows that they come to."""
    return Advice("gate-fault", f"the rows of the next batch were not set, the last ones stay: {fault!r}")


def bytes_unknown(error: str, row_bytes: float | None) -> Advice:
    """The broker tells no sizes; a row then counts `row_bytes`, or None: as many as those that were seen last."""
    meanwhile = (
        "new records count as large as the last ones that were seen"
        if row_bytes is None
        else f"a row counts {row_bytes:,.0f} bytes, so that admission is by rows; give its client the right to "
        "describe the cluster, or leave unit out"
    )
    told = f"the broker does not tell the size of the topic's logs: {meanwhile}: {error}"
    return Advice("bytes-unknown", told[:700])


def broker_silent(error: Exception) -> Advice:
    """The broker tells neither the retention of a topic nor how old its records are."""
    told = (
        "the broker did not tell the retention of the topic or the age of its records, so only max_lag guards against "
        f"loss (its client may lack the right to describe): {error!r}"
    )
    return Advice("broker-silent", told[:500])
