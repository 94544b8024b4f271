"""A run as a report needs it: its journal, read, and of `summary.json` only what no journal knows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import BadInputError
from penstock.journal import Recording, read
from penstock.journal.reader import Event
from penstock.report import words
from penstock.report.batches import Batch, batches_of
from penstock.score import summarise
from penstock.slo import Slo, Verdict

# What belongs to an ordinary run; every other event is something to look at.
ORDINARY = {"attached", "detached", "resumed", "changed"}


@dataclass(frozen=True)
class Run:
    """A run as it was read: its journal, what its summary adds, its objective, its batches and its metrics."""

    recording: Recording
    extra: Mapping[str, Any]
    slo: Slo
    batches: Sequence[Batch]
    metrics: Mapping[str, Any]

    @property
    def counted(self) -> list[Batch]:
        """The batches with a verdict."""
        return [batch for batch in self.batches if batch.verdict is not Verdict.UNKNOWN]

    @property
    def unusual(self) -> list[Event]:
        """The events that do not belong to an ordinary run."""
        return [event for event in self.recording.events if event.name not in ORDINARY]

    def control(self) -> dict[str, float | None]:
        """Our own work a batch: its mean in seconds, and its share of the processing time in percent."""
        spent_s = [value for value in self.recording.control_s if words.known(value) is not None]
        if not spent_s or not self.batches:
            return {"mean_s": None, "share": None}
        busy_s = sum(words.known(batch.sample.processing_s) or 0.0 for batch in self.batches)
        share = 100 * sum(spent_s) / busy_s if busy_s > 0 else None
        return {"mean_s": sum(spent_s) / len(self.batches), "share": share}


def load_run(journal: Path) -> Run:
    """Read a run; the numbers are computed from the journal, whatever the summary says."""
    recording = read(journal)
    extra = _extra(journal.with_name("summary.json"))
    written = recording.header.get("slo") or extra.get("slo")
    if not isinstance(written, str):
        raise BadInputError("journal", str(journal), "its header names no objective", "give the journal of a run")
    slo = Slo.parse(written)
    return Run(recording, extra, slo, batches_of(recording, slo), summarise(recording.samples, slo))


def _extra(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
