"""Small plots of text: latency in its band, and sparklines."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from penstock.sample import BatchSample
from penstock.slo import Kind, Slo, Verdict

ROWS = 11
_LABEL = 10
# A cell has four heights; a dash of two dots is easier to see than one.
_DASHES = "⠉⠒⠤⣀"
_BARS = "▁▂▃▄▅▆▇█"
_COLOUR = {Verdict.MET: "bold bright_cyan", Verdict.MISSED: "bold bright_red", Verdict.UNKNOWN: "bright_black"}
_BAND = "on grey23"


def span(slo: Slo) -> tuple[float, float]:
    """The lowest and highest value on the axis; a band to hold takes the three rows in the middle of it.

    >>> low, high = span(Slo.parse("1 s ± 10%"))
    >>> round(low, 3), round(high, 3)
    (0.633, 1.367)
    """
    if slo.kind is Kind.HOLD:
        reach = slo.target * slo.tolerance * ROWS / 3
        return slo.target - reach, slo.target + reach
    return 0.0, slo.target * ROWS / (8 if slo.kind is Kind.AT_MOST else 5)


def band_plot(samples: Sequence[BatchSample], slo: Slo, columns: int) -> Text:
    """The last batches, one a column, over the band; beyond the axis stands an arrow.

    Hits and misses differ in colour, and the band also has a mark beside it, for terminals without colours.
    """
    low, high = span(slo)
    height = (high - low) / ROWS
    shown = [(slo.measure(sample), slo.verdict(sample)) for sample in samples[-columns:]]
    plot = Text()
    for row in range(ROWS):
        top = high - row * height
        within = slo.holds(top - height / 2)
        plot.append(f"{slo.format_value(float(f'{top - height / 2:.3g}')):>{_LABEL}} ", style="dim")
        plot.append("┃" if within else "│", style="green" if within else "dim")
        for value, verdict in shown:
            plot.append(_cell(value, row, top, height), style=f"{_COLOUR[verdict]} {_BAND if within else ''}")
        plot.append(" " * (columns - len(shown)), style=_BAND if within else "")
        plot.append("\n" if row < ROWS - 1 else "")
    return plot


def _cell(value: float | None, row: int, top: float, height: float) -> str:
    if value is None or value != value:
        return " "
    below = (top - value) / height
    if row == 0 and below < 0:
        return "▲"
    if row == ROWS - 1 and below >= 1:
        return "▼"
    return _DASHES[int(below * len(_DASHES))] if 0 <= below < 1 else " "


def sparkline(values: Sequence[float], columns: int) -> str:
    """The last values as bars, the highest of them full.

    >>> sparkline([0, 1, 2, 4], 3)
    '▃▅█'
    """
    shown = values[-columns:]
    most = max(shown, default=0.0)
    if most <= 0:
        return " " * len(shown)
    return "".join(_BARS[min(int(value / most * len(_BARS)), len(_BARS) - 1)] for value in shown)


def spark_row(name: str, values: Sequence[float], columns: int) -> Text:
    """A named sparkline under a plot."""
    return Text.assemble((f"{name:>{_LABEL}} ", "dim"), ("│", "dim"), (sparkline(values, columns), "blue"))
