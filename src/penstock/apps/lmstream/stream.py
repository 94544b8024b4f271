"""A stream of rows with event times: seeded or replayed, and closed by one row from the far future.

Event time is stream time, which starts at `EPOCH_S`, and not the time of day, so that results do not depend on when a
run was made. A dataset is one second of stream, however fast the datasets arrive: replayed twenty times as fast, the
windows have the same rows in them.

A window is only given out when the watermark has passed its end, so a stream that just ends would keep its last
windows to itself, and which ones would depend on the batches. The last row of the stream is therefore from years
later: it closes all windows but its own, and those never close and are in no output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.apps.lmstream.trace_rows import Field, TraceRows
from penstock.errors import BadInputError
from penstock.patterns.base import FloatArray
from penstock.patterns.datasets import Datasets
from penstock.workloads.workload import Columns

# 2010-01-01 and 2024-01-01 at midnight UTC. Windows of any length that divides a minute begin there; and a time that
# has passed is none that a monitor must warn of.
EPOCH_S = 1_262_304_000
CLOSING_S = 1_704_067_200
MICROS = 1_000_000

Indices: TypeAlias = NDArray[np.int64]
Make: TypeAlias = Callable[[Indices, Indices, int, int], Columns]
"""Columns but the timestamp, from the rows' indices, their second in the stream, the seed and the rows a second."""


@dataclass(frozen=True)
class Stream:
    """A kind of rows. `row_bytes` is the mean length of a row as CSV text, line end and timestamp included.

    `fields` are those of a real trace, in order, and `complete` makes the columns out of them; `closing` is what the
    closing row must have for every query to see it.
    """

    name: str
    schema_ddl: str
    row_bytes: float
    make: Make
    fields: tuple[Field, ...]
    complete: Callable[[Columns], Columns]
    closing: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Seeded:
    """Generates the rows of a stream, `rows` of them with the closing one; `pace` says how many a second has."""

    stream: Stream
    pace: Datasets
    rows: int

    def __call__(self, indices: Indices, costs: FloatArray, seed: int) -> Columns:
        """The columns of these rows."""
        seconds = self.pace.number_of(indices)
        timestamps = (EPOCH_S + seconds) * MICROS
        columns = {"timestamp": timestamps, **self.stream.make(indices, seconds, seed, self.pace.rows)}
        return closed(columns, indices == self.rows - 1, self.stream)


@dataclass(frozen=True)
class Replayed:
    """Replays the rows of a trace in their order and with their own times, again and again, up to `rows`."""

    stream: Stream
    trace: TraceRows
    rows: int

    def __post_init__(self) -> None:
        """Refuse a trace that would go on after the closing row."""
        laps = -(-self.rows // self.trace.rows)
        if EPOCH_S + laps * self.trace.lap_s > CLOSING_S:
            reason = f"{laps} times its {self.trace.lap_s} s are more than the 14 years that a stream has"
            raise BadInputError("data", f"{self.trace.rows} rows", reason, "give a longer file or a smaller class")

    def __call__(self, indices: Indices, costs: FloatArray, seed: int) -> Columns:
        """The columns of these rows; each time around they are later by what the whole trace takes."""
        laps, lines = np.divmod(indices, self.trace.rows)
        columns = dict(self.stream.complete({name: column[lines] for name, column in self.trace.columns.items()}))
        seconds = columns.pop("timestamp") + laps * self.trace.lap_s
        return closed({"timestamp": (EPOCH_S + seconds) * MICROS, **columns}, indices == self.rows - 1, self.stream)


def closed(columns: Columns, closing: NDArray[np.bool_], stream: Stream) -> Columns:
    """The columns with the closing row in place of those that are chosen."""
    if not closing.any():
        return columns
    values = {"timestamp": CLOSING_S * MICROS, **stream.closing}
    return {
        name: np.where(closing, np.asarray(values[name], dtype=np.asarray(column).dtype), column)
        if name in values
        else column
        for name, column in columns.items()
    }


def exact(values: FloatArray) -> FloatArray:
    """The nearest multiples of 2**-20: sums of them are exact, so that they do not depend on the order of rows.

    >>> exact(np.array([0.063])).tolist()[0], float(exact(np.array([0.1] * 1000)).sum()) * 2**20 % 1
    (0.06299972534179688, 0.0)
    """
    rounded: FloatArray = np.rint(values * 2**20) / 2**20
    return rounded
