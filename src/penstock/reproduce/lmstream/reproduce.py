"""The whole reproduction: run the plan, make tables, findings and figures, keep them in one folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.bench.compare.about import about_here
from penstock.bench.compare.runs import Open, Runner
from penstock.bench.run import Watch, run
from penstock.bench.session import session
from penstock.json_file import write_json
from penstock.progress import Say
from penstock.reproduce.drawing import Step, pyplot
from penstock.reproduce.finding import Found, to_json
from penstock.reproduce.lmstream.figures import draw_all
from penstock.reproduce.lmstream.findings import look_at_all
from penstock.reproduce.lmstream.paper_runs import PaperRuns
from penstock.reproduce.lmstream.runs import Ran, run_all
from penstock.reproduce.lmstream.scores import Scores
from penstock.reproduce.lmstream.tables import beaten, tables
from penstock.reproduce.table import Table

RESULTS, FIGURES = "results.json", "figures"


@dataclass(frozen=True)
class Reproduction:
    """What came out."""

    scores: Scores
    tables: Sequence[Table]
    found: Found
    figures: Sequence[Path]
    ran: Ran

    @property
    def seconds(self) -> float:
        """What all runs took, also those of earlier starts."""
        return sum(float(summary["wall_s"]) for summary in self.ran.summaries.values())

    @property
    def good(self) -> bool:
        """Whether no run failed or gave wrong results."""
        return not (self.ran.wrong or self.ran.failures)

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "tables": {table.name: table.to_json() for table in self.tables},
            "findings": to_json(self.found),
            "beaten": beaten(self.scores),
            "runs": len(self.ran.summaries),
            "computed": self.ran.computed,
            "wrong": list(self.ran.wrong),
            "failures": list(self.ran.failures),
            "left_out": list(self.ran.left_out),
            "seconds": round(self.seconds, 1),
            "class": self.scores.plan.size_class,
            "speed": self.scores.plan.speed,
            "about": about_here(),
        }


def reproduce(
    plan: PaperRuns,
    folder: Path,
    watch: Watch,
    say: Say = lambda text: None,
    step: Step = lambda name: None,
    *,
    runner: Runner = run,
    open_session: Open = session,
) -> Reproduction | None:
    """Run what the folder does not have yet; write results and figures there. None where the user stopped it."""
    # What the figures need is asked for before an hour is spent on runs.
    pyplot()
    ran = run_all(plan, folder, watch, say, runner=runner, open_session=open_session)
    if ran.stopped:
        return None
    scores = Scores.of(plan, ran.summaries, folder)
    figures = draw_all(scores, folder / FIGURES, step) if ran.summaries else []
    answer = Reproduction(scores, tables(scores), look_at_all(scores), figures, ran)
    write_json(folder / RESULTS, answer.to_json())
    return answer
