"""Advice to users: pure functions from what was seen to one line that says what to do, or None."""

from __future__ import annotations

from typing import NamedTuple


class Advice(NamedTuple):
    """An event of the journal under this name, and a warning in the log; told once by a handle."""

    name: str
    why: str


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
