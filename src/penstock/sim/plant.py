"""A plant: what a batch of given items takes, as a pipeline of stages with queues between them.

The service time of a batch of n items with costs x is

    a_batch_s + an_item_s n + depth_s mean(x) + volume_s sum(x ** power)

Depth is what an item takes even on an empty machine; volume is its share of a full one. It is split over the stages
by `shares`; between two stages there are `places`. Noise multiplies each service time: lognormal with standard
deviation `noise`, of which the share `memory` lasts from one batch to the next, and with probability `stall_share` a
stall of on average `stall` times the service time comes on top.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from penstock.errors import BadInputError
from penstock.patterns.base import FloatArray

NAMES = ("thesis", "spark")
FITTED = "spark.json"
# The period of the noise, in services; a run that is longer hears it again.
_NOISE_PERIOD = 2**18


@dataclass(frozen=True)
class Plant:
    """The parameters of a machine; times in seconds.

    >>> Plant("toy", a_batch_s=0.25, volume_s=0.0625).ideal_s(items=10, cost=2.0)
    1.5
    """

    name: str
    a_batch_s: float = 0.0
    an_item_s: float = 0.0
    depth_s: float = 0.0
    volume_s: float = 0.0
    power: float = 1.0
    shares: tuple[float, ...] = (1.0,)
    places: int = 1
    noise: float = 0.0
    memory: float = 0.0
    stall_share: float = 0.0
    stall: float = 0.0
    low_cost: float = 1.0
    high_cost: float = 1.0

    def __post_init__(self) -> None:
        """Refuse machines that take no or negative time."""
        for field in ("a_batch_s", "an_item_s", "depth_s", "volume_s", "noise", "stall_share", "stall"):
            if not (math.isfinite(value := getattr(self, field)) and value >= 0):
                raise BadInputError(field, value, "a plant takes no negative time", "write 0 or more")
        if not 0 <= self.memory < 1:
            raise BadInputError("memory", self.memory, "not the share of noise that lasts", "write 0 to less than 1")
        if self.memory and len(self.shares) > 1:
            reason = "in a pipeline of several stages each has noise of its own, and none of it lasts"
            raise BadInputError("memory", self.memory, reason, "write 0, or give one stage")
        if not self.shares or min(self.shares) < 0 or self.places < 1:
            raise BadInputError("shares", self.shares, "a pipeline has stages and queues", "give one share a stage")
        if self.ideal_s(1, self.high_cost) <= 0:
            raise BadInputError("plant", self.name, "a batch takes no time", "give a time to a batch or an item")

    def ideal_s(self, items: float, cost: float) -> float:
        """Service time of a batch of equal items, without noise."""
        volume: float = items * cost**self.power
        return self.a_batch_s + self.an_item_s * items + self.depth_s * cost + self.volume_s * volume

    @property
    def times(self) -> list[float]:
        """What the kernel needs to know of service times."""
        return [self.a_batch_s, self.an_item_s, self.depth_s, self.volume_s, self.memory]

    def noisier(self, factor: float) -> Plant:
        """The same machine with so many times its noise and its stalls."""
        if not (math.isfinite(factor) and factor >= 0):
            raise BadInputError("noise", factor, "not a multiple of the noise", "write e.g. 2x, or 0 for none")
        return replace(self, noise=self.noise * factor, stall_share=min(self.stall_share * factor, 1.0))

    def noise_of(self, seed: int) -> tuple[FloatArray, FloatArray]:
        """What each service time is multiplied by, and the part of it that comes from lasting noise."""
        return _noise(self.noise, self.memory, self.stall_share, self.stall, seed)


@lru_cache(maxsize=32)
def _noise(noise: float, memory: float, stall_share: float, stall: float, seed: int) -> tuple[FloatArray, FloatArray]:
    random = np.random.default_rng(seed)
    fresh = random.standard_normal(_NOISE_PERIOD)
    if memory > 0:
        from scipy.signal import lfilter

        fresh = lfilter([math.sqrt(1 - memory**2)], [1.0, -memory], fresh)
    # The median is 1: a plant's times are those of an undisturbed batch.
    drifts: FloatArray = np.exp(noise * fresh)
    stalls = np.where(random.random(_NOISE_PERIOD) < stall_share, random.exponential(1.0, _NOISE_PERIOD), 0.0)
    return drifts * (1 + stall * stalls), drifts


@lru_cache
def load_plant(name: str) -> Plant:
    """A plant by name: `thesis`, `spark`, or the path of a file that `penstock fit-plant` wrote.

    >>> load_plant("thesis").shares
    (0.0625, 0.5, 0.25, 0.125, 0.0625)
    """
    if name == "thesis":
        from penstock.sim.thesis import thesis_plant

        return thesis_plant()
    if name == "spark":
        return plant_of(json.loads(resources.files("penstock.sim").joinpath(FITTED).read_text()), FITTED)
    path = Path(name)
    if path.suffix != ".json":
        raise BadInputError("plant", name, "no such plant", f"write one of {', '.join(NAMES)}, or a fitted .json file")
    try:
        fields = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise BadInputError("plant", name, "not a fitted plant", "make one with: penstock fit-plant RUN_DIR") from error
    return plant_of(fields, name)


def plant_of(fields: Any, where: str) -> Plant:
    """The plant in a fitted file's content."""
    try:
        known = dict(fields["plant"])
        return Plant(**known | {"shares": tuple(known.get("shares", (1.0,)))})
    except (KeyError, TypeError, ValueError) as error:
        raise BadInputError(
            "plant", where, "not a fitted plant", "make one with: penstock fit-plant RUN_DIR"
        ) from error


def plant_fields(plant: Plant) -> dict[str, Any]:
    """A plant as a fitted file holds it."""
    return asdict(plant) | {"shares": list(plant.shares)}
