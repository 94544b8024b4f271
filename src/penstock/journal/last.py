"""Where a journal ended: what a new attach to the same query may begin with."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from pathlib import Path

from penstock.journal.records import Record, parse

_TAIL_BYTES = 256 * 1024
_NO_LIMIT = 1e12
_HEADER = b'{"kind":"header"'


def last_size(path: str | Path, alike: Mapping[str, object]) -> float | None:
    """The size last applied, where the journal's latest header has these values; None where there is none.

    Only its last header and its end are parsed: a journal may be long, and a query is waiting.

    >>> from tempfile import mkdtemp
    >>> from penstock.journal import Journal
    >>> from penstock.sample import Decision
    >>> path = Path(mkdtemp()) / "journal.jsonl"
    >>> journal = Journal.open(path, {"unit": "rows"})
    >>> journal.decision(7, Decision(1200, "as before"), applied=True)
    >>> journal.close()
    >>> last_size(path, {"unit": "rows"}), last_size(path, {"unit": "files"})
    (1200.0, None)
    """
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            at = text.rfind(_HEADER)
            header = parse(text[at : text.find(b"\n", at) + 1]) if at >= 0 else None
            records = [record for line in text[-_TAIL_BYTES:].splitlines() if (record := parse(line)) is not None]
    except (OSError, ValueError):
        return None
    if header is None or any(header.get(key) != value for key, value in alike.items()):
        return None
    return next((size for r in reversed(records) if (size := _applied(r)) is not None), None)


def _applied(record: Record) -> float | None:
    size = record.get("size")
    applied = record.get("kind") == "decision" and record.get("applied")
    # A controller that steers time and not size admits all there is, which is no size to begin with.
    return float(size) if applied and isinstance(size, int | float) and 1 <= size < _NO_LIMIT else None
