"""The whole reproduction: run the grid, make tables, findings and figures, keep them in one folder."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.json_file import write_json
from penstock.progress import Progress
from penstock.reproduce.drawing import Step, pyplot
from penstock.reproduce.finding import Found, to_json
from penstock.reproduce.table import Table
from penstock.reproduce.thesis.cells import run_cells
from penstock.reproduce.thesis.figures import draw_all
from penstock.reproduce.thesis.findings import look_at_all
from penstock.reproduce.thesis.grid import Grid
from penstock.reproduce.thesis.scores import Scores
from penstock.reproduce.thesis.tables import section, tables

RESULTS, TABLES, FIGURES = "results.json", "tables.md", "figures"


@dataclass(frozen=True)
class Reproduction:
    """What came out; `computed` cells are new, the others were kept from before."""

    scores: Scores
    tables: Sequence[Table]
    found: Found
    figures: Sequence[Path]
    cells: int
    computed: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "tables": {table.name: table.to_json() for table in self.tables},
            "findings": to_json(self.found),
            "seconds": round(self.seconds, 1),
            "cells": self.cells,
            "computed": self.computed,
            "runs": self.scores.runs,
        }


def reproduce(
    grid: Grid, folder: Path, progress: Progress, step: Step = lambda name: None, processes: int | None = None
) -> Reproduction:
    """Run what the folder does not have yet; write tables, results and figures there."""
    began_s = time.monotonic()
    # What the figures need is asked for before minutes are spent on the grid.
    pyplot()
    cells = grid.cells()
    ran = run_cells(cells, folder, progress, processes)
    scores = Scores(ran.numbers)
    figures = draw_all(scores, folder / FIGURES, step, grid.items)
    found = look_at_all(scores)
    made = tables(scores)
    answer = Reproduction(scores, made, found, figures, len(cells), ran.computed, time.monotonic() - began_s)
    (folder / TABLES).write_text(section(made), encoding="utf-8")
    write_json(folder / RESULTS, answer.to_json())
    return answer
