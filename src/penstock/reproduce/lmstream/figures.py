"""Figures 6 to 9 of the paper with our runs, as PNG files of one folder."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.apps.lmstream.queries import QUERIES
from penstock.reproduce.drawing import FAINT, TARGET, TEXT, TITLE, Step, draw_files, finish, pyplot
from penstock.reproduce.lmstream.paper_runs import BASELINE, LMSTREAM, OURS, RANDOM, TUNED, tumbles
from penstock.reproduce.lmstream.scores import Measured, Scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, as in the pictures of runs.
COLOURS = {BASELINE: "#8a8a8a", LMSTREAM: "#0072B2", OURS: "#D55E00", TUNED: "#56B4E9"}
_MARKERS = {BASELINE: "s", LMSTREAM: "o"}
_ROOM = 0.8
_HIGHEST = 2.5
_FOOT = 0.08


def draw_all(scores: Scores, folder: Path, step: Step = lambda name: None) -> list[Path]:
    """Draw those that there are runs for; returns the files."""
    drawings: dict[str, Callable[[Path], object]] = {
        "6-latency": partial(_latency, scores),
        "7-throughput": partial(_throughput, scores),
    }
    for number, query in ((8, "lr1s"), (9, "lr1t")):
        if len(scores.variants(query, RANDOM)) > 1:
            drawings[f"{number}-{query}"] = partial(_in_time, scores, query, number)
    return draw_files(drawings, folder, "lmstream", step)


def _latency(scores: Scores, path: Path) -> None:
    figure, axes = pyplot().subplots(figsize=(9, 4), layout="constrained")
    runs = _bars(axes, scores, lambda run: run.mean_s)
    bounds_s = [scores.plan.bound_s(query) for query in scores.plan.queries]
    # Room for the bounds; and a run that is far out would leave nothing to see of the others.
    longest_s = max(*(run.max_s for _, run in runs), *bounds_s)
    top_s = min(1.08 * longest_s, _HIGHEST * max(bounds_s))
    for place, run in runs:
        axes.plot([place] * 2, [run.mean_s, run.max_s], color=TEXT, linewidth=0.9, marker="_", markevery=[1])
        if run.mean_s > _FOOT * top_s:
            label = f"{run.mean_s:.1f}"
            axes.text(place, 0.015 * top_s, label, fontsize=7, ha="center", va="bottom", color="white", zorder=3)
    axes.plot([], [], color=TEXT, linewidth=0.9, label="up to the longest")
    for at, bound_s in enumerate(bounds_s):
        named = {"label": "bound: slide, or the trigger"} if at == 0 else {}
        ends = (at - _ROOM / 2, at + _ROOM / 2)
        axes.plot(ends, [bound_s] * 2, color=TARGET, linewidth=1.2, linestyle="--", **named)
    axes.set_ylim(0, top_s)
    axes.set_ylabel("end-to-end latency of datasets, s")
    axes.set_title("Figure 6: mean latency of all datasets, and the longest", **TITLE)
    _dress(figure, axes, scores, path)


def _throughput(scores: Scores, path: Path) -> None:
    figure, axes = pyplot().subplots(figsize=(9, 4), layout="constrained")
    _bars(axes, scores, lambda run: run.bytes_per_s / 1e3)
    for bars in axes.containers:
        axes.bar_label(bars, fmt="{:.0f}", fontsize=7, padding=2)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("KB a second of processing")
    axes.set_title("Figure 7: throughput, all bytes over the time of processing", **TITLE)
    _dress(figure, axes, scores, path)


def _in_time(scores: Scores, query: str, number: int, path: Path) -> None:
    figure, (latency, size) = pyplot().subplots(2, 1, figsize=(9, 5), sharex=True, layout="constrained")
    for variant in scores.variants(query, RANDOM):
        run = scores.known(query, variant, RANDOM)
        look: dict[str, Any] = {
            "color": COLOURS[variant],
            "marker": _MARKERS[variant],
            "markersize": 4,
            "linewidth": 1.1,
            "label": variant,
        }
        latency.plot(run.timeline.at_s, run.timeline.latency_s, **look)
        size.plot(run.timeline.at_s, [rows * run.row_bytes / 1e3 for rows in run.timeline.rows], **look)
    bound_s, kind = scores.plan.bound_s(query), "trigger" if tumbles(QUERIES[query]) else "slide"
    latency.axhline(bound_s, color=TARGET, linewidth=1.2, linestyle="--", label=f"{kind} {bound_s:g} s")
    for axes, name in ((latency, "maximum latency of a batch, s"), (size, "data of a batch, KB")):
        axes.set_ylabel(name)
        axes.set_ylim(bottom=0)
    size.set_xlabel("seconds since the first batch with data")
    latency.set_title(f"Figure {number}: {query.upper()} under random traffic", **TITLE)
    figure.legend(*latency.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    finish(figure, path)


def _bars(axes: Axes, scores: Scores, value: Callable[[Measured], float]) -> list[tuple[float, Measured]]:
    """A group of bars for each query; returns the runs and where they stand."""
    drawn = []
    for number, variant in enumerate(scores.plan.variants):
        found = [(at, scores.get(query, variant)) for at, query in enumerate(scores.plan.queries)]
        runs = [(_places(at, scores)[number], run) for at, run in found if run is not None]
        heights = [value(run) for _, run in runs]
        width = 0.92 * _width(scores)
        axes.bar([place for place, _ in runs], heights, width=width, color=COLOURS[variant], label=variant)
        drawn += runs
    return drawn


def _width(scores: Scores) -> float:
    return _ROOM / len(scores.plan.variants)


def _places(at: int, scores: Scores) -> list[float]:
    width = _width(scores)
    return [at - _ROOM / 2 + (number + 0.5) * width for number in range(len(scores.plan.variants))]


def _dress(figure: Any, axes: Axes, scores: Scores, path: Path) -> None:
    axes.set_xticks(range(len(scores.plan.queries)), [query.upper() for query in scores.plan.queries])
    axes.tick_params(axis="x", length=0, labelcolor=TEXT)
    axes.spines["bottom"].set_color(FAINT)
    figure.legend(loc="outside lower center", ncols=6, frameon=False)
    finish(figure, path)
