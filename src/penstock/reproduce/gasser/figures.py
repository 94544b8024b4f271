"""Figures 7, 8, 9 and 11 with our measurements, as PNG files of one folder."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.bench.measures.windows import black_box, devices, latency
from penstock.bench.measures.windows.cases import QUERIES
from penstock.bench.measures.windows.peers import COMPILED, FLINK, NUMPY, PANDAS, SPARK
from penstock.bench.measures.windows.rates import OURS
from penstock.reproduce.drawing import FAINT, STYLE, TITLE, finish, pyplot
from penstock.reproduce.gasser.scores import Scores
from penstock.reproduce.gasser.tables import speed_up
from penstock.units import format_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Step = Callable[[str], None]
# Okabe and Ito's colours, as in the pictures of runs.
COLOURS = {
    OURS: "#D55E00",
    SPARK: "#8a8a8a",
    FLINK: "#CC79A7",
    NUMPY: "#56B4E9",
    COMPILED: "#0072B2",
    PANDAS: "#009E73",
}
_LENGTHS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7")
_ROOM = 0.84


def draw_all(scores: Scores, folder: Path, step: Step = lambda name: None) -> list[Path]:
    """Draw those that there are measurements for; returns the files."""
    plt = pyplot()
    folder.mkdir(parents=True, exist_ok=True)
    drawings: dict[str, tuple[str, Callable[[Scores, Path], None]]] = {
        "7-rates": ("rates", _rates),
        "8-latency": (latency.PROGRAM, _latency),
        "9-devices": (devices.PROGRAM, _devices),
        "11-black-box": (black_box.PROGRAM, _black_box),
    }
    paths = []
    with plt.rc_context(STYLE):
        for name, (program, draw) in drawings.items():
            if scores.results.select(program=program):
                step(name)
                paths.append(folder / f"gasser-{name}.png")
                partial(draw, scores)(paths[-1])
    return paths


def _rates(scores: Scores, path: Path) -> None:
    figure, panels = pyplot().subplots(2, 1, figsize=(9, 6.5), layout="constrained")
    for axes, query in zip(panels, QUERIES, strict=True):
        cases = [setting for setting in scores.results.settings() if setting.query == query]
        for number, (who, colour) in enumerate(COLOURS.items()):
            found = [(at, scores.results.rate(setting, who)) for at, setting in enumerate(cases)]
            width = _ROOM / len(COLOURS)
            bars = [(at - _ROOM / 2 + (number + 0.5) * width, rate) for at, rate in found if rate]
            if bars:
                places, heights = zip(*bars, strict=True)
                axes.bar(places, heights, width=0.9 * width, color=colour, label=who)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: format_count(value))
        axes.set_xticks(range(len(cases)), [f"{each.length // 1000}k/{each.every}" for each in cases])
        axes.set_ylabel("rows/s")
        axes.set_title(f"Figure 7: sustainable rate of {query.upper()} by window and slide", **TITLE)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
    finish(figure, path)


def _latency(scores: Scores, path: Path) -> None:
    figure, panels = pyplot().subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
    shown = ((latency.BY_BATCH, "batch", "Gasser's B, windows"), (latency.BY_TRIGGER, "batch_rows", "rows of a batch"))
    for axes, (by, across, name) in zip(panels, shown, strict=True):
        found = scores.results.select(program=latency.PROGRAM, by=by)
        for number, length in enumerate(sorted({each["length"] for each in found})):
            points = sorted((each[across], each["mean_s"]) for each in found if each["length"] == length)
            _line(axes, points, number, f"w = {length:,}")
        _log_across(axes, [each[across] for each in found] if by == latency.BY_BATCH else [])
        axes.set_xlabel(name)
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel("mean latency of a window, s")
    panels[0].set_title("Figure 8: latency by B", **TITLE)
    panels[1].set_title("and by Spark's batch", **TITLE)
    panels[0].legend(frameon=False)
    finish(figure, path)


def _devices(scores: Scores, path: Path) -> None:
    figure, panels = pyplot().subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
    for axes, query in zip(panels, QUERIES, strict=True):
        found = scores.results.select(program=devices.PROGRAM, query=query)
        for number, length in enumerate(sorted({each["length"] for each in found})):
            slides = sorted({each["every"] for each in found if each["length"] == length})
            ups = [(every, speed_up(scores, query, length, every)) for every in slides]
            _line(axes, [(every, up) for every, up in ups if up is not None], number, f"w = {length:,}")
        axes.axhline(1.0, color=FAINT, linewidth=0.9, linestyle="--")
        _log_across(axes, [each["every"] for each in found])
        axes.set_xlabel("slide, rows")
        axes.set_title(f"Figure 9: {query.upper()}", **TITLE)
    panels[0].set_ylabel("all threads over one")
    panels[0].legend(frameon=False)
    finish(figure, path)


def _black_box(scores: Scores, path: Path) -> None:
    figure, axes = pyplot().subplots(figsize=(9, 3.8), layout="constrained")
    found = scores.results.select(program=black_box.PROGRAM)
    for number, way in enumerate((black_box.BLACK_BOX, black_box.INCREMENTAL, black_box.RUNNING)):
        points = sorted((each["every"], each[f"{way} MB/s"]) for each in found if f"{way} MB/s" in each)
        _line(axes, points, number, way)
    _log_across(axes, [each["every"] for each in found])
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: format_count(value))
    axes.set_xlabel("slide, rows")
    axes.set_ylabel("MB/s")
    axes.set_title("Figure 11: the mean of six columns over 1,024 rows, one thread", **TITLE)
    axes.legend(frameon=False)
    finish(figure, path)


def _log_across(axes: Axes, values: list[float]) -> None:
    """A logarithmic axis with a mark at each value that was measured; without any, at round ones."""
    axes.set_xscale("log")
    if values:
        ticks = sorted(set(values))
        axes.set_xticks(ticks, [format_count(value) for value in ticks])
        axes.minorticks_off()
    else:
        axes.xaxis.set_major_formatter(lambda value, _: format_count(value))
        axes.xaxis.set_minor_formatter(lambda value, _: format_count(value))


def _line(axes: Axes, points: list[tuple[float, float]], number: int, name: str) -> None:
    if points:
        across, up = zip(*points, strict=True)
        axes.plot(across, up, color=_LENGTHS[number % len(_LENGTHS)], marker="o", markersize=4, label=name)
