"""The figures that show single runs: 5.2, 5.4, 5.6, 5.7 and 5.9."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from penstock.patterns.base import FloatArray
from penstock.reproduce.drawing import (
    COLOURS,
    FAINT,
    SIZE,
    SPREAD,
    TARGET,
    TITLE,
    draw_load,
    draw_series,
    finish,
    log_axis,
    pyplot,
    shade_parts,
)
from penstock.reproduce.thesis import published
from penstock.reproduce.thesis.grid import TARGET_MS, Cell, Config
from penstock.score import cumulative
from penstock.sim.run import SimRun, simulate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PID_CONFIG = Config("pid", kp=10, ki=15, kd=3, sample=1)
SLOW = Config("pmbaf", 5, step=1, sample=1)
REACTIVE = Config("pmbaf", 5, step=10, sample=1)
FIXED_SIZES = (1, 50, 100)
_TOP = 200
_ITEM = "item; lines are means, bands the lowest to the highest of a stretch"


def run_of(config: Config, items: int | None = None) -> SimRun:
    """The first run of a configuration, compiled where it is long."""
    return simulate(Cell(config, seed=1, items=items).spec(), compiled=items is None)


def fixed_in_time(path: Path, items: int | None = None) -> None:
    """Figure 5.2: latency in time with fixed sizes."""
    plt = pyplot()
    figure, panels = plt.subplots(len(FIXED_SIZES), 1, figsize=(8, 6), layout="constrained")
    for axes, size in zip(panels, FIXED_SIZES, strict=True):
        run = run_of(Config("fixed", size=size), items)
        draw_series(axes, run.began_s, 1e3 * run.values, SPREAD, "latency")
        axes.axhline(TARGET_MS, color=TARGET, linewidth=0.9)
        axes.set_ylim(0, 1.15 * float(np.quantile(1e3 * run.values, 0.9995)))
        axes.set_xlim(0, float(run.ended_s[-1]))
        axes.set_title(f"size {size}: {run.ended_s[-1]:.0f} s", loc="left", fontsize=9)
        axes.set_ylabel("latency, ms")
    panels[-1].set_xlabel("virtual seconds since the first batch; green: 3 ms; band: lowest to highest")
    title = "Figure 5.2: latency in time with fixed batch sizes"
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=10)
    finish(figure, path)


def cumulative_hits(config: Config, path: Path, items: int | None = None) -> None:
    """Figure 5.4: both hit metrics so far, with the load below."""
    plt = pyplot()
    run = run_of(config, items)
    series = cumulative(run.values, run.items.astype(np.float64), run.slo)
    figure, (hits, load) = plt.subplots(2, 1, figsize=(8, 4.6), sharex=True, height_ratios=(3, 1), layout="constrained")
    every = max(1, series.items.size // 4000)
    hits.plot(series.items[::every], series.b_slh[::every], color=SPREAD, linewidth=1.4, label="B-SLH")
    hits.plot(series.items[::every], series.i_slh[::every], color=SIZE, linewidth=1.4, linestyle="--", label="I-SLH")
    hits.set_ylim(0, 100)
    hits.set_ylabel("hits so far, %")
    hits.legend(frameon=False, loc="upper right")
    title = f"Figure 5.4: cumulative hits of PMBAF at 5%, step {config.step:g}, sample {config.sample}"
    hits.set_title(title, **TITLE)
    draw_load(load, run.load)
    shade_parts((hits, load), run.load, load)
    load.set_xlabel("item")
    finish(figure, path)


def strategy(config: Config, title: str, path: Path, items: int | None = None) -> None:
    """Figures 5.6 and 5.7: latency, batch size and load of one run against the item."""
    plt = pyplot()
    run = run_of(config, items)
    figure, (latency, size, load) = plt.subplots(
        3, 1, figsize=(8, 5.6), sharex=True, height_ratios=(3, 2.4, 1), layout="constrained"
    )
    rate = run.items.sum() / run.ended_s[-1]
    latency.set_title(f"{title}: {rate / 1e3:.1f}k items a second", **TITLE)
    _latency_and_size(latency, size, run)
    draw_load(load, run.load)
    shade_parts((latency, size, load), run.load, load)
    load.set_xlabel(_ITEM)
    finish(figure, path)


def _latency_and_size(latency: Axes, size: Axes, run: SimRun) -> None:
    at = _middles(run)
    draw_series(latency, at, 1e3 * run.values, SPREAD, "latency")
    latency.axhline(TARGET_MS, color=TARGET, linewidth=1.2)
    beside = latency.get_yaxis_transform()
    latency.text(1.004, TARGET_MS, f"{TARGET_MS} ms", color=TARGET, fontsize=8, va="center", transform=beside)
    latency.set_ylabel("latency, ms")
    log_axis(latency, 0.05, 500)
    draw_series(size, at, run.items.astype(np.float64), SIZE, "batch size")
    size.set_ylabel("batch size, items")
    log_axis(size, 0.8, 4000)


def _middles(run: SimRun) -> FloatArray:
    return (run.stops - run.items / 2).astype(np.float64)


def pid_terms(run: SimRun, config: Config) -> tuple[FloatArray, FloatArray]:
    """The proportional and the derivative term of each decision, from the latencies that it was made on.

    >>> import numpy as np
    >>> config = Config("pid", kp=10, ki=15, kd=3, sample=1)
    >>> run = simulate(Cell(config, seed=1, items=2000).spec())
    >>> p, d = pid_terms(run, config)
    >>> bool(np.isclose(p[0] / 10, 1 - run.values[0] / 0.003)), bool(np.isclose(d[0], 0.3 * p[0]))
    (True, True)
    """
    sample = config.sample or 1
    decided = run.values.size // sample
    errors = 1 - run.values[: decided * sample].reshape(decided, sample).mean(axis=1) / run.slo.aim
    return (config.kp or 0.0) * errors, (config.kd or 0.0) * np.diff(errors, prepend=0.0)


def top_terms(terms: FloatArray, negative: bool, count: int = _TOP) -> float:
    """The mean of the lowest or of the highest terms, as the thesis reports it.

    >>> terms = np.array([1.0, -9.0, 3.0, -7.0])
    >>> top_terms(terms, negative=True, count=2), top_terms(terms, negative=False, count=2)
    (-8.0, 2.0)
    """
    ordered = np.sort(terms)
    return float((ordered[:count] if negative else ordered[-count:]).mean())


def terms_in_time(path: Path, items: int | None = None) -> None:
    """Figure 5.9: what the P and D terms of the PID add, with the mean of the 200 largest of each."""
    plt = pyplot()
    run = run_of(PID_CONFIG, items)
    p_terms, d_terms = pid_terms(run, PID_CONFIG)
    figure, panels = plt.subplots(
        5, 1, figsize=(8, 8), sharex=True, height_ratios=(2, 2, 2, 2, 1), layout="constrained"
    )
    latency, size, proportional, derivative, load = panels
    latency.set_title("Figure 5.9: what P and D add; PID 10/15/3, sample 1", **TITLE)
    _latency_and_size(latency, size, run)
    for axes, terms, theirs, name in (
        (proportional, p_terms, published.P_TERM_TOP, "P"),
        (derivative, d_terms, published.D_TERM_TOP, "D"),
    ):
        draw_series(axes, _middles(run), terms, COLOURS["pid"], name)
        axes.axhline(0, color=FAINT, linewidth=0.8)
        axes.set_ylabel(f"{name} term, items")
        side, ours = ("lowest" if theirs < 0 else "highest"), top_terms(terms, negative=theirs < 0)
        said = f"mean of the {_TOP} {side}: {ours:+.0f} (published {theirs:+.0f})"
        axes.set_title(said, loc="left", fontsize=8)
    draw_load(load, run.load)
    shade_parts(panels, run.load, load)
    load.set_xlabel(_ITEM)
    finish(figure, path)
