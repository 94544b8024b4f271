"""What is measured of a run, from its summary and its journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.bench.end_to_end import delivered
from penstock.journal import Recording, read
from penstock.reproduce.finding import NoDataError
from penstock.reproduce.lmstream.paper_runs import BASELINE, CONSTANT, LMSTREAM, PaperRun, PaperRuns
from penstock.reproduce.lmstream.runs import JOURNAL

KEPT = 95.0
"""The percent of batches that have to stay within a bound for it to count as kept."""

Summary = Mapping[str, Any]


@dataclass(frozen=True)
class Timeline:
    """One value a batch with data: when it began after the first one, its longest latency, its rows."""

    at_s: tuple[float, ...]
    latency_s: tuple[float, ...]
    rows: tuple[int, ...]


@dataclass(frozen=True)
class Split:
    """How the time of a run was spent, in percent, from the start of its first batch to the end of the last with data.

    Deciding goes on beside the commit of a batch, and so is in the processing too: the first two are the whole.
    """

    buffering: float
    processing: float
    control: float


@dataclass(frozen=True)
class Measured:
    """One run.

    Latency is that of datasets, from arrival to the end of their batch; `within` is the percent of batches whose oldest
    dataset stayed within the bound. `bytes_per_s` is over the time of processing, as the paper counts throughput, with
    the batches that only close windows; `bytes_per_s_of_data` is without them. `delivered_per_s` is what came out, rows
    a second of wall time between the ends of the first and the last batch.
    """

    bound_s: float
    mean_s: float
    max_s: float
    within: float
    batches: int
    without_data: int
    row_bytes: float
    bytes_per_s: float
    bytes_per_s_of_data: float
    delivered_per_s: float
    split: Split
    timeline: Timeline

    @property
    def mean_rows(self) -> float:
        """Rows of a batch."""
        return sum(self.timeline.rows) / self.batches

    @property
    def batch_latency_s(self) -> float:
        """The mean over batches of their longest latency."""
        return sum(self.timeline.latency_s) / self.batches


def measure(summary: Summary, recording: Recording, bound_s: float) -> Measured:
    """All numbers of a run; a `NoDataError` where its journal does not tell them."""
    batches = delivered(recording)
    waits = [(sample.started_s, sample.end_to_end_s) for sample in batches]
    known = [(start, latency) for start, latency in waits if start is not None and latency is not None]
    latencies = (summary["end_to_end"] or {}).get("datasets")
    if len(batches) < 2 or len(known) < len(batches) or latencies is None:
        raise NoDataError("its journal lacks batches, or what they waited")
    starts = [start for start, _ in known]
    ends = [start + sample.processing_s for start, sample in zip(starts, batches, strict=True)]
    processed = summary["processed"]
    row_bytes = float(processed["bytes"]) / float(processed["rows"])
    busy_s = sum(sample.processing_s for sample in batches)
    return Measured(
        bound_s=bound_s,
        mean_s=float(latencies["mean"]),
        max_s=float(latencies["max"]),
        within=100.0 * sum(latency <= bound_s for _, latency in known) / len(known),
        batches=len(batches),
        without_data=sum(sample.confirmed and sample.items == 0 for sample in recording.samples),
        row_bytes=row_bytes,
        bytes_per_s=float(processed["bytes_per_s"]),
        bytes_per_s_of_data=float(processed["bytes"]) / busy_s,
        delivered_per_s=sum(sample.items for sample in batches[1:]) / (ends[-1] - ends[0]),
        split=_split(recording, ends[-1]),
        timeline=Timeline(
            tuple(start - starts[0] for start in starts),
            tuple(latency for _, latency in known),
            tuple(sample.items for sample in batches),
        ),
    )


def _split(recording: Recording, end_s: float) -> Split:
    inside = [
        (sample.started_s, sample.processing_s)
        for sample in recording.samples
        if sample.confirmed and sample.started_s is not None and sample.started_s < end_s
    ]
    whole_s = end_s - min(start for start, _ in inside)
    busy = 100.0 * sum(processing_s for _, processing_s in inside) / whole_s
    return Split(100.0 - busy, busy, 100.0 * sum(recording.control_s) / whole_s)


class Scores:
    """The runs of a plan, by query, variant and traffic."""

    def __init__(self, plan: PaperRuns, runs: Mapping[tuple[str, str, str], Measured]) -> None:
        self.plan = plan
        self._runs = runs

    @classmethod
    def of(cls, plan: PaperRuns, summaries: Mapping[PaperRun, Summary], folder: Path) -> Scores:
        """Read the journals of all runs; one that does not tell its numbers is left out."""
        runs = {}
        for each, summary in summaries.items():
            try:
                recording = read(folder / each.name / JOURNAL)
                runs[each.query, each.variant, each.traffic] = measure(summary, recording, plan.bound_s(each.query))
            except NoDataError:
                continue
        return cls(plan, runs)

    def get(self, query: str, variant: str, traffic: str = CONSTANT) -> Measured | None:
        """A run, or None where there is none that counts."""
        return self._runs.get((query, variant, traffic))

    def known(self, query: str, variant: str, traffic: str = CONSTANT) -> Measured:
        """A run that has to be there; a `NoDataError` where it is not."""
        found = self.get(query, variant, traffic)
        if found is None:
            raise NoDataError(f"{query} under {variant}, {traffic} traffic")
        return found

    def variants(self, query: str, traffic: str = CONSTANT) -> list[str]:
        """The variants of a query that were run, in the order of the plan."""
        return [variant for variant in self.plan.variants if self.get(query, variant, traffic) is not None]

    def latency_ratio(self, query: str, variant: str = LMSTREAM, to: str = BASELINE, traffic: str = CONSTANT) -> float:
        """Mean latency of datasets as a multiple of that of another variant."""
        return self.known(query, variant, traffic).mean_s / self.known(query, to, traffic).mean_s

    def throughput_ratio(
        self, query: str, variant: str = LMSTREAM, to: str = BASELINE, traffic: str = CONSTANT
    ) -> float:
        """Throughput, as the paper counts it, as a multiple of that of another variant."""
        return self.known(query, variant, traffic).bytes_per_s / self.known(query, to, traffic).bytes_per_s
