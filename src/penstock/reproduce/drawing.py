"""What the figures share: colours, names, load patterns as shades, and long series as bands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.patterns.base import FloatArray
from penstock.report import picture
from penstock.report.picture import _BAND, _LOAD, _MISS, _SIZE
from penstock.sim.load import Load
from penstock.units import format_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TARGET, FAINT, LOAD, SIZE, SPREAD, TEXT = _BAND, picture.FAINT, _LOAD, _SIZE, _MISS, picture.TEXT
STYLE, pyplot = picture.STYLE, picture.pyplot
DPI = 130
# Okabe and Ito's colours, as in the pictures of runs.
TITLE: dict[str, Any] = {"loc": "left", "fontweight": "bold", "fontsize": 10}
COLOURS = {
    "faf": "#E69F00",
    "pbaf": "#56B4E9",
    "pbaf-wt": "#009E73",
    "mbaf": "#0072B2",
    "pmbaf": "#D55E00",
    "pid": "#CC79A7",
    "oracle": "#333333",
    "oracle-causal": "#8a8a8a",
}
MARKERS = {"faf": "o", "pbaf": "s", "pbaf-wt": "D", "mbaf": "^", "pmbaf": "v"}
_BINS = 1500

Step = Callable[[str], None]
"""Called with the name of each figure before it is drawn."""


def draw_files(drawings: Mapping[str, Callable[[Path], object]], folder: Path, prefix: str, step: Step) -> list[Path]:
    """Draw all figures as PNG files of one folder; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: folder / f"{prefix}-{name}.png" for name in drawings}
    with pyplot().rc_context(STYLE):
        for name, draw in drawings.items():
            step(name)
            draw(paths[name])
    return list(paths.values())


def label(algorithm: str) -> str:
    """Its name in a figure."""
    return algorithm if algorithm.startswith("oracle") else algorithm.upper()


def shade_parts(panels: Sequence[Axes], load: Load, named: Axes) -> None:
    """The load patterns as shades over the item index, named in one panel."""
    first = 0
    for number, (name, end) in enumerate(zip(load.names, load.ends, strict=True)):
        if number % 2 == 0:
            for axes in panels:
                axes.axvspan(first, end, color="black", alpha=0.045, linewidth=0, zorder=0)
        where = named.get_xaxis_transform()
        named.text((first + end) / 2, 0.97, name, fontsize=8, ha="center", va="top", transform=where)
        first = end


def draw_load(axes: Axes, load: Load) -> None:
    """The cost of items over their index, with room for the names of the patterns above it."""
    every = max(1, load.costs.size // 5000)
    index = np.arange(load.costs.size)[::every]
    axes.fill_between(index, load.costs[::every], color=LOAD, alpha=0.45, linewidth=0)
    axes.set_ylim(0, 1.35 * float(load.costs.max()))
    axes.set_ylabel("cost")
    axes.set_xlim(0, load.costs.size)
    axes.xaxis.set_major_formatter(lambda value, _: format_count(value))


def bins(
    at: FloatArray, values: FloatArray, most: int = _BINS
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """A long series in bins of equal width: place, mean, lowest and highest value of each bin that has any.

    >>> [column.tolist() for column in bins(np.array([0.0, 1.0, 9.0]), np.array([1.0, 3.0, 5.0]), most=2)]
    [[0.5, 9.0], [2.0, 5.0], [1.0, 5.0], [3.0, 5.0]]
    """
    width = (float(at[-1]) - float(at[0])) / most or 1.0
    number = np.minimum(((at - at[0]) / width).astype(np.int64), most - 1)
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    counts = np.diff(starts, append=at.size)
    return (
        np.add.reduceat(at, starts) / counts,
        np.add.reduceat(values, starts) / counts,
        np.minimum.reduceat(values, starts),
        np.maximum.reduceat(values, starts),
    )


def draw_series(axes: Axes, at: FloatArray, values: FloatArray, colour: str, name: str) -> None:
    """The mean of a long series as a line, all that it covers as a band."""
    where, middle, low, high = bins(at, values)
    axes.fill_between(where, low, high, color=colour, alpha=0.25, linewidth=0)
    axes.plot(where, middle, color=colour, linewidth=0.9, label=name)


def log_axis(axes: Axes, low: float, high: float) -> None:
    """From one item to thousands, from a fraction of the target to a hundred times it: ratios matter."""
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")


def finish(figure: Any, path: Any) -> None:
    """Light grid lines, then the file."""
    figure.align_ylabels()
    for axes in figure.axes:
        axes.grid(axis="y", color=FAINT, alpha=0.18, linewidth=0.6)
    figure.savefig(path, dpi=DPI)
    pyplot().close(figure)
