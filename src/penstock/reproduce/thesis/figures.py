"""All nine figures of the evaluation, as PNG files of one folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from penstock.reproduce.drawing import Step, draw_files
from penstock.reproduce.thesis import figures_runs as runs
from penstock.reproduce.thesis import figures_scores as grid
from penstock.reproduce.thesis.rules import known
from penstock.reproduce.thesis.scores import Scores


def draw_all(scores: Scores, folder: Path, step: Step = lambda name: None, items: int | None = None) -> list[Path]:
    """Draw them; returns the files in the order of the thesis."""
    best = known(scores, "pmbaf", "i_slh", 5).config
    slow = "Figure 5.6: slow convergence (PMBAF, step 1, sample 1)"
    reactive = "Figure 5.7: reactive (PMBAF, step 10, sample 1)"
    drawings: dict[str, Callable[[Path], object]] = {
        "5.1-fixed-sizes": lambda path: grid.fixed_sizes(scores, path),
        "5.2-fixed-in-time": lambda path: runs.fixed_in_time(path, items),
        "5.3-by-step": lambda path: grid.by_step(scores, path),
        "5.4-cumulative": lambda path: runs.cumulative_hits(best, path, items),
        "5.5-by-sample": lambda path: grid.by_sample(scores, path),
        "5.6-slow-convergence": lambda path: runs.strategy(runs.SLOW, slow, path, items),
        "5.7-reactive": lambda path: runs.strategy(runs.REACTIVE, reactive, path, items),
        "5.8-best": lambda path: grid.best_of_all(scores, path),
        "5.9-pid-terms": lambda path: runs.terms_in_time(path, items),
    }
    return draw_files(drawings, folder, "figure", step)
