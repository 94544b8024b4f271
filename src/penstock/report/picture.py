"""A run as a picture, from its journal and nothing else: latency in its band, batch size, load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import BadInputError, MissingExtraError
from penstock.journal import Recording
from penstock.report import words
from penstock.report.batches import batches_of
from penstock.score import Met, SloMetrics
from penstock.slo import Metric, Slo, Verdict
from penstock.units import format_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES = (".png", ".svg", ".pdf")
# Okabe and Ito's colours: told apart with any kind of colour blindness, and hits and misses differ in shape too.
_HIT, _MISS, _BAND, _SIZE, _LOAD = "#0072B2", "#D55E00", "#009E73", "#0072B2", "#CC79A7"
FAINT, TEXT = "#8a8a8a", "#333333"
DPI = 200
STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": TEXT,
    "xtick.color": TEXT,
    "ytick.color": TEXT,
    "text.color": TEXT,
}


@dataclass(frozen=True)
class Curve:
    """What is drawn of a run: one value a batch in each list, and how many batches met the objective."""

    controller: str
    at_s: list[float]
    end_s: float
    values: list[float]
    verdicts: list[Verdict]
    sizes: list[float]
    items: list[int]
    loads: list[float]
    parts: list[str | None]
    met: Met


def curve_of(recording: Recording, slo: Slo) -> Curve:
    """The batches that had something in them and were measured, against seconds since the first one."""
    seen = [batch for batch in batches_of(recording, slo) if batch.drawable]
    if not seen:
        reason = "no batch in it has a measure of the objective"
        raise BadInputError("journal", recording.header.get("query_id"), reason, "let the run last longer")
    samples = [batch.sample for batch in seen]
    at_s = [batch.at_s - seen[0].at_s for batch in seen]
    return Curve(
        controller=str(recording.header.get("controller", "run")),
        at_s=at_s,
        end_s=at_s[-1] + samples[-1].processing_s,
        values=[batch.value for batch in seen if batch.value is not None],
        verdicts=[batch.verdict for batch in seen],
        sizes=[sample.size for sample in samples],
        items=[sample.items for sample in samples],
        loads=[sample.load or 0.0 for sample in samples],
        parts=[sample.part for sample in samples],
        met=Met.of(samples, slo),
    )


def check_named(path: Path) -> None:
    """Refuse a picture that a user named and that could not be drawn.

    A folder below the present one is made for it. Elsewhere one that is not there is more likely a slip.
    """
    if path.is_absolute() and not path.parent.is_dir():
        reason = f"there is no folder {path.parent}"
        raise BadInputError("png", str(path), reason, "make it, or give a file in a folder that is there")
    check(path)


def check(path: Path) -> None:
    """Refuse a picture that could not be drawn, before a run is spent on it."""
    pyplot()
    if path.suffix.lower() not in SUFFIXES:
        raise BadInputError("png", str(path), "not a kind of picture", f"end the name in one of {', '.join(SUFFIXES)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab"):
            pass
    except OSError as error:
        reason = f"cannot be written ({error.strerror})"
        raise BadInputError("png", str(path), reason, "give a file in a folder you own") from error
    if path.stat().st_size == 0:
        path.unlink()


def draw(recording: Recording, slo: Slo, path: str | Path) -> None:
    """One run: its latency against the band, its batch sizes, its load with the parts named."""
    draw_pair([recording], slo, path)


def draw_pair(recordings: Sequence[Recording], slo: Slo, path: str | Path) -> None:
    """Runs beside each other on the same axes, each under its controller and its hits."""
    plt = pyplot()
    curves = [curve_of(recording, slo) for recording in recordings]
    with plt.rc_context(STYLE):
        figure, grid = plt.subplots(
            3,
            len(curves),
            figsize=(9, 5.6),
            sharex=True,
            sharey="row",
            squeeze=False,
            height_ratios=(3, 1.4, 1.2),
            layout="constrained",
        )
        for number, curve in enumerate(curves):
            latency, size, load = grid[:, number]
            _draw_latency(latency, curve, slo, ceiling=_ceiling(curves, slo))
            edges = [*curve.at_s, curve.end_s]
            size.step(edges, [*curve.sizes, curve.sizes[-1]], where="post", color=_SIZE, linewidth=1.1)
            load.fill_between(edges, [*curve.loads, 0.0], step="post", color=_LOAD, alpha=0.45, linewidth=0)
            _shade_parts((latency, size, load), curve, roomy=len(curves) == 1)
            latency.set_title(f"{curve.controller}   {slo}", loc="left", fontsize=10, fontweight="bold", pad=19)
            latency.text(0, 1.02, _hits(curve, slo), transform=latency.transAxes)
            load.set_xlabel("seconds since the first batch")
        _dress_axes(grid, curves, slo)
        named = {
            label: handle for axes in grid[0] for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=4, fontsize=8, frameon=False)
        figure.savefig(path, dpi=DPI)
        plt.close(figure)


def _draw_latency(axes: Axes, curve: Curve, slo: Slo, ceiling: float) -> None:
    axes.axhspan(slo.low, min(slo.high, ceiling), color=_BAND, alpha=0.22, linewidth=0, label=f"objective {slo}")
    axes.axhline(slo.target, color=_BAND, linewidth=0.9)
    axes.plot(curve.at_s, [min(value, ceiling) for value in curve.values], color=FAINT, linewidth=0.6, zorder=1.5)
    for verdict, label, marker, colour in (
        (Verdict.MET, "hit", "o", _HIT),
        (Verdict.MISSED, "miss", "X", _MISS),
        (Verdict.UNKNOWN, "not counted", "o", "none"),
    ):
        seen = [n for n, each in enumerate(curve.verdicts) if each is verdict]
        edge = FAINT if verdict is Verdict.UNKNOWN else "white"
        look: dict[str, Any] = {"color": colour, "edgecolors": edge, "zorder": 3}
        for inside, shape in ((True, marker), (False, "^")):
            picked = [n for n in seen if (curve.values[n] <= ceiling) is inside]
            heights = [min(curve.values[n], 0.985 * ceiling) for n in picked]
            name: dict[str, Any] = {"label": label} if inside and seen else {}
            axes.scatter([curve.at_s[n] for n in picked], heights, s=24, marker=shape, linewidths=0.5, **look, **name)
    worst = max(range(len(curve.values)), key=curve.values.__getitem__)
    if curve.values[worst] > ceiling:
        text = slo.format_value(float(f"{curve.values[worst]:.2g}"))
        place = (curve.at_s[worst] + 0.012 * curve.end_s, 0.985 * ceiling)
        axes.text(*place, text, fontsize=8, va="center", bbox={"color": "white", "alpha": 0.8, "pad": 0.5})


def _shade_parts(panels: Sequence[Axes], curve: Curve, roomy: bool) -> None:
    edges = [*curve.at_s, curve.end_s]
    first = 0
    for number, (part, group) in enumerate(groupby(curve.parts)):
        start_s, stop_s = edges[first], edges[first + len(names := list(group))]
        first += len(names)
        if part is None:
            continue
        if number % 2 == 0:
            for axes in panels:
                axes.axvspan(start_s, stop_s, color="black", alpha=0.045, linewidth=0, zorder=0)
        # Where there is little room, neighbours stand at two heights.
        height = 0.96 if roomy or number % 2 == 0 else 0.82
        where = panels[2].get_xaxis_transform()
        middle_s = (start_s + stop_s) / 2
        panels[2].text(middle_s, height, part, fontsize=8 if roomy else 7, ha="center", va="top", transform=where)


def _dress_axes(grid: Any, curves: Sequence[Curve], slo: Slo) -> None:
    latency, size, load = grid[:, 0]
    latency.set_ylabel("throughput of a batch" if slo.metric is Metric.THROUGHPUT else "latency of a batch")
    latency.set_ylim(0, _ceiling(curves, slo))
    latency.yaxis.set_major_formatter(lambda value, _: _tick(value, slo))
    # The last batch takes what is left, however little; it does not set the scale.
    sizes = [each for curve in curves for each in curve.sizes[:-1] or curve.sizes if each > 0]
    size.set_ylabel("batch size")
    if sizes and max(sizes) > 10 * min(sizes):
        size.set_yscale("log")
        size.set_ylim(0.7 * min(sizes), 1.5 * max(sizes))
        size.minorticks_off()
    else:
        size.set_ylim(0, 1.2 * max(sizes, default=1.0))
    size.yaxis.set_major_formatter(lambda value, _: format_count(value))
    loads = [each for curve in curves for each in curve.loads]
    load.set_ylabel("load")
    # The upper third is for the names of the parts.
    load.set_ylim(0, 1.5 * max(loads, default=1.0) or 1.0)
    load.yaxis.set_major_formatter(lambda value, _: format_count(value))
    load.set_xlim(-0.01 * (longest_s := max(curve.end_s for curve in curves)), longest_s)
    load.figure.align_ylabels(grid[:, 0])
    for axes in grid.flat:
        axes.grid(axis="y", color=FAINT, alpha=0.18, linewidth=0.6)


def _tick(value: float, slo: Slo) -> str:
    # An axis around 1 s reads 0.5 s below it, not 500 ms.
    in_seconds = slo.metric is not Metric.THROUGHPUT and slo.target >= 0.5
    return f"{value:g} s" if in_seconds else slo.format_value(round(value, 9))


def _ceiling(curves: Sequence[Curve], slo: Slo) -> float:
    """The top of the axis: high enough for almost all batches, low enough for the band to stay visible."""
    edge = slo.target * (1 + slo.tolerance)
    pairs = [pair for curve in curves for pair in zip(curve.values, curve.verdicts, strict=True)]
    seen = max((value for value, verdict in pairs if verdict is not Verdict.UNKNOWN), default=edge)
    return min(max(1.12 * seen, 1.15 * edge), 2.6 * edge)


def _hits(curve: Curve, slo: Slo) -> str:
    counted = [number for number, verdict in enumerate(curve.verdicts) if verdict is not Verdict.UNKNOWN]
    metrics = SloMetrics.of([curve.values[n] for n in counted], [curve.items[n] for n in counted], slo)
    if metrics.b_slh is None or metrics.i_slh is None:
        return "no batch was counted"
    met = f"{curve.met.batches} of {words.number_of(curve.met.counted, 'batch', 'batches')} met"
    return f"{met}   B-SLH {metrics.b_slh:.1f}%   I-SLH {metrics.i_slh:.1f}%"


def pyplot() -> Any:
    """Matplotlib's pyplot, drawing into files."""
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise MissingExtraError("matplotlib", "report") from error
    # No window is ever opened, so this works where there is no screen.
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot
