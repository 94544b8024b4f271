"""The charts of a comparison: means with their intervals, and the patterns of the load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.report.chart import FAINT, HIT, INK, LOAD, PAPER, Chart, ChartView, figure, hover_text
from penstock.report.comparison.measures import MEASURES, Measure, bounds_of, mean_of, ordered, values_of

Row = Mapping[str, Any]
# Colour and shape both tell: filled is the best, open cannot be told from it, grey is below, a diamond is an oracle.
_LOOKS = {
    "best": (HIT, "circle"),
    "cannot tell": (HIT, "circle-open"),
    "below": (FAINT, "circle"),
    "oracle": (LOAD, "diamond"),
}
_ROW_PX = 30
_GAP = 0.7


def interval_chart(rows: Sequence[Row], metric: str) -> Chart:
    """A dot and a bar for each controller; each measure is a view, the one that ranks first."""
    order = [metric, *(name for name in MEASURES if name != metric)] if metric in MEASURES else list(MEASURES)
    shown = [name for name in order if any(mean_of(row.get(name)) is not None for row in rows)]
    drawn = figure(130 + _ROW_PX * len(rows), hovermode="closest", legend={"y": 1.02, "x": 0, "yanchor": "bottom"})
    spans: list[range] = []
    layouts: list[dict[str, Any]] = []
    for name in shown:
        first = len(drawn.data)
        layouts.append(_add_measure(drawn, rows, name, visible=name == shown[0]))
        spans.append(range(first, len(drawn.data)))
    drawn.update_layout({name.replace(".", "_"): value for name, value in layouts[0].items()})
    drawn.update_yaxes(range=[-len(rows) - _GAP, 1])
    views = tuple(
        ChartView(MEASURES[name].label, {"visible": [at in span for at in range(len(drawn.data))]}, layout)
        for name, span, layout in zip(shown, spans, layouts, strict=True)
    )
    return Chart("intervals", drawn, "Mean and interval of each controller, the best on top", views)


def patterns_chart(rows: Sequence[Row]) -> Chart:
    """Controllers against the parts of the load, the number in each field."""
    parts = list(dict.fromkeys(part for row in rows for part in row.get("patterns") or {}))
    seen = [row for row in rows if row.get("patterns")]
    names = [str(row.get("controller")) for row in seen]
    drawn = figure(110 + _ROW_PX * len(seen), margin={"l": 64, "r": 16, "t": 62, "b": 12})
    shown = [
        name
        for name in ("i_slh", "b_slh", "mad_d")
        if any(mean_of((row["patterns"].get(part) or {}).get(name)) is not None for row in seen for part in parts)
    ]
    for name in shown:
        measure = MEASURES[name]
        blocks = [[(row["patterns"].get(part) or {}).get(name) for part in parts] for row in seen]
        drawn.add_heatmap(
            x=[hover_text([part]) for part in parts],
            y=list(range(len(seen))),
            z=[[mean_of(block) for block in line] for line in blocks],
            text=[[measure.text(mean_of(block)) for block in line] for line in blocks],
            customdata=[
                [hover_text([f"{who}: {measure.label} {measure.with_interval(block)}"]) for block in line]
                for who, line in zip(names, blocks, strict=True)
            ],
            texttemplate="%{text}",
            hovertemplate="%{customdata}<br>%{x}<extra></extra>",
            colorscale=[[0, "var(--heat-0)"], [1, "var(--heat-1)"]],
            textfont={"color": INK},
            reversescale=not measure.higher_is_better,
            # A distance has no upper end, so one bad field would pale all others.
            zmin=0,
            zmax=100,
            showscale=False,
            xgap=2,
            ygap=2,
            visible=name == shown[0],
            hoverongaps=False,
        )
    drawn.update_yaxes(autorange="reversed", tickvals=list(range(len(seen))), ticktext=[hover_text([n]) for n in names])
    drawn.update_yaxes(showgrid=False)
    drawn.update_xaxes(type="category", side="top", showgrid=False)
    views = tuple(ChartView(MEASURES[name].label, {"visible": [each == name for each in shown]}) for name in shown)
    return Chart("patterns-chart", drawn, "Mean of each controller in each part of the load", views)


def _add_measure(drawn: Any, rows: Sequence[Row], name: str, visible: bool) -> dict[str, Any]:
    """What Plotly draws of one measure; gives the layout that goes with it."""
    measure = MEASURES[name]
    lines = ordered(rows, name)
    heights = [-float(at) - (_GAP if row.get("limit") else 0.0) for at, row in enumerate(lines)]
    singles = [
        (value, height) for row, height in zip(lines, heights, strict=True) for value in values_of(row.get(name))
    ]
    drawn.add_scatter(
        x=[value for value, _ in singles],
        y=[height for _, height in singles],
        mode="markers",
        marker={"symbol": "line-ns", "size": 9, "line": {"width": 1.2, "color": FAINT}},
        hoverinfo="skip",
        name="single runs",
        visible=visible,
    )
    for word, (colour, symbol) in _LOOKS.items():
        seen = [
            (row, height)
            for row, height in zip(lines, heights, strict=True)
            if row.get("against_best") == word and mean_of(row.get(name)) is not None
        ]
        if seen:
            _add_dots(drawn, seen, name, word, {"color": colour, "symbol": symbol}, visible)
    ends = [value for value, _ in singles]
    ends += [end for row in rows for end in (*bounds_of(row.get(name)), mean_of(row.get(name))) if end is not None]
    low, high = min(ends), max(ends)
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return {
        "xaxis.title.text": f"{measure.axis} ({'more' if measure.higher_is_better else 'less'} is better)",
        "xaxis.range": [low - room, high + room],
        "xaxis.tickformat": measure.ticks[0],
        "xaxis.ticksuffix": measure.ticks[1],
        "yaxis.tickvals": heights,
        "yaxis.ticktext": [hover_text([row.get("controller")]) for row in lines],
    }


def _add_dots(
    drawn: Any, seen: Sequence[tuple[Row, float]], name: str, word: str, look: dict[str, Any], visible: bool
) -> None:
    measure: Measure = MEASURES[name]
    means, above, below = [], [], []
    for row, _ in seen:
        mean = mean_of(row.get(name)) or 0.0
        low, high = bounds_of(row.get(name))
        means.append(mean)
        below.append(0.0 if low is None else max(mean - low, 0.0))
        above.append(0.0 if high is None else max(high - mean, 0.0))
    drawn.add_scatter(
        x=means,
        y=[height for _, height in seen],
        error_x={"type": "data", "symmetric": False, "array": above, "arrayminus": below, "thickness": 2, "width": 0}
        | {"color": look["color"]},
        mode="markers",
        marker={
            **look,
            "size": 12,
            "line": {"width": 2, "color": look["color"] if "open" in look["symbol"] else PAPER},
        },
        text=[
            hover_text(
                [f"{row.get('controller')}: {measure.with_interval(row.get(name))}", f"{row.get('runs')} runs, {word}"]
            )
            for row, _ in seen
        ],
        hovertemplate="%{text}<extra></extra>",
        name=word,
        visible=visible,
    )
