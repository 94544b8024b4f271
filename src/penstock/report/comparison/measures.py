"""The measures of a comparison: what they are called, which way is better, how they are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.report import words


@dataclass(frozen=True)
class Measure:
    """One measure; `axis` and `ticks` (a format and what follows the number) are for a chart."""

    label: str
    axis: str
    higher_is_better: bool
    text: Callable[[object], str]
    ticks: tuple[str, str] = ("", "%")

    def with_interval(self, block: object) -> str:
        """A mean with its interval.

        >>> MEASURES["i_slh"].with_interval({"mean": 81.2, "low": 80.0, "high": 84.0})
        '81.2% (80.0% to 84.0%)'
        """
        low, high = bounds_of(block)
        mean = self.text(mean_of(block))
        return mean if low is None or high is None else f"{mean} ({self.text(low)} to {self.text(high)})"


MEASURES: Mapping[str, Measure] = {
    "i_slh": Measure("I-SLH", "I-SLH: items in batches that met the objective", True, words.percent),
    "b_slh": Measure("B-SLH", "B-SLH: batches that met the objective", True, words.percent),
    "mad_d": Measure("MAD-D", "MAD-D: mean distance from the target", False, words.percent),
    "sd_d": Measure("SD-D", "SD-D: root mean square distance from the target", False, words.percent),
    "p95_s": Measure("p95", "95th percentile of latency", False, words.duration, ("~s", "s")),
    "throughput_per_s": Measure("throughput", "items a second", True, words.rate, ("~s", "/s")),
}


def mean_of(block: object) -> float | None:
    """The mean in a block of a comparison, where one is known."""
    return words.known(block.get("mean")) if isinstance(block, Mapping) else None


def bounds_of(block: object) -> tuple[float | None, float | None]:
    """Where the mean may really be, where that is known."""
    if not isinstance(block, Mapping):
        return None, None
    return words.known(block.get("low")), words.known(block.get("high"))


def values_of(block: object) -> list[float]:
    """The values of the single runs that are known."""
    found = block.get("values") if isinstance(block, Mapping) else None
    return [value for each in found or [] if (value := words.known(each)) is not None]


def ordered(rows: Sequence[Mapping[str, Any]], metric: str) -> list[Mapping[str, Any]]:
    """The best first, what has no mean after those that have one, and oracles last."""
    sign = -1.0 if MEASURES.get(metric, MEASURES["i_slh"]).higher_is_better else 1.0

    def rank(row: Mapping[str, Any]) -> tuple[bool, bool, float]:
        mean = mean_of(row.get(metric))
        return bool(row.get("limit")), mean is None, 0.0 if mean is None else sign * mean

    return sorted(rows, key=rank)
