"""The other charts of a run: hits over the items, hits in each pattern, the spread of latency, where the time goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.report import words
from penstock.report.batches import Batch, every
from penstock.report.chart import BAND, BATCHES, HIT, ITEMS, MISS, Chart, figure, hover_text
from penstock.score import cumulative
from penstock.slo import Kind, Metric, Slo, Verdict

_MOST_POINTS = 3000
_FINE_FROM = 200
_LEGEND = {"y": 1.02, "x": 0, "yanchor": "bottom", "traceorder": "normal"}


def cumulative_chart(counted: Sequence[Batch], slo: Slo) -> Chart:
    """B-SLH and I-SLH over all batches so far, against the items so far (thesis, figure 5.4)."""
    series = cumulative([batch.value or 0.0 for batch in counted], [batch.sample.items for batch in counted], slo)
    drawn = figure(320, hovermode="x unified", legend=_LEGEND)
    places = every(range(len(counted)), _MOST_POINTS)
    for name, values, colour, dash in (
        ("I-SLH", series.i_slh, ITEMS, "solid"),
        ("B-SLH", series.b_slh, BATCHES, "dash"),
    ):
        drawn.add_scatter(
            x=[float(series.items[at]) for at in places],
            y=[round(float(values[at]), 2) for at in places],
            name=name,
            mode="lines" if len(places) > 1 else "markers",
            line={"color": colour, "width": 2, "dash": dash},
            hovertemplate="%{y:.1f}%",
        )
    drawn.update_yaxes(title_text="hits so far, %", range=[0, 102])
    drawn.update_xaxes(title_text="items so far", rangemode="tozero", hoverformat=",.0f")
    return Chart("cumulative", drawn, "I-SLH and B-SLH over all batches so far, against the items so far")


def patterns_chart(patterns: Mapping[str, Mapping[str, Any]]) -> Chart:
    """I-SLH and B-SLH in each part of the load (thesis, figure 5.5)."""
    drawn = figure(320, barmode="group", bargap=0.3, legend=_LEGEND)
    parts = list(patterns)
    for name, key, colour, shape in (("I-SLH", "i_slh", ITEMS, ""), ("B-SLH", "b_slh", BATCHES, "/")):
        values = [words.known(patterns[part].get(key)) for part in parts]
        drawn.add_bar(
            x=[hover_text([part]) for part in parts],
            y=values,
            name=name,
            text=["" if value is None else f"{value:.0f}" for value in values],
            textposition="outside",
            cliponaxis=False,
            marker={"color": colour, "pattern": {"shape": shape, "fillmode": "overlay", "solidity": 0.25}},
            customdata=[[patterns[part].get("batches", 0), patterns[part].get("items", 0)] for part in parts],
            hovertemplate=f"%{{x}}<br>{name} %{{y:.1f}}%<br>%{{customdata[0]:,}} batches, %{{customdata[1]:,}} items"
            "<extra></extra>",
        )
    drawn.update_yaxes(title_text="hits, %", range=[0, 108], tickvals=[0, 20, 40, 60, 80, 100])
    drawn.update_xaxes(type="category")
    return Chart("patterns-chart", drawn, "I-SLH and B-SLH in each part of the load")


def spread_chart(counted: Sequence[Batch], slo: Slo) -> Chart:
    """How the items spread around the target; the outermost bars hold all that is farther away."""
    offs = np.asarray([100 * ((batch.value or 0.0) / slo.target - 1) for batch in counted])
    items = np.asarray([batch.sample.items for batch in counted], dtype=np.float64)
    met = np.asarray([batch.verdict is Verdict.MET for batch in counted])
    width = 100 * slo.tolerance / (4 if len(counted) >= _FINE_FROM else 2)
    reach = 100 * slo.tolerance
    # Counted from the target outwards, so that the edges of the band are edges of bars.
    below = min(np.ceil(100 / width), 12 * reach / width)
    above = min(max(np.ceil(offs.max(initial=0.0) / width), 4 * reach / width), 16 * reach / width) + 1
    edges = width * np.arange(-round(below), round(above) + 1)
    # A hair towards the target: a value on an edge of the band is in the band, so its bar is too.
    place = np.clip(np.searchsorted(edges, offs - np.sign(offs) * 1e-9, side="right") - 1, 0, len(edges) - 2)
    drawn = figure(320, barmode="stack", bargap=0.06, legend=_LEGEND)
    total = max(float(items.sum()), 1.0)
    middles = (edges[:-1] + edges[1:]) / 2
    for name, wanted, colour, shape in (("hit", True, HIT, ""), ("miss", False, MISS, "/")):
        held = np.bincount(place[met == wanted], weights=items[met == wanted], minlength=len(middles))
        drawn.add_bar(
            x=middles.round(4).tolist(),
            y=(100 * held / total).round(4).tolist(),
            width=width,
            name=name,
            marker={"color": colour, "pattern": {"shape": shape, "fillmode": "overlay", "solidity": 0.25}},
            customdata=[[_range_text(edges, at), count] for at, count in enumerate(held.tolist())],
            hovertemplate=f"%{{customdata[0]}}<br>{name}: %{{y:.1f}}% of the items (%{{customdata[1]:,.0f}})"
            "<extra></extra>",
        )
    low = -reach if slo.kind is Kind.HOLD else (0.0 if slo.kind is Kind.AT_LEAST else float(edges[0]))
    high = reach if slo.kind is Kind.HOLD else (0.0 if slo.kind is Kind.AT_MOST else float(edges[-1]))
    drawn.add_vrect(x0=low, x1=high, fillcolor=BAND, opacity=0.17, line_width=0, layer="below")
    drawn.add_vline(x=0, line={"color": BAND, "width": 1.2})
    what = "throughput" if slo.metric is Metric.THROUGHPUT else "latency"
    drawn.update_xaxes(
        title_text=f"{what} against the target, %", ticksuffix="%", range=[float(edges[0]), float(edges[-1])]
    )
    drawn.update_yaxes(title_text="items, %", rangemode="tozero")
    return Chart("spread-chart", drawn, f"Share of the items by the distance of their batch's {what} from the target")


def phases_chart(durations_s: Mapping[str, float], control_s: float | None) -> Chart:
    """The mean batch as one bar of its phases and, on the same scale, our own work."""
    drawn = figure(190, barmode="stack", bargap=0.35, legend=_LEGEND)
    rows = ["a batch", "Penstock"] if control_s is not None else ["a batch"]
    colours = [f"var(--phase-{number})" for number in range(5)]
    for number, (phase, seconds) in enumerate(durations_s.items()):
        drawn.add_bar(
            y=["a batch"],
            x=[seconds],
            orientation="h",
            name=hover_text([phase]),
            marker={"color": colours[number % len(colours)]},
            hovertemplate=f"{hover_text([phase])}: {words.duration(seconds)}<extra></extra>",
        )
    if control_s is not None:
        drawn.add_bar(
            y=["Penstock"],
            x=[control_s],
            orientation="h",
            name="Penstock itself",
            marker={"color": "var(--phase-5)"},
            hovertemplate=f"Penstock itself: {words.duration(control_s)}<extra></extra>",
        )
    drawn.update_yaxes(categoryorder="array", categoryarray=rows[::-1], showgrid=False)
    drawn.update_xaxes(title_text="mean seconds a batch", rangemode="tozero")
    return Chart("phases-chart", drawn, "Mean time of a batch by phase, and Penstock's own time")


def _range_text(edges: Any, at: int) -> str:
    low, high = float(edges[at]), float(edges[at + 1])
    if at == len(edges) - 2:
        return f"{low:+.4g}% and more"
    if at == 0 and low > -100:
        return f"{high:+.4g}% and less"
    return f"{low:+.4g}% to {high:+.4g}%"
