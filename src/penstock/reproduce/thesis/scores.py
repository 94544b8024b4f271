"""The grid's numbers, asked for by configuration: means over runs with their intervals, and the best of a grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import mean, stdev

from penstock.reproduce.finding import NoDataError
from penstock.reproduce.thesis.cells import PARTS, Numbers
from penstock.reproduce.thesis.grid import Cell, Config
from penstock.score import Interval, interval_of

HIGHER_IS_BETTER = {"b_slh": True, "i_slh": True, "mad_d": False, "sd_d": False}
LABELS = {"b_slh": "B-SLH", "i_slh": "I-SLH", "mad_d": "MAD-D", "sd_d": "SD-D"}


@dataclass(frozen=True)
class Score:
    """The runs of one configuration by one metric."""

    config: Config
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Over the runs."""
        return mean(self.values)

    @property
    def deviation(self) -> float | None:
        """The sample standard deviation over the runs; None with one run."""
        return stdev(self.values) if len(self.values) > 1 else None

    @cached_property
    def interval(self) -> Interval:
        """Where the mean may really be."""
        return interval_of(self.values)


class Scores:
    """All cells of a grid, by configuration."""

    def __init__(self, cells: Mapping[Cell, Numbers]) -> None:
        self._runs: dict[Config, list[Numbers]] = {}
        for cell, numbers in sorted(cells.items(), key=lambda pair: pair[0].seed):
            self._runs.setdefault(cell.config, []).append(numbers)
        self.runs = max((len(runs) for config, runs in self._runs.items() if config.algorithm != "fixed"), default=0)
        self.fixed_runs = max(
            (len(runs) for config, runs in self._runs.items() if config.algorithm == "fixed"), default=0
        )

    def configs(self, algorithm: str, threshold: int | None = None) -> list[Config]:
        """The configurations of an algorithm that count at a threshold, or all of them."""
        return [
            config
            for config in self._runs
            if config.algorithm == algorithm and (threshold is None or config.threshold in (None, threshold))
        ]

    def score(self, config: Config, metric: str, threshold: int | None = None) -> Score:
        """One configuration by one metric; hits need a threshold. A `NoDataError` where it was not run."""
        if config not in self._runs:
            raise NoDataError(f"{config.algorithm} with {config.settings}")
        return Score(config, tuple(_value(numbers, metric, threshold) for numbers in self._runs[config]))

    def part(self, config: Config, metric: str, threshold: int, part: str) -> Score:
        """One configuration by the hits within one load pattern."""
        values = [numbers["at"][str(threshold)][f"parts_{metric}"][PARTS.index(part)] for numbers in self._runs[config]]
        return Score(config, tuple(value for value in values if value is not None))

    def best(
        self, algorithm: str, metric: str, threshold: int, where: Callable[[Config], bool] = lambda config: True
    ) -> Score | None:
        """The configuration with the best mean, among those that a condition admits; None where there is none."""
        scores = [self.score(each, metric, threshold) for each in self.configs(algorithm, threshold) if where(each)]
        if not scores:
            return None
        return _better(metric, scores)

    def by_step(self, algorithm: str, metric: str, threshold: int) -> dict[float, Score]:
        """The best score of each step, with whichever sample."""
        found: dict[float, Score] = {}
        for config in sorted(self.configs(algorithm, threshold), key=lambda config: config.step or 0.0):
            if config.step is not None:
                score = self.score(config, metric, threshold)
                found[config.step] = _better(metric, [found.get(config.step, score), score])
        return found

    def pattern(self, algorithm: str, part: str) -> tuple[float, ...]:
        """I-SLH within a load pattern, averaged over all configurations and thresholds: one value a run."""
        columns = [
            self.part(config, "i_slh", threshold, part).values
            for config in self.configs(algorithm)
            for threshold in config.scored_at()
        ]
        return tuple(mean(values) for values in zip(*columns, strict=False))

    def fixed(self) -> dict[int, tuple[float, float]]:
        """Mean latency in seconds and throughput in items a second, by fixed size."""
        return {
            size: (self.score(config, "latency_s").mean, self.score(config, "throughput_per_s").mean)
            for config in sorted(self.configs("fixed"), key=lambda config: config.size or 0)
            if (size := config.size) is not None
        }


def _better(metric: str, scores: Sequence[Score]) -> Score:
    return (max if HIGHER_IS_BETTER[metric] else min)(scores, key=lambda score: score.mean)


def _value(numbers: Numbers, metric: str, threshold: int | None) -> float:
    value = numbers["at"][str(threshold)][metric] if metric in ("b_slh", "i_slh") else numbers[metric]
    return float(value)
