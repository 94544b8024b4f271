"""A journal's records as lines of JSON: the one place that encodes and decodes samples and decisions.

Fields that a reader does not know are ignored, so a field can be added without a new version.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from penstock.plan import BatchEcho
from penstock.sample import BatchSample, Code, Decision, Status

VERSION = 1
Record = dict[str, Any]

# Names are read once: `fields()` is too slow for every record.
_SAMPLE_FIELDS = tuple(each.name for each in fields(BatchSample))
_DECISION_FIELDS = tuple(each.name for each in fields(Decision))
_DECISION_NUMBERS = tuple(name for name in _DECISION_FIELDS if name not in ("reason", "code"))
_SAMPLE_NUMBERS = ("size", "processing_s", "wait_s", "started_s", "backlog", "load", "limit")


def to_record(value: BatchSample | Decision) -> Record:
    """The fields that say something: those that are None or empty are left out, and waiting items that count nothing.

    >>> to_record(Decision(12.0, "below the band"))
    {'size': 12.0, 'reason': 'below the band'}
    """
    names = _SAMPLE_FIELDS if isinstance(value, BatchSample) else _DECISION_FIELDS
    record = {name: each for name in names if (each := getattr(value, name)) is not None and each != {}}
    if record.get("item_s") == 0:
        del record["item_s"]
    return record


def to_sample(record: Record) -> BatchSample:
    """The sample in a record.

    >>> to_sample({"batch_id": 3, "size": 10, "items": 10, "processing_s": "nan", "from_the_future": 1}).processing_s
    nan
    """
    known: Record = {name: record[name] for name in _SAMPLE_FIELDS if name in record}
    known |= {name: float(known[name]) for name in _SAMPLE_NUMBERS if known.get(name) is not None}
    known |= {name: int(known[name]) for name in ("batch_id", "items")}
    known["status"] = Status(known.get("status", Status.OK))
    known["durations_s"] = {str(key): float(each) for key, each in known.get("durations_s", {}).items()}
    return BatchSample(**known)


def to_decision(record: Record) -> Decision:
    """The decision in a record; without a code where the record has none, or one that this Penstock does not know.

    >>> to_decision({"size": 12, "reason": "below the band", "from_the_future": 1}).size
    12.0
    """
    numbers = {name: float(record[name]) for name in _DECISION_NUMBERS if name in record}
    known = Code(record["code"]) if record.get("code") in tuple(Code) else None
    return Decision(reason=str(record["reason"]), code=known, **numbers)


def echo_to_record(echo: BatchEcho) -> Record:
    """What workers echoed of a batch; empty fields are left out.

    >>> echo_to_record(BatchEcho(7, versions=(3,), partitions=2, seconds={"detect": 0.4}))
    {'batch_id': 7, 'versions': [3], 'partitions': 2, 'seconds': {'detect': 0.4}}
    """
    told = {"seconds": dict(echo.seconds), "highest": dict(echo.highest), "counts": dict(echo.counts)}
    main = {"batch_id": echo.batch_id, "versions": list(echo.versions), "partitions": echo.partitions}
    return {**main, **{name: values for name, values in told.items() if values}}


def to_echo(record: Record) -> BatchEcho:
    """The echo in a record.

    >>> to_echo({"batch_id": 7, "versions": [3], "partitions": 2, "from_the_future": 1}).version
    3
    """
    seconds, highest, counts = (
        {str(key): float(each) for key, each in record.get(name, {}).items()}
        for name in ("seconds", "highest", "counts")
    )
    versions = tuple(int(version) for version in record["versions"])
    return BatchEcho(int(record["batch_id"]), versions, int(record["partitions"]), seconds, highest, counts)


def to_line(record: Record) -> bytes:
    r"""A record as one line of valid JSON; JSON has no NaN, so it becomes a string that `float` reads back.

    >>> to_line({"kind": "event", "ratio": math.inf})
    b'{"kind":"event","ratio":"inf"}\n'
    """
    try:
        text = json.dumps(record, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = json.dumps(_plain(record), separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _plain(value: Any, depth: int = 0) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if depth < 8 and isinstance(value, Mapping):
        return {str(key): _plain(each, depth + 1) for key, each in value.items()}
    if depth < 8 and isinstance(value, list | tuple | set | frozenset):
        return [_plain(each, depth + 1) for each in value]
    return _plain(value.item()) if isinstance(value, np.generic) else str(value)


def parse(line: bytes) -> Record | None:
    """The record in a line, or None where the line is torn."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("kind"), str) else None
