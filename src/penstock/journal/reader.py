"""Reading a journal: whole, or while it grows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from penstock.errors import BadInputError
from penstock.journal.records import Record, parse, to_decision, to_echo, to_sample
from penstock.journal.segments import numbered, numbers, open_current
from penstock.plan import BatchEcho
from penstock.sample import BatchSample, Decision


class DecisionRecord(NamedTuple):
    """A decision as it was journaled: on which batch, whether a gate took it, and when."""

    batch_id: int
    decision: Decision
    applied: bool
    t: float


class Event(NamedTuple):
    """Something else that happened, with its details."""

    name: str
    t: float
    details: Mapping[str, Any]


@dataclass
class Recording:
    """A journal, read: each batch once, the confirmed sample in place of its estimates; the latest header.

    `torn` counts the lines that could not be read. `control_s` has one value for each sample that was written with it.
    `obeyed` names for each batch the one on whose sample its limit was decided: -1 for the first size, no entry for the
    user's own limit. `echoes` are what workers told of their plan, in the order in which batches ended.
    """

    header: Mapping[str, Any] = field(default_factory=dict)
    samples: list[BatchSample] = field(default_factory=list)
    decisions: list[DecisionRecord] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    echoes: list[BatchEcho] = field(default_factory=list)
    control_s: list[float] = field(default_factory=list)
    obeyed: dict[int, int] = field(default_factory=dict)
    torn: int = 0


class Follower:
    """Reads a journal while it grows, across its segments; `torn` counts lines that could not be read.

    >>> from tempfile import mkdtemp
    >>> from penstock.journal import Journal
    >>> path = Path(mkdtemp()) / "run.jsonl"
    >>> follower = Follower(path)
    >>> follower.poll()
    []
    >>> journal = Journal.open(path, {})
    >>> journal.event("detach")
    >>> [record["kind"] for record in follower.poll()], follower.poll()
    (['header', 'event'], [])
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._file: BinaryIO | None = None
        self._segment = 0
        self._offset = 0
        self.torn = 0

    def poll(self) -> list[Record]:
        """The records written since the last call, oldest first."""
        records: list[Record] = []
        while True:
            # The next segment is looked for before the rest of this one is read: once it exists, this one is final.
            following = self._following()
            records += self._drain(final=following is not None)
            if following is None:
                return records
            self.close()
            self._segment, self._file = following
            self._offset = 0

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def drain_tail(self) -> list[Record]:
        """What stands after the last line end: a record that lacks only its line end, or a torn one."""
        return self._drain(final=True)

    def _drain(self, final: bool) -> list[Record]:
        if self._file is None:
            return []
        self._file.seek(self._offset)
        lines = self._file.readlines()
        records = [parse(line) for line in lines]
        # A torn tail stays unread until something follows it: the line may still grow, or its writer may cut it off.
        while lines and not final and (records[-1] is None or not lines[-1].endswith(b"\n")):
            lines.pop()
            records.pop()
        self._offset += sum(map(len, lines))
        self.torn += records.count(None)
        return [record for record in records if record is not None]

    def _following(self) -> tuple[int, BinaryIO] | None:
        # The current file is opened before the numbered ones are listed, so a rotation in between hides no segment.
        current = open_current(self._path)
        last = current[0] if current else math.inf
        for number in numbers(self._path):
            if self._segment < number < last:
                try:
                    file = open(numbered(self._path, number), "rb")  # noqa: SIM115 - lives until the next segment
                except FileNotFoundError:
                    continue
                if current:
                    current[1].close()
                return number, file
        if current and current[0] <= self._segment:
            current[1].close()
            return None
        return current


def read(path: str | Path) -> Recording:
    """A whole journal, all its segments in order."""
    follower = Follower(path)
    records = follower.poll()
    records += follower.drain_tail()
    follower.close()
    if not records:
        raise BadInputError("journal", str(path), "no journal is there", "give the file that a run wrote")
    recording = Recording(torn=follower.torn)
    batches: dict[tuple[object, int], BatchSample] = {}
    for record in records:
        try:
            _take(record, recording, batches)
        except (KeyError, TypeError, ValueError):
            recording.torn += 1
    recording.samples = list(batches.values())
    return recording


def _take(record: Record, recording: Recording, batches: dict[tuple[object, int], BatchSample]) -> None:
    match record["kind"]:
        case "header":
            recording.header = record
        case "sample":
            sample = to_sample(record)
            # Batch ids start again with a new query; without a query id, with a new opening.
            key = (recording.header.get("query_id") or recording.header.get("opened_s"), sample.batch_id)
            if sample.confirmed or key not in batches or not batches[key].confirmed:
                batches[key] = sample
            if "control_s" in record:
                recording.control_s.append(float(record["control_s"]))
            if "obeyed" in record:
                recording.obeyed[sample.batch_id] = int(record["obeyed"])
        case "decision":
            at = int(record["batch_id"]), to_decision(record), bool(record["applied"]), float(record["t"])
            recording.decisions.append(DecisionRecord(*at))
        case "echo":
            recording.echoes.append(to_echo(record))
        case "event":
            details = {key: value for key, value in record.items() if key not in ("kind", "t", "name")}
            recording.events.append(Event(str(record["name"]), float(record["t"]), details))
