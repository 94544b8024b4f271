"""The pattern that was recorded: values from a CSV file."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

import numpy as np

from penstock.errors import BadInputError
from penstock.patterns.base import FloatArray, check_amount, check_extent
from penstock.patterns.options import AMOUNT, LENGTH, TEXT, YES_NO
from penstock.patterns.segments import SegmentPattern, Segments, levels


@dataclass(frozen=True)
class Trace(SegmentPattern):
    """The values of one column of a CSV file with a header, each held until the next row.

    Rows are spaced as the column `timestamp` says, in seconds where it holds numbers or ISO dates (a date without a
    zone is UTC), else by one. The last row lasts as long as the middle one of all. `period` stretches the whole to
    that length and `max` scales the values so that the highest is that; at the end the trace starts over, or with
    `repeat=no` its last value holds. The file is read once, here: a pickled trace carries its values.
    """

    name: ClassVar[str] = "trace"
    summary: ClassVar[str] = "values from a CSV file: path, column=value, period, max, repeat=yes"

    path: str = field(metadata=TEXT)
    column: str = field(default="value", metadata=TEXT)
    period: float | None = field(default=None, metadata=LENGTH)
    max: float | None = field(default=None, metadata=AMOUNT)
    repeat: bool = field(default=True, metadata=YES_NO)
    _pieces: Segments = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Read the file; refuse one that is no trace."""
        if self.period is not None:
            check_extent(self, "period", self.period)
        if self.max is not None:
            check_amount(self, "max", self.max)
        edges, values = _read(self.path, self.column)
        if self.period is not None:
            edges = edges * (self.period / edges[-1])
            edges[-1] = self.period
        if self.max is not None:
            if values.max() == 0:
                raise BadInputError("trace max", self.max, "a trace of zeros cannot be scaled", "leave max out")
            values = values * (self.max / values.max())
        object.__setattr__(self, "_pieces", levels(edges, values, self.repeat))

    @property
    def segments(self) -> Segments:
        """One level a row."""
        return self._pieces

    @property
    def extent(self) -> float:
        """The length of the recording, stretched or not."""
        return float(self._pieces.edges[-1])


def _read(path: str, column: str) -> tuple[FloatArray, FloatArray]:
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            header = list(reader.fieldnames or ())
            rows = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "not a text file of values"
        raise BadInputError("trace path", path, f"cannot be read ({why})", "give a CSV file") from error
    if column not in header:
        known = ", ".join(header) or "nothing"
        raise BadInputError("trace column", column, f"not in the header of {path}", f"choose from: {known}")
    if not rows:
        raise BadInputError("trace path", path, "a trace without rows", "give a CSV file with values")
    values = np.array([_value(row[column], number, path) for number, row in enumerate(rows, start=2)])
    return _edges([row.get("timestamp") for row in rows], path), values


def _value(text: str | None, line: int, path: str) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise BadInputError(f"trace line {line}", text, f"not a finite number >= 0 in {path}", "mend or drop the line")
    return value


def _edges(stamps: list[str | None], path: str) -> FloatArray:
    seconds = [_seconds(stamp) for stamp in stamps]
    if any(second is None for second in seconds) or len(seconds) < 2:
        return np.arange(len(stamps) + 1, dtype=np.float64)
    starts = np.array(seconds, dtype=np.float64)
    gaps = np.diff(starts)
    if (gaps <= 0).any():
        line = int(np.argmax(gaps <= 0)) + 3
        raise BadInputError(
            f"trace line {line}", stamps[line - 2], f"time goes back in {path}", "sort the file by time"
        )
    return np.append(starts - starts[0], starts[-1] - starts[0] + np.median(gaps))


def _seconds(stamp: str | None) -> float | None:
    for read in (float, _from_iso):
        try:
            second = read(stamp or "")
        except ValueError:
            continue
        if math.isfinite(second):
            return second
    return None


def _from_iso(stamp: str) -> float:
    moment = datetime.fromisoformat(stamp)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
