"""The timeline of a run: latency in its band, batch size and load on one time axis (thesis, figures 5.6 and 5.7)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from penstock.report import words
from penstock.report.batches import Batch
from penstock.report.chart import (
    BAND,
    FAINT,
    HIT,
    INK,
    LOAD,
    MISS,
    PAPER,
    Chart,
    ChartView,
    hover_text,
    stacked_panels,
)
from penstock.slo import Metric, Slo, Verdict

_LOOKS = (
    (Verdict.MET, "hit", HIT, "circle"),
    (Verdict.MISSED, "miss", MISS, "x"),
    (Verdict.UNKNOWN, "not counted", FAINT, "circle-open"),
)
_MOST_PARTS = 60
# From here on points are drawn small.
_MANY = 600
_IN_SECONDS_FROM_S = 0.5


def timeline_chart(batches: Sequence[Batch], drawn: Sequence[Batch], slo: Slo) -> Chart:
    """Of all batches those `drawn`, in two or three panels that zoom together."""
    with_load = any(batch.sample.load is not None for batch in drawn)
    figure = stacked_panels((3, 1.3, 1.1) if with_load else (3, 1.3), 640 if with_load else 520)
    top = ceiling(drawn, slo)
    end_s = max(batch.at_s + _lasted_s(batch) for batch in drawn)
    beyond = _add_latency(figure, drawn, slo, top)
    _add_steps(figure, 2, drawn, end_s, [batch.sample.size for batch in drawn], HIT, "size %{y:,.0f}")
    if with_load:
        loads = [batch.sample.load for batch in drawn]
        _add_steps(figure, 3, drawn, end_s, loads, LOAD, "load %{y:,.4~g}", fill="tozeroy")
        figure.update_yaxes(title_text="load", rangemode="tozero", tickformat="~s", row=3, col=1)
    _shade_parts(figure, batches, end_s)
    measure = "throughput" if slo.metric is Metric.THROUGHPUT else "latency"
    figure.update_yaxes(title_text=measure, range=[0, top], **value_ticks(slo), row=1, col=1)
    figure.update_yaxes(title_text="batch size", tickformat="~s", **_size_axis(drawn), row=2, col=1)
    figure.update_xaxes(showspikes=True, spikemode="across", spikesnap="data", range=[-0.01 * end_s, 1.005 * end_s])
    figure.update_xaxes(title_text="seconds since the first batch", row=3 if with_load else 2, col=1)
    figure.update_layout(hovermode="closest", legend={"y": 1.06, "x": 0, "yanchor": "bottom"}, dragmode="zoom")
    label = f"{measure} of each batch against {words.band(slo)}, batch size{' and load' if with_load else ''} over time"
    return Chart("timeline", figure, label, _views(drawn, beyond, top))


def ceiling(batches: Sequence[Batch], slo: Slo) -> float:
    """The top of the axis: high enough for almost all batches, low enough for the band to stay visible."""
    edge = slo.target * (1 + slo.tolerance)
    seen = max((batch.value or 0.0 for batch in batches if batch.verdict is not Verdict.UNKNOWN), default=edge)
    return min(max(1.12 * seen, 1.15 * edge), 2.6 * edge)


def value_ticks(slo: Slo) -> dict[str, str]:
    """How an axis of the objective's metric is labelled: around 1 s it reads 0.5 s, around 3 ms it reads 2 ms."""
    if slo.metric is Metric.THROUGHPUT:
        return {"tickformat": "~s", "ticksuffix": "/s"}
    return {"ticksuffix": " s"} if slo.target >= _IN_SECONDS_FROM_S else {"tickformat": "~s", "ticksuffix": "s"}


def add_band(figure: Any, slo: Slo, top: float, **where: Any) -> None:
    """The band and, in it, the target."""
    high = min(slo.high, top) if math.isfinite(slo.high) else top
    figure.add_hrect(y0=slo.low, y1=high, fillcolor=BAND, opacity=0.17, line_width=0, layer="below", **where)
    figure.add_hline(y=slo.target, line={"color": BAND, "width": 1.2}, layer="below", **where)


def batch_text(batch: Batch, slo: Slo) -> str:
    """All about a batch, for the box that opens over its point."""
    sample, verdict = batch.sample, {Verdict.MET: "hit", Verdict.MISSED: "miss", Verdict.UNKNOWN: "not counted"}
    status = "" if sample.usable else f" ({sample.status.value})"
    lines = [
        f"batch {sample.batch_id}: {words.measured(batch.value, slo)}, {verdict[batch.verdict]}{status}",
        f"size {words.count(sample.size)}"
        + ("" if sample.size == sample.items else f", {words.count(sample.items)} items"),
    ]
    if sample.load is not None or sample.part is not None:
        load = "" if sample.load is None else f"load {words.short(sample.load)}"
        lines.append(", ".join(filter(None, (load, sample.part))))
    if sample.wait_s is not None:
        lines.append(f"oldest item waited {words.duration(sample.wait_s)}")
    if batch.decision is not None:
        lines.append(f"decided: {batch.decision.decision.reason}")
    return hover_text(lines)


def _add_latency(figure: Any, drawn: Sequence[Batch], slo: Slo, top: float) -> list[int]:
    """Puts the points in; gives the places, among Plotly's traces, of those that show batches above the axis."""
    many = len(drawn) > _MANY
    line = {"color": FAINT, "width": 0.3 if many else 0.8}
    heights = [min(batch.value or 0.0, top) for batch in drawn]
    times_s = [round(batch.at_s, 3) for batch in drawn]
    figure.add_scatter(
        x=times_s,
        y=_short(heights),
        mode="lines",
        line=line,
        opacity=0.6,
        hoverinfo="skip",
        showlegend=False,
        row=1,
        col=1,
    )
    traces = [0]
    for verdict, name, colour, symbol in _LOOKS:
        for above in (False, True):
            seen = [each for each in drawn if each.verdict is verdict and ((each.value or 0.0) > top) is above]
            if not seen:
                continue
            if above:
                traces.append(len(figure.data))
            figure.add_scatter(
                x=[round(each.at_s, 3) for each in seen],
                y=_short([0.985 * top if above else each.value or 0.0 for each in seen]),
                text=[batch_text(each, slo) for each in seen],
                customdata=[each.place for each in seen],
                hovertemplate="%{text}<extra></extra>",
                mode="markers",
                name=f"{name}, above the axis" if above else name,
                marker={
                    "color": colour,
                    "symbol": "triangle-up" if above else symbol,
                    "size": 8 if above else 4.5 if many else 9 if symbol == "x" else 8,
                    "line": {"width": 0.7 if not many else 0, "color": colour if symbol.endswith("open") else PAPER},
                },
                row=1,
                col=1,
            )
    # After the points: plotly draws no band in a panel that is still empty.
    add_band(figure, slo, top, row=1, col=1)
    return traces if len(traces) > 1 else []


def _views(drawn: Sequence[Batch], beyond: Sequence[int], top: float) -> tuple[ChartView, ...]:
    if not beyond:
        return ()
    whole = [batch.value or 0.0 for batch in drawn]
    above = {
        verdict: [batch.value or 0.0 for batch in drawn if batch.verdict is verdict and (batch.value or 0.0) > top]
        for verdict, *_ in _LOOKS
    }
    groups = [values for values in above.values() if values]
    near = [[min(value, top) for value in whole], *([0.985 * top] * len(values) for values in groups)]
    return (
        ChartView("Around the objective", {"y": [_short(each) for each in near]}, {"yaxis.range": [0, top]}, beyond),
        ChartView(
            "Every batch in full height",
            {"y": [_short(each) for each in (whole, *groups)]},
            {"yaxis.range": [0, 1.06 * max(whole)]},
            beyond,
        ),
    )


def _add_steps(
    figure: Any,
    row: int,
    drawn: Sequence[Batch],
    end_s: float,
    values: Sequence[Any],
    colour: str,
    says: str,
    **more: Any,
) -> None:
    figure.add_scatter(
        x=[*(round(batch.at_s, 3) for batch in drawn), round(end_s, 3)],
        y=[*_short(values), *_short(values[-1:])],
        customdata=[*(batch.place for batch in drawn), drawn[-1].place],
        text=[*(f"batch {batch.sample.batch_id}" for batch in drawn), f"batch {drawn[-1].sample.batch_id}"],
        mode="lines",
        line={"color": colour, "width": 1.3, "shape": "hv"},
        hovertemplate=f"%{{text}}<br>{says}<extra></extra>",
        showlegend=False,
        row=row,
        col=1,
        **more,
    )


def _shade_parts(figure: Any, batches: Sequence[Batch], end_s: float) -> None:
    """Every other part is shaded through all panels, and each is named above them where there is room."""
    edges = [*(batch.at_s for batch in batches), end_s]
    groups, first = [], 0
    for part, group in groupby(batch.sample.part for batch in batches):
        last = first + len(list(group))
        groups.append((part, edges[first], max(edges[first], min(edges[last], end_s))))
        first = last
    if len(groups) > _MOST_PARTS:
        return
    for number, (part, start_s, stop_s) in enumerate(groups):
        if part is None:
            continue
        if number % 2 == 0:
            look = {"fillcolor": INK, "opacity": 0.05, "line": {"width": 0}, "layer": "below"}
            figure.add_shape(type="rect", xref="x", yref="paper", x0=start_s, x1=stop_s, y0=0, y1=1, **look)
        if (stop_s - start_s) * 120 >= end_s * len(part):
            where = {"x": (start_s + stop_s) / 2, "y": 1, "xref": "x", "yref": "paper", "yanchor": "bottom"}
            figure.add_annotation(text=hover_text([part]), showarrow=False, font={"size": 12}, **where)


def _size_axis(drawn: Sequence[Batch]) -> dict[str, Any]:
    # The last batch takes what is left, however little; it does not set the scale.
    sizes = [batch.sample.size for batch in drawn[:-1] or drawn]
    if max(sizes) > 10 * min(sizes):
        low, high = math.log10(0.7 * min(sizes)), math.log10(1.5 * max(sizes))
        return {"type": "log", "range": [low, high], "dtick": 1}
    return {"range": [0, 1.2 * max(sizes)]}


def _lasted_s(batch: Batch) -> float:
    return batch.sample.processing_s if math.isfinite(batch.sample.processing_s) else 0.0


def _short(values: Sequence[Any]) -> list[float | None]:
    # Five digits are more than a screen shows, and a third of the file.
    return [None if value is None or not math.isfinite(value) else float(f"{value:.5g}") for value in values]
