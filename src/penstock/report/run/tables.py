"""The tables of a run: responses to load changes, decisions with their reasons, events, configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

from penstock.journal import Recording
from penstock.journal.reader import Event
from penstock.report import words
from penstock.report.batches import Batch, owners_of
from penstock.report.parts import Cell, Columns, Pairs, Part, Table
from penstock.report.run.data import ORDINARY
from penstock.score import Response
from penstock.slo import Slo, Verdict

MOST_ROWS = 2000
_NEAR_S = 3600.0
_VERDICTS = {Verdict.MET: "✓ hit", Verdict.MISSED: "✕ miss"}


def responses_table(responses: Sequence[Response]) -> Table:
    """How each change of the load was answered."""
    rows = [
        [
            response.part or words.DASH,
            words.count(response.batch_id),
            words.count(response.batches),
            "never" if response.settling_batches is None else words.count(response.settling_batches),
            words.duration(response.settling_s),
            words.percent(response.overshoot),
            words.percent(response.accuracy),
            "yes" if response.stable else "no",
        ]
        for response in responses[:MOST_ROWS]
    ]
    head = ["part", "from batch", "batches", "settled after", "in time", "overshoot", "distance after", "stable"]
    return Table(head, rows, label="Response to each load change", words=(0, 7), scroll=len(rows) > 12)


@dataclass(frozen=True)
class Decisions:
    """The table of decisions with a search box above it, how many rows it has, and a note below."""

    template: ClassVar[str] = "decisions.html"

    table: Table
    found: str
    note: str


def decisions_table(recording: Recording, batches: Sequence[Batch], slo: Slo) -> Decisions:
    """Every decision with what it was taken on and why."""
    owners = owners_of(recording)
    final = {owner: at for at, owner in enumerate(owners)}
    rows: list[list[object]] = []
    attributes: list[dict[str, object]] = []
    shown = list(zip(recording.decisions, owners, strict=True))[:MOST_ROWS]
    for at, (record, owner) in enumerate(shown):
        batch = None if owner is None else batches[owner]
        replaced = final[owner] != at
        rows.append(
            [
                words.DASH if batch is None else record.batch_id,
                words.measured(batch.value if batch else None, slo),
                _verdict(batch),
                words.count(batch.sample.size if batch else None),
                words.count(record.decision.size),
                Cell("replaced" if replaced else "applied" if record.applied else "not applied", look="state"),
                record.decision.reason,
            ]
        )
        attributes.append({"class": "replaced"} if replaced else {"data-at": owner})
    head = ["batch", "measured", "verdict", "its size", "decided", "state", "reason"]
    table = Table(
        head,
        rows,
        label="Decisions with their reasons",
        words=(2, 5, 6),
        scroll=True,
        name="decisions-table",
        row_attributes=attributes,
    )
    left_out = len(recording.decisions) - len(rows)
    note = f"The first {MOST_ROWS:,} decisions are listed; {left_out:,} more are in the journal." if left_out else ""
    return Decisions(table, words.number_of(len(rows), "row"), note)


def events_table(events: Sequence[Event], batches: Sequence[Batch]) -> Table:
    """What else happened; the unusual has a colour and a mark."""
    began_s = batches[0].sample.started_s if batches else None
    rows = []
    for event in events[:MOST_ROWS]:
        after_s = None if began_s is None else event.t - began_s
        # A simulated run has a time of its own, which the clock of its events knows nothing of.
        near = after_s is not None and 0 <= after_s <= batches[-1].at_s + _NEAR_S
        at = f"{after_s:,.1f} s" if near else words.DASH
        unusual = event.name not in ORDINARY
        name = Cell(f"▲ {event.name}", look="missed") if unusual else event.name
        rows.append([at, name, words.told(event.details)])
    return Table(["after", "event", "details"], rows, label="Events", words=(0, 1, 2), scroll=len(rows) > 12)


def configuration(header: Mapping[str, Any], summary: Mapping[str, Any]) -> Columns:
    """The header of the journal and the spec of the run, name by name."""
    opened_s = words.known(header.get("opened_s"))
    left = [("penstock", words.plain(header.get("penstock")))]
    if opened_s is not None and not header.get("simulated"):
        # In UTC: the reader may sit elsewhere than the machine that ran it.
        left.append(("began", f"{datetime.fromtimestamp(opened_s, UTC):%Y-%m-%d %H:%M} UTC"))
    known = {"kind", "version", "penstock", "segment", "opened_s", "t"}
    left += [(str(key), words.plain(value)) for key, value in header.items() if key not in known]
    spec = summary.get("spec")
    right = [(str(key), words.plain(value)) for key, value in spec.items()] if isinstance(spec, Mapping) else []
    if (wall_s := words.known(summary.get("wall_s"))) is not None:
        right.append(("took in all", words.duration(wall_s)))
    blocks: list[tuple[str, Part]] = [("Journal", Pairs(left, "Header of the journal"))]
    if right:
        blocks.append(("Run", Pairs(right, "Specification of the run")))
    return Columns(blocks)


def phases_table(durations_s: Mapping[str, float], control: Mapping[str, float | None]) -> Table:
    """Mean seconds of each phase and its share of a batch."""
    whole = sum(durations_s.values())
    rows: list[list[object]] = [
        [phase, words.duration(seconds), words.percent(100 * seconds / whole if whole > 0 else None)]
        for phase, seconds in durations_s.items()
    ]
    if control["mean_s"] is not None:
        rows.append(["Penstock itself", words.duration(control["mean_s"]), words.percent(control["share"])])
    return Table(["phase", "mean", "of a batch"], rows, label="Mean time of a batch by phase", narrow=True)


def _verdict(batch: Batch | None) -> str | Cell:
    if batch is None:
        return words.DASH
    return "not counted" if batch.verdict is Verdict.UNKNOWN else Cell(_VERDICTS[batch.verdict], batch.verdict.value)
