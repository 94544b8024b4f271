"""Latency timelines of single runs beside each other, on one scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.errors import PenstockError
from penstock.journal import read
from penstock.report import words
from penstock.report.batches import Batch, batches_of, thinned
from penstock.report.chart import FAINT, HIT, MISS, Chart, graph_objects, hover_text
from penstock.report.run.timeline import add_band, batch_text, ceiling, value_ticks
from penstock.slo import Slo, Verdict

_COLUMNS = 3
_MOST_DRAWN = 300
_LOOKS = {Verdict.MET: (HIT, "circle"), Verdict.MISSED: (MISS, "x")}

FirstRun = tuple[str, Slo, list[Batch]]


def load_first_runs(rows: Sequence[Mapping[str, Any]], folder: Path) -> list[FirstRun]:
    """The first run of each controller whose journal is there; a journal that cannot be read is passed over."""
    found: list[FirstRun] = []
    for row in rows:
        for each in row.get("folders") or []:
            journal = folder / str(each) / "journal.jsonl"
            if not journal.exists():
                continue
            try:
                recording = read(journal)
                slo = Slo.parse(str(recording.header.get("slo")))
            except (OSError, PenstockError):
                continue
            batches = [batch for batch in batches_of(recording, slo) if batch.verdict is not Verdict.UNKNOWN]
            if batches:
                found.append((str(row.get("controller")), slo, batches))
                break
    return found


def timelines_chart(runs: Sequence[FirstRun]) -> Chart:
    """One small panel a run, against seconds since its first batch."""
    graph_objects()
    from plotly.subplots import make_subplots

    lines = math.ceil(len(runs) / _COLUMNS)
    titles = [hover_text([f"{name}, I-SLH {words.percent(_i_slh(batches))}"]) for name, _, batches in runs]
    drawn = make_subplots(
        rows=lines,
        cols=_COLUMNS,
        specs=[[{} if line * _COLUMNS + at < len(runs) else None for at in range(_COLUMNS)] for line in range(lines)],
        shared_yaxes="all",
        subplot_titles=titles,
        horizontal_spacing=0.03,
        vertical_spacing=0.3 / lines,
    )
    top = max(ceiling(batches, slo) for _, slo, batches in runs)
    for at, (_, slo, batches) in enumerate(runs):
        _add_run(drawn, batches, slo, top, {"row": at // _COLUMNS + 1, "col": at % _COLUMNS + 1})
    drawn.update_layout(height=84 + 190 * lines, showlegend=False, margin={"l": 56, "r": 12, "t": 58, "b": 34})
    drawn.update_layout(template="none", hovermode="closest")
    drawn.update_annotations(font_size=12.5)
    drawn.update_yaxes(range=[0, top], nticks=5, **value_ticks(runs[0][1]))
    drawn.update_xaxes(nticks=5, rangemode="tozero")
    return Chart("small-multiples", drawn, "Latency of each batch over time, one panel a controller")


def _add_run(drawn: Any, batches: Sequence[Batch], slo: Slo, top: float, where: dict[str, int]) -> None:
    shown = thinned(batches, _MOST_DRAWN)
    heights = [min(batch.value or 0.0, 0.97 * top) for batch in shown]
    looks = [_LOOKS[batch.verdict] for batch in shown]
    drawn.add_scatter(
        x=[round(batch.at_s, 2) for batch in shown],
        y=[float(f"{height:.4g}") for height in heights],
        text=[batch_text(batch, slo) for batch in shown],
        hovertemplate="%{text}<extra></extra>",
        mode="lines+markers",
        line={"color": FAINT, "width": 0.6},
        marker={
            "size": 5,
            "color": [colour for colour, _ in looks],
            "symbol": [
                "triangle-up" if (batch.value or 0.0) > top else symbol
                for batch, (_, symbol) in zip(shown, looks, strict=True)
            ],
        },
        **where,
    )
    add_band(drawn, slo, top, **where)


def _i_slh(batches: Sequence[Batch]) -> float | None:
    items = sum(batch.sample.items for batch in batches)
    met = sum(batch.sample.items for batch in batches if batch.verdict is Verdict.MET)
    return 100 * met / items if items else None
