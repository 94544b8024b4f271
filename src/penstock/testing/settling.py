"""How fast and how calmly a controller reaches its target: measured and reported, never demanded."""

from __future__ import annotations

from typing import TypedDict

from penstock.control.registry import create, parse_spec
from penstock.slo import Slo
from penstock.testing.fakes import LinearPlant, closed_loop

_BATCHES = 400
_TAIL = 100


class Settling(TypedDict):
    """One run against a linear plant: from a tenth of the right size, at 1 s ± 10%, 400 batches.

    `settled_after` is the first batch from which all are within the band, None unless the last 100 are. `hits` is the
    share of those 100 within it. `overshoot` is how far latency went over the target, and `swing` the range of the last
    100 sizes; both as a share of the right value.
    """

    controller: str
    delay: int
    settled_after: int | None
    hits: float
    overshoot: float
    swing: float


def measure_settling(spec: str, delay: int, noise: float = 0.0, seed: int = 0) -> Settling:
    """Run a registered controller against a plant whose samples come `delay` batches late.

    >>> run = measure_settling("faf", delay=0)
    >>> run["settled_after"], run["hits"], run["swing"]
    (8, 1.0, 0.0)
    """
    slo = Slo.parse("1 s ± 10%")
    plant = LinearPlant(overhead_s=0.1, per_item_s=0.009, noise=noise, seed=seed)
    right_size = plant.size_for(slo.target)
    name, settings = parse_spec(spec)
    controller = create(name, slo, right_size / 10, **settings)
    samples = [sample for sample, _ in closed_loop(controller, plant, _BATCHES, delay)]
    held = [slo.holds(sample.processing_s) for sample in samples]
    last_miss = max((index for index, hit in enumerate(held) if not hit), default=-1)
    sizes = [sample.size for sample in samples[-_TAIL:]]
    return Settling(
        controller=spec,
        delay=delay,
        settled_after=last_miss + 1 if all(held[-_TAIL:]) else None,
        hits=sum(held[-_TAIL:]) / _TAIL,
        overshoot=max(max(sample.processing_s for sample in samples) / slo.target - 1, 0.0),
        swing=(max(sizes) - min(sizes)) / right_size,
    )
