"""A comparison as tables for people; the same for virtual runs and for runs on Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group
from rich.table import Table

from penstock.units import format_count, format_duration

_STYLE = {"best": "bold green", "below": "red", "oracle": "cyan", "not run": "dim"}


def comparison_table(comparison: Mapping[str, Any]) -> Group:
    """One row a controller with its verdict, then their hits by load pattern; oracles come last."""
    metric = comparison["metric"]
    rows = sorted(comparison["rows"], key=lambda row: (row["limit"], -_rank(row[metric]["mean"], metric)))
    parts = list(dict.fromkeys(part for row in rows for part in row["patterns"]))
    tables = [_hits(comparison, rows)]
    if parts:
        tables.append(_patterns(rows, parts))
    return Group(*tables)


def spread(interval: Mapping[str, Any]) -> str:
    """A mean with its interval.

    >>> spread({"mean": 82.04, "low": 80.0, "high": 84.06}), spread({"mean": 82.0, "low": None, "high": None})
    ('82.0 (80.0-84.1)', '82.0')
    """
    mean, low, high = interval["mean"], interval["low"], interval["high"]
    if mean is None:
        return "-"
    if low is None or high is None:
        return f"{mean:.1f}"
    return f"{mean:.1f} ({low:.1f}-{high:.1f})"


def _hits(comparison: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Table:
    about = comparison["about"]
    what = "  ".join(str(about[key]) for key in ("app", "class", "plant", "slo") if about.get(key))
    table = _table(what)
    for name in ("I-SLH %", "B-SLH %", "MAD-D %", "SD-D %", "p95", "items/s", "batches", "runs"):
        table.add_column(name, justify="right", overflow="fold")
    table.add_column("verdict", no_wrap=True)
    for row in rows:
        hits = [spread(row[name]) for name in ("i_slh", "b_slh", "mad_d", "sd_d")]
        rate, batches = row["throughput_per_s"]["mean"], row["batches"]["mean"]
        word = row["against_best"]
        table.add_row(
            row["controller"],
            *hits,
            _duration(row["p95_s"]["mean"]),
            "-" if rate is None else format_count(float(f"{rate:.3g}")),
            "-" if batches is None else f"{batches:.0f}",
            str(row["runs"]),
            word,
            style=_STYLE.get(word, ""),
        )
    return table


def _patterns(rows: Sequence[Mapping[str, Any]], parts: Sequence[str]) -> Table:
    table = _table("\nI-SLH % by load pattern")
    for part in parts:
        table.add_column(part, justify="right")
    for row in rows:
        cells = [row["patterns"].get(part, {}).get("i_slh") for part in parts]
        table.add_row(row["controller"], *("-" if cell is None else spread(cell) for cell in cells))
    return table


def _table(title: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("controller", no_wrap=True)
    return table


def _duration(mean: float | None) -> str:
    return "-" if mean is None else format_duration(float(f"{mean:.3g}"))


def _rank(mean: float | None, metric: str) -> float:
    if mean is None:
        return float("-inf")
    return -mean if metric in ("mad_d", "sd_d", "p95_s") else mean
