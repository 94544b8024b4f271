"""The figures that are made from the grid: 5.1, 5.3, 5.5 and 5.8."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from penstock.bench.compare.grid import STEPPING
from penstock.reproduce.drawing import COLOURS, FAINT, MARKERS, SIZE, SPREAD, TARGET, TITLE, finish, label, pyplot
from penstock.reproduce.thesis import published
from penstock.reproduce.thesis.cells import PARTS
from penstock.reproduce.thesis.grid import ORACLES, TARGET_MS
from penstock.reproduce.thesis.scores import LABELS, Scores


def fixed_sizes(scores: Scores, path: Path) -> None:
    """Figure 5.1: latency and throughput against the fixed size."""
    plt = pyplot()
    fixed = scores.fixed()
    sizes = list(fixed)
    figure, (latency, rate) = plt.subplots(2, 1, figsize=(8, 5), sharex=True, layout="constrained")
    latency.plot(sizes, [1e3 * fixed[size][0] for size in sizes], color=SPREAD, linewidth=1.4)
    latency.axhline(TARGET_MS, color=TARGET, linewidth=0.9)
    latency.text(sizes[-1], TARGET_MS, f"target {TARGET_MS} ms", color=TARGET, fontsize=8, ha="right", va="bottom")
    latency.set_ylabel("mean latency, ms")
    latency.set_title(
        "Figure 5.1: latency and throughput by fixed batch size", loc="left", fontweight="bold", fontsize=10
    )
    rate.plot(sizes, [fixed[size][1] / 1e3 for size in sizes], color=SIZE, linewidth=1.4)
    rate.axvline(published.THROUGHPUT_CUTOFF, color=FAINT, linewidth=0.9, linestyle="--")
    text = f" published cutoff, {published.THROUGHPUT_CUTOFF}"
    rate.text(published.THROUGHPUT_CUTOFF, 0.05, text, fontsize=8, transform=rate.get_xaxis_transform())
    rate.set_ylabel("1000 items a second")
    rate.set_xlabel("fixed batch size, items")
    rate.set_xlim(0, sizes[-1])
    for axes in (latency, rate):
        axes.set_ylim(bottom=0)
    finish(figure, path)


def by_step(scores: Scores, path: Path) -> None:
    """Figure 5.3: I-SLH at 5% by step, each with its best sample."""
    plt = pyplot()
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    for name in STEPPING:
        found = scores.by_step(name, "i_slh", 5)
        means = [score.mean for score in found.values()]
        ends = [(score.interval.low or score.mean, score.interval.high or score.mean) for score in found.values()]
        errors = np.abs(np.array(ends).T - np.array(means))
        look = {"color": COLOURS[name], "marker": MARKERS[name], "markersize": 5, "linewidth": 1.4, "capsize": 2}
        axes.errorbar(list(found), means, yerr=errors, label=label(name), **look)
    axes.set_ylim(bottom=0)
    axes.set_xticks(sorted({config.step for name in STEPPING for config in scores.configs(name, 5) if config.step}))
    axes.set_xlabel("step, items")
    axes.set_ylabel("I-SLH, %")
    axes.set_title("Figure 5.3: itemized hits by step, threshold 5%", **TITLE)
    figure.legend(loc="outside right center", frameon=False)
    finish(figure, path)


def by_sample(scores: Scores, path: Path) -> None:
    """Figure 5.5: B-SLH of FAF with step 5 by load pattern, a panel for each sample."""
    plt = pyplot()
    configs = sorted((c for c in scores.configs("faf", 5) if c.step == 5), key=lambda config: config.sample or 0)
    figure, grid = plt.subplots(1, len(configs), figsize=(9, 3.4), sharey=True, squeeze=False, layout="constrained")
    highest = 0.0
    for axes, config in zip(grid[0], configs, strict=True):
        means = [scores.part(config, "b_slh", 5, part).mean for part in PARTS]
        highest = max(highest, *means)
        bars = axes.bar(range(len(PARTS)), means, color=COLOURS["faf"])
        axes.bar_label(bars, [f"{value:.0f}" for value in means], fontsize=8, padding=2)
        axes.set_xticks(range(len(PARTS)), PARTS, rotation=45, ha="right")
        axes.set_title(f"sample {config.sample}", fontsize=9)
    grid[0][0].set_ylabel("B-SLH, %")
    grid[0][0].set_ylim(0, 1.12 * highest)
    title = "Figure 5.5: batched hits by load pattern and sample; FAF, step 5, threshold 5%"
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=10)
    finish(figure, path)


def best_of_all(scores: Scores, path: Path) -> None:
    """Figure 5.8: the best of each algorithm by each metric at 5%, published and ours, with the PID and the oracles."""
    plt = pyplot()
    names = (*STEPPING, "pid", *ORACLES)
    figure, grid = plt.subplots(2, 2, figsize=(9, 6), sharey=True, layout="constrained")
    for axes, metric in zip(grid.flat, LABELS, strict=True):
        best = [scores.best(name, metric, 5) for name in names]
        means = [score.mean if score else 0.0 for score in best]
        axes.barh(range(len(names)), means, color=[COLOURS[name] for name in names], height=0.7)
        theirs = [published.best(5, name, metric) for name in names if name not in ORACLES]
        look = {"marker": "D", "s": 28, "facecolor": "white", "edgecolor": "black", "linewidths": 1, "zorder": 3}
        axes.scatter(theirs, range(len(theirs)), **look)
        for at, value in enumerate(means):
            axes.text(
                0.995, at, f"{value:.1f}", fontsize=8, ha="right", va="center", transform=axes.get_yaxis_transform()
            )
        axes.set_yticks(range(len(names)), [label(name) for name in names])
        better = "higher is better" if metric.endswith("slh") else "lower is better"
        axes.set_title(f"{LABELS[metric]}, % ({better})", fontsize=9, loc="left")
        axes.set_xlim(0, 1.14 * max([*means, *theirs]))
    grid[0][0].invert_yaxis()
    title = "Figure 5.8: the best of each algorithm at 5%; ours as bars, published as diamonds"
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=10)
    finish(figure, path)
