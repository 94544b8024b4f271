"""The whole reproduction: measure what is missing, make tables, findings and figures, keep them in one folder.

`raw.json` has every measurement: where all are there, nothing is measured again, and tables, figures and page are made
anew from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.bench.measures.windows.cases import Size
from penstock.bench.measures.windows.job import Finished, Job, run_jobs
from penstock.bench.measures.windows.machine import Machine
from penstock.bench.measures.windows.programs import all_jobs
from penstock.bench.measures.windows.results import Results
from penstock.errors import BadInputError
from penstock.json_file import write_json
from penstock.progress import Say
from penstock.reproduce.drawing import pyplot
from penstock.reproduce.finding import Found, to_json
from penstock.reproduce.gasser.extents import all_extents
from penstock.reproduce.gasser.figures import Step, draw_all
from penstock.reproduce.gasser.findings import look_at_all
from penstock.reproduce.gasser.scores import Scores
from penstock.reproduce.gasser.tables import tables
from penstock.reproduce.gasser.verdict import verdict
from penstock.reproduce.table import Table

RAW, RESULTS, FIGURES = "raw.json", "results.json", "figures"


@dataclass(frozen=True)
class Reproduction:
    """What came out; `failures` are measurements that raised, which the same command tries again."""

    scores: Scores
    tables: Sequence[Table]
    found: Found
    figures: Sequence[Path]
    failures: Sequence[str]
    measurements: int
    seconds: float
    about: Mapping[str, Any]

    @property
    def verdict(self) -> str:
        """Where we win, tie and lose."""
        return verdict(self.scores)

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "verdict": self.verdict.splitlines(),
            "tables": {table.name: table.to_json() for table in self.tables},
            "findings": to_json(self.found),
            "failures": list(self.failures),
            "measurements": self.measurements,
            "seconds": self.seconds,
            "size": self.scores.size.name,
            "about": dict(self.about),
        }


def reproduce(
    size: Size,
    folder: Path,
    say: Say = lambda text: None,
    step: Step = lambda name: None,
    *,
    flink: bool = False,
    jobs: Iterable[Job] | None = None,
) -> Reproduction:
    """Measure what the folder does not have yet; write results and figures there."""
    # What the figures need is asked for before an hour is spent on measuring.
    pyplot()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"cannot be written ({error.strerror})"
        raise BadInputError("out", str(folder), reason, "give a folder you own") from error
    finished = Finished(folder / RAW, size)
    with Machine(size) as machine:
        failures = run_jobs(all_jobs(size, flink) if jobs is None else jobs, machine, finished, say)
    scores = Scores(Results(finished.records.values()), all_extents(), size)
    answer = Reproduction(
        scores,
        tables(scores),
        look_at_all(scores),
        draw_all(scores, folder / FIGURES, step),
        failures,
        len(finished.records),
        finished.seconds,
        finished.about,
    )
    write_json(folder / RESULTS, answer.to_json())
    return answer
