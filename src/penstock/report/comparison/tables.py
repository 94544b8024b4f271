"""The tables of a comparison: all numbers with their intervals, other tolerances, single runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from penstock.report import words
from penstock.report.comparison.measures import MEASURES, bounds_of, mean_of
from penstock.report.parts import Cell, Table

Row = Mapping[str, Any]


def metrics_table(rows: Sequence[Row]) -> Table:
    """One line a controller, oracles below a rule."""
    head = ["controller", "verdict", "runs", *(measure.label for measure in MEASURES.values()), "batches"]
    lines = [
        [
            words.plain(row.get("controller")),
            Cell(words.plain(row.get("against_best")), look="state"),
            words.count(row.get("runs")),
            *(_cell(row.get(name), measure.text) for name, measure in MEASURES.items()),
            words.count(mean_of(row.get("batches"))),
        ]
        for row in rows
    ]
    return Table(head, lines, label="All numbers", words=(0, 1), row_attributes=_apart(rows))


def tolerances_table(rows: Sequence[Row]) -> Table:
    """I-SLH and B-SLH of the same runs at each tolerance."""
    seen = [row for row in rows if row.get("at")]
    levels = list(dict.fromkeys(level for row in seen for level in row["at"]))
    lines = []
    for row in seen:
        blocks = [row["at"].get(level) or {} for level in levels]
        cells = [_both(block) for block in blocks]
        lines.append([words.plain(row.get("controller")), *cells])
    head = ["controller", *(f"± {level}" for level in levels)]
    return Table(head, lines, label="Hits at other tolerances", row_attributes=_apart(seen))


def single_runs_table(rows: Sequence[Row], folder: Path) -> Table | None:
    """Links to the reports of single runs, where there are any beside the comparison."""
    lines = []
    for row in rows:
        links = [
            Cell(str(each), link=quote(f"{each}/report.html"))
            for each in row.get("folders") or []
            if (folder / str(each) / "report.html").exists()
        ]
        if links:
            lines.append([words.plain(row.get("controller")), links])
    return Table(["controller", "reports"], lines, label="Reports of single runs", words=(0, 1)) if lines else None


def _cell(block: object, text: Any) -> Cell:
    low, high = bounds_of(block)
    return Cell(text(mean_of(block)), below="" if low is None or high is None else f"{text(low)} – {text(high)}")


def _both(block: Mapping[str, Any]) -> str:
    i_slh, b_slh = mean_of(block.get("i_slh")), mean_of(block.get("b_slh"))
    return words.percent(i_slh) if b_slh is None else f"{words.percent(i_slh)} ({words.percent(b_slh)})"


def _apart(rows: Sequence[Row]) -> list[dict[str, object]]:
    first = next((at for at, row in enumerate(rows) if row.get("limit")), None)
    return [{"class": "apart"} if at == first and at else {} for at in range(len(rows))]
