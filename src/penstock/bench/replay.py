"""What another controller would have decided, step by step, on the batches of a run that is over.

A journal holds the latencies of the sizes that were in force, and of no others. So each decision is asked for from
where the run really was: the controller has seen the same batches as the one that ran, and before every sample it is
given the size that was in force. Where its own decision would have led is nowhere in the journal, and is not guessed.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from penstock.control.registry import blaming, create
from penstock.control.sample_value import usable_value
from penstock.errors import BadInputError
from penstock.journal import DecisionRecord, Follower, Recording, read
from penstock.sample import BatchSample
from penstock.size import clamp
from penstock.slo import Metric, Slo

KNOWN = (
    "the direction and the length of every single step: what {controller} would have decided there, having seen the "
    "same batches, from the size that was in force"
)
UNKNOWN = (
    "the hits it would have had: its sizes were never in force, and every latency here belongs to the size that was"
)
# Below this a step is taken for none: some controllers always move a little, others rest within the band.
STILL = 0.01


@dataclass(frozen=True, slots=True)
class ReplayedStep:
    """One batch of the run: what was decided on it (`taken`) and what would have been, both from `in_force`.

    `size` is what the batch had admitted. `latency_s` is the latency that the SLO names, the processing time under one
    on throughput; `value` is the SLO's own measure.
    """

    batch_id: int
    latency_s: float
    value: float
    size: float
    in_force: float
    taken: float
    would: float
    reason: str

    @property
    def agrees(self) -> bool:
        """Whether both go up, both go down or both stay."""
        return _direction(self.in_force, self.taken) == _direction(self.in_force, self.would)


@dataclass(frozen=True, slots=True)
class Replay:
    """All steps, and what they come to; `notes` are reasons to trust them less."""

    controller: str
    slo: Slo
    first_size: float
    steps: Sequence[ReplayedStep]
    ignored: int
    notes: Sequence[str]

    @property
    def agreement(self) -> float:
        """The share of steps in the same direction; a change of less than 1% counts as none."""
        return sum(step.agrees for step in self.steps) / len(self.steps)

    @property
    def median_ratio(self) -> float:
        """The middle one of the sizes that would have been decided, over those that were."""
        return statistics.median(step.would / step.taken for step in self.steps)

    @property
    def known(self) -> str:
        """What a replay can tell."""
        return KNOWN.format(controller=self.controller)

    def to_json(self) -> dict[str, Any]:
        """The replay as one JSON object."""
        return {
            "controller": self.controller,
            "slo": str(self.slo),
            "first_size": self.first_size,
            "steps": [asdict(step) for step in self.steps],
            "ignored": self.ignored,
            "agreement": self.agreement,
            "median_ratio": self.median_ratio,
            "known": self.known,
            "unknown": UNKNOWN,
            "notes": list(self.notes),
        }


def replay(run: Path, name: str, settings: Mapping[str, object]) -> Replay:
    """Feed the journal of a run, a folder or the file itself, to a controller, created as the one that ran was."""
    recording, notes = _read_whole(run / "journal.jsonl" if run.is_dir() else run)
    if "slo" not in recording.header:
        raise BadInputError("journal", str(run), "its header names no SLO", "give the journal of a run")
    slo = Slo.parse(str(recording.header["slo"]))
    if not recording.samples:
        raise BadInputError("journal", str(run), "no batch in it", "give a longer run")
    first_size = clamp(recording.decisions[0].decision.size if recording.decisions else recording.samples[0].size)
    # Only a simulation on the thesis' own plant is not made as a live query would be.
    live = bool(recording.header.get("live", True))
    # A gate that waited once can wait; of one that never did, nothing is known.
    waits = any(record.decision.min_size for record in recording.decisions) or None
    controller = create(name, slo, first_size, live=live, waits=waits, **settings)
    steps = []
    for sample, in_force, taken in _placed(recording):
        value = usable_value(slo, sample)
        if value is None or not sample.confirmed:
            continue
        # Only where it differs: to a controller with a memory, an assigned size is somebody else's.
        if controller.size != in_force:
            controller.size = in_force
        with blaming(name):
            decision = controller.decide(sample)
        latency_s = sample.processing_s if slo.metric is Metric.THROUGHPUT else value
        step = (sample.batch_id, latency_s, value, sample.size, in_force, taken, decision.size, decision.reason)
        steps.append(ReplayedStep(*step))
    if not steps:
        raise BadInputError("journal", str(run), "no batch in it that a controller can learn from", "give a longer run")
    shown = ":".join([name, *(f"{key}={each}" for key, each in settings.items())])
    return Replay(shown, slo, first_size, steps, len(recording.samples) - len(steps), notes)


def _read_whole(path: Path) -> tuple[Recording, list[str]]:
    # A line that is lost in the middle would make every later decision one that nobody would have taken. After a torn
    # last line, which a killed run leaves behind, nothing follows.
    recording = read(path)
    follower = Follower(path)
    follower.poll()
    inside = follower.torn
    follower.drain_tail()
    follower.close()
    unreadable = recording.torn - (follower.torn - inside)
    if unreadable:
        lines = f"{unreadable} line{'s' if unreadable > 1 else ''} of it cannot be read"
        raise BadInputError("journal", str(path), lines, "give a journal that is whole, but for its last line")
    notes = ["the last line is torn, as a killed run leaves it, and was left out"] if recording.torn else []
    lost = sum(int(event.details.get("records", 0)) for event in recording.events if event.name == "journal-lost")
    if lost:
        notes.append(f"{lost} records were lost when the run wrote them: later steps may differ for want of them")
    if any(event.name == "journal-dropped" for event in recording.events):
        notes.append("the oldest part of the journal is gone: the controller starts in the middle of the run")
    return recording, notes


def _placed(recording: Recording) -> Iterator[tuple[BatchSample, float, float]]:
    """Each batch with the size in force when it was decided on, and what was decided last: if nothing was, the same."""
    decisions = recording.decisions
    observed = bool(recording.header.get("observe"))
    in_force: float | None = None
    index = 0
    for sample in recording.samples:
        # Decisions stand in the order of their batches, and those of an opening (batch -1) before all of its own.
        while index < len(decisions) and decisions[index].batch_id < sample.batch_id:
            in_force = _applied(decisions[index], in_force)
            index += 1
        here = clamp(in_force if in_force is not None and not observed else sample.size)
        taken = here
        while index < len(decisions) and decisions[index].batch_id == sample.batch_id:
            taken = decisions[index].decision.size
            in_force = _applied(decisions[index], in_force)
            index += 1
        yield sample, here, taken


def _applied(record: DecisionRecord, in_force: float | None) -> float | None:
    return record.decision.size if record.applied else in_force


def _direction(before: float, after: float) -> int:
    change = after / before - 1
    return 0 if abs(change) < STILL else 1 if change > 0 else -1
