"""A real trace from a file: white space or commas between fields, a row a line, time in seconds first."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BadInputError

_FORMAT = "give a file with a row a line and white space or commas between fields"
# Beyond this a timestamp is not in seconds, or it is broken.
LONGEST_S = 10 * 366 * 86_400

Row: TypeAlias = tuple[Any, ...]


class Field(NamedTuple):
    """A column of a trace: how its text is read, and what it is kept as."""

    name: str
    read: Callable[[str], Any]
    dtype: str


@dataclass(frozen=True)
class TraceRows:
    """The rows of a file that could be read, in their order; times in seconds from the earliest one.

    `bad_rows` counts the others, `first_bad` says where and why the first of them is one. `lap_s` is by how much the
    rows are later each time the trace is repeated; `disorder_s` is how much later than a row an earlier one may be.
    `row_bytes` is the mean length of a row as CSV text, line end included.
    """

    columns: Mapping[str, NDArray[Any]]
    lap_s: int
    disorder_s: int
    row_bytes: float
    bad_rows: int = 0
    first_bad: str | None = None

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.columns["timestamp"])


def read_trace(path: Path, fields: Sequence[Field]) -> TraceRows:
    """Read a trace. What is no row is counted, never dropped in silence; a file without any row is refused."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise BadInputError("data", str(path), f"cannot be read ({error.strerror})", _FORMAT) from error
    rows: list[Row] = []
    bad: list[str] = []
    characters = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        texts = line.replace(",", " ").split()
        try:
            row = _row(texts, fields)
            _check_time(row[0], rows[0][0] if rows else row[0])
        except ValueError as error:
            bad.append(f"line {number}: {error}")
        else:
            rows.append(row)
            characters += sum(map(len, texts)) + len(texts)
    if not rows:
        why = f"none of its {len(bad)} lines is a row ({bad[0]})" if bad else "it has no rows"
        raise BadInputError("data", str(path), why, f"{_FORMAT}: {' '.join(field.name for field in fields)}")
    kept = zip(fields, zip(*rows, strict=True), strict=True)
    columns = {field.name: np.array(values, dtype=field.dtype) for field, values in kept}
    times = columns["timestamp"] = columns["timestamp"] - columns["timestamp"].min()
    return TraceRows(
        columns,
        lap_s=int(times.max()) + 1,
        disorder_s=int((np.maximum.accumulate(times) - times).max()),
        row_bytes=characters / len(rows),
        bad_rows=len(bad),
        first_bad=bad[0] if bad else None,
    )


def read_second(text: str) -> int:
    """A time in seconds, rounded down.

    >>> read_second("17.9")
    17
    """
    return math.floor(read_number(text))


def read_int(text: str) -> int:
    """A whole number of 4 bytes."""
    return _whole(text, 2**31)


def read_long(text: str) -> int:
    """A whole number of 8 bytes."""
    return _whole(text, 2**63)


def read_number(text: str) -> float:
    """A finite number."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text!r} is not a finite number")
    return number


def _whole(text: str, beyond: int) -> int:
    number = int(text)
    if not -beyond <= number < beyond:
        raise ValueError(f"{text!r} is too large")
    return number


def _row(texts: Sequence[str], fields: Sequence[Field]) -> Row:
    if len(texts) != len(fields):
        raise ValueError(f"{len(texts)} fields and not {len(fields)}")
    return tuple(_value(text, field) for text, field in zip(texts, fields, strict=True))


def _value(text: str, field: Field) -> Any:
    try:
        return field.read(text)
    except ValueError as error:
        raise ValueError(f"{field.name} {text!r} is not right: {error}") from error


def _check_time(second: int, first: int) -> None:
    if second < 0:
        raise ValueError(f"the timestamp {second} is negative")
    if abs(second - first) > LONGEST_S:
        raise ValueError(f"the timestamp {second} is more than ten years from the first one")
