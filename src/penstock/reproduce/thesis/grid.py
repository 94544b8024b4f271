"""What is run: every configuration of sections 5.2 and 5.3 of the thesis, and two oracles as limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from penstock.bench.compare.grid import GAINS, SAMPLES, STEPPING, STEPS
from penstock.sim.run import SimSpec

TARGET_MS = 3
THRESHOLDS = (5, 10, 15, 20)
"""In percent of the target."""
ORACLES = ("oracle", "oracle-causal")


@dataclass(frozen=True)
class Config:
    """One configuration; what an algorithm does not have is None.

    `threshold` is None where it changes nothing but the scoring: one run then serves all thresholds.
    """

    algorithm: str
    threshold: int | None = None
    step: float | None = None
    sample: int | None = None
    kp: float | None = None
    ki: float | None = None
    kd: float | None = None
    size: int | None = None

    @property
    def settings(self) -> dict[str, float]:
        """What the controller is told."""
        named = {"step": self.step, "sample": self.sample, "kp": self.kp, "ki": self.ki, "kd": self.kd}
        return {name: value for name, value in named.items() if value is not None}

    def scored_at(self) -> tuple[int, ...]:
        """The thresholds that its runs count for."""
        return THRESHOLDS if self.threshold is None else (self.threshold,)


@dataclass(frozen=True)
class Cell:
    """One run of one configuration; `items` is None for the million of the thesis."""

    config: Config
    seed: int
    items: int | None = None

    def spec(self) -> SimSpec:
        """The simulation."""
        config = self.config
        return SimSpec(
            plant="thesis",
            controller=config.algorithm,
            settings=config.settings,
            slo=f"{TARGET_MS} ms ± {config.threshold or THRESHOLDS[0]}%",
            items=self.items,
            seed=self.seed,
            size=config.size,
        )

    def key(self) -> dict[str, Any]:
        """What tells this cell from all others, as plain JSON."""
        known = {name: value for name, value in asdict(self.config).items() if value is not None}
        return {**known, "seed": self.seed, "items": self.items}


@dataclass(frozen=True)
class Grid:
    """Values to combine; `runs` seeds of each, and `fixed_runs` of each fixed size."""

    runs: int = 10
    fixed_runs: int = 2
    thresholds: Sequence[int] = THRESHOLDS
    steps: Sequence[float] = STEPS[False]
    samples: Sequence[int] = SAMPLES
    algorithms: Sequence[str] = STEPPING
    kp: Sequence[float] = GAINS[False]["kp"]
    ki: Sequence[float] = GAINS[False]["ki"]
    kd: Sequence[float] = GAINS[False]["kd"]
    pid_samples: Sequence[int] = SAMPLES
    sizes: Sequence[int] = tuple(range(1, 501))
    items: int | None = None

    def configs(self) -> Iterator[Config]:
        """Every configuration but the fixed sizes."""
        for algorithm in self.algorithms:
            # Without a threshold, PBAF-WT behaves the same whichever it is scored at.
            thresholds = (None,) if algorithm == "pbaf-wt" else self.thresholds
            for threshold, step, sample in product(thresholds, self.steps, self.samples):
                yield Config(algorithm, threshold, step=step, sample=sample)
        for kp, ki, kd, sample in product(self.kp, self.ki, self.kd, self.pid_samples):
            yield Config("pid", kp=kp, ki=ki, kd=kd, sample=sample)
        for oracle in ORACLES:
            yield Config(oracle)

    def cells(self) -> list[Cell]:
        """Every run."""
        adaptive = [Cell(config, seed, self.items) for config in self.configs() for seed in range(1, self.runs + 1)]
        seeds = range(1, min(self.fixed_runs, self.runs) + 1)
        fixed = [Cell(Config("fixed", size=size), seed, self.items) for size in self.sizes for seed in seeds]
        return adaptive + fixed


def quick_grid() -> Grid:
    """A thinned grid, to see the whole in under a minute."""
    return Grid(
        runs=2,
        fixed_runs=1,
        steps=(1, 5, 10, 20),
        samples=(1, 5, 20),
        kp=(0, 10, 20),
        ki=(5, 15, 35),
        kd=(0, 3),
        pid_samples=(1, 5),
        sizes=(1, 2, 5, 10, 20, 30, 50, 70, 85, 100, 115, 130, 150, 175, 200, 250, 300, 350, 400, 450, 500),
    )
