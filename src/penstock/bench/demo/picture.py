"""The three contenders in one picture: how long each batch took, and how much of the backlog was done."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.bench.demo.race_result import FIXED, NAMES, PENSTOCK, PLAIN, RaceResult, seconds
from penstock.report.picture import DPI, FAINT, STYLE, TEXT, pyplot
from penstock.report.words import number_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours and a grey, told apart with any kind of colour blindness.
_COLOURS = {PLAIN: "#D55E00", FIXED: "#7A7A7A", PENSTOCK: "#0072B2"}
_BOUND = "#009E73"
_ROOM = 1.45


def draw_race(results: Mapping[str, RaceResult], path: str | Path) -> None:
    """Batch latency over time with the bound, on a log axis so that 1 s and 40 s are both seen; below, the drain."""
    plt = pyplot()
    shown = {name: results[name] for name in NAMES if name in results}
    with plt.rc_context(STYLE | {"font.size": 10}):
        figure, (cards, latency, done) = plt.subplots(
            3, 1, figsize=(9, 6.6), height_ratios=(1.15, 3, 2), layout="constrained"
        )
        _draw_cards(cards, shown)
        _draw_latency(latency, shown)
        _draw_drain(done, shown)
        end_s = max((result.cut_s or result.drain_s or 1.0 for result in shown.values()), default=1.0)
        for axes in (latency, done):
            axes.set_xlim(0, 1.02 * end_s)
            axes.grid(axis="y", color=FAINT, alpha=0.2, linewidth=0.6)
        latency.tick_params(labelbottom=False)
        done.set_xlabel("seconds since the query came back")
        figure.align_ylabels([latency, done])
        figure.savefig(path, dpi=DPI)
        plt.close(figure)


def _draw_cards(axes: Axes, shown: Mapping[str, RaceResult]) -> None:
    """One card a contender, which is the legend too."""
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    for number, (name, result) in enumerate(shown.items()):
        left = number / len(shown)
        axes.plot([left, left + 0.045], [0.88, 0.88], color=_COLOURS[name], linewidth=4)
        axes.text(left + 0.06, 0.88, _title(name, result), fontsize=12, fontweight="bold", va="center", color=TEXT)
        axes.text(left, 0.68, "\n".join(_card(result)), va="top", linespacing=1.45)


def _title(name: str, result: RaceResult) -> str:
    return f"{NAMES[name]} {result.size:,.0f}" if name == FIXED and result.size else NAMES[name]


def _card(result: RaceResult) -> list[str]:
    batches = number_of(result.batches, "batch", "batches")
    longest = f"longest batch {seconds(result.longest_s)}" if result.batches else "none had ended"
    drained = f"drained {'in ' if result.cut_s is None else ''}{result.drained}"
    return [f"{result.within:,} of {batches} within {seconds(result.bound_s)}", longest, drained]


def _draw_latency(axes: Axes, shown: Mapping[str, RaceResult]) -> None:
    spans = [span for result in shown.values() for span in result.spans]
    bound_s = next((result.bound_s for result in shown.values()), 1.0)
    unfinished_s = max((result.cut_s or 0.0 for result in shown.values() if not result.spans), default=0.0)
    longest_s = max(unfinished_s, *(span.took_s for span in spans), bound_s)
    shortest_s = min((span.took_s for span in spans), default=bound_s)
    axes.set_yscale("log")
    low_s, high_s = min(shortest_s, bound_s) / _ROOM, max(longest_s, 2 * bound_s) * _ROOM
    axes.set_ylim(low_s, high_s)
    axes.axhspan(low_s, bound_s, color=_BOUND, alpha=0.12, linewidth=0)
    axes.axhline(bound_s, color=_BOUND, linewidth=1.2)
    said = f"bound\n{seconds(bound_s)}"
    axes.text(1.01, bound_s, said, color=_BOUND, va="center", transform=axes.get_yaxis_transform())
    for name, result in shown.items():
        # A batch is a bar from its start to its end, as high as it is long.
        starts, ends = [span.start_s for span in result.spans], [span.end_s for span in result.spans]
        axes.hlines([span.took_s for span in result.spans], starts, ends, color=_COLOURS[name], linewidth=3.2)
        if result.batches == 1:
            _say(axes, name, result.spans[0].took_s, "one batch of {}: nothing comes out until it ends")
        elif not result.batches and result.cut_s is not None:
            axes.hlines(result.cut_s, 0, result.cut_s, color=_COLOURS[name], linewidth=3.2, linestyle=(0, (2, 1)))
            _say(axes, name, result.cut_s, "one batch, which had not ended after {}")
    axes.set_ylabel("latency of a batch")
    axes.set_yticks([tick for tick in (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300) if low_s <= tick <= high_s])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g} s")
    axes.minorticks_off()


def _say(axes: Axes, name: str, took_s: float, text: str) -> None:
    """A word under a batch that is alone."""
    look: dict[str, Any] = {"ha": "left", "va": "top", "bbox": {"color": "white", "pad": 1.0}}
    axes.text(0.03 * took_s, took_s * 0.8, text.format(seconds(took_s)), color=_COLOURS[name], **look)


def _draw_drain(axes: Axes, shown: Mapping[str, RaceResult]) -> None:
    for name, result in shown.items():
        at_s, percent, so_far = [0.0], [0.0], 0
        for span in result.spans:
            so_far += span.items
            at_s.append(span.end_s)
            percent.append(100.0 * so_far / result.items)
        if result.cut_s is not None:
            at_s.append(result.cut_s)
            percent.append(percent[-1])
        axes.step(at_s, percent, where="post", linewidth=2.2, color=_COLOURS[name])
        if result.drain_s is not None:
            axes.plot([result.drain_s], [100.0], "o", color=_COLOURS[name], markersize=6, clip_on=False, zorder=3)
    axes.set_ylim(0, 106)
    axes.set_yticks([0, 50, 100])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0f}%")
    axes.set_ylabel("backlog done")
