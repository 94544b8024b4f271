"""Stand-ins for the parts around a controller: samples, a plant that answers a size with a latency, a gate."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator

from penstock.control.protocol import Controller
from penstock.errors import BadInputError
from penstock.sample import BatchSample, Decision, Status
from penstock.slo import Metric, Slo


def sample_of(slo: Slo, value: float, batch_id: int = 0, size: int = 100, status: Status = Status.OK) -> BatchSample:
    """A sample in which the SLO's metric has this value.

    >>> slo = Slo.parse(">= 500/s")
    >>> slo.measure(sample_of(slo, 400.0, size=200))
    400.0
    """
    if slo.metric is Metric.THROUGHPUT:
        processing_s = size / value if value else 0.0
        return BatchSample(batch_id=batch_id, size=size, items=size, processing_s=processing_s, status=status)
    wait_s = 0.25 * value if slo.metric is Metric.END_TO_END else 0.0
    processing_s = value - wait_s
    return BatchSample(
        batch_id=batch_id, size=size, items=size, processing_s=processing_s, wait_s=wait_s, status=status
    )


class LinearPlant:
    """A machine on which a batch takes a fixed time plus a time per item.

        processing = (overhead_s + per_item_s * items) * (1 + noise * gauss)

    >>> plant = LinearPlant(overhead_s=0.1, per_item_s=0.009)
    >>> round(plant.run(50).processing_s, 3), round(plant.size_for(1.0))
    (0.55, 100)
    """

    def __init__(self, overhead_s: float, per_item_s: float, noise: float = 0.0, seed: int = 0) -> None:
        for field, value in (("overhead_s", overhead_s), ("per_item_s", per_item_s), ("noise", noise)):
            if not value >= 0:
                raise BadInputError(field, value, "a plant takes no negative time", "write 0 or more")
        self.overhead_s = overhead_s
        self.per_item_s = per_item_s
        self.noise = noise
        self._random = random.Random(seed)
        self._batches = 0

    def run(self, size: float) -> BatchSample:
        """One batch of this size, rounded to whole items, at least one."""
        items = max(round(size), 1)
        # Noise may double a time but never undo it.
        swing = min(max(self._random.gauss(0.0, self.noise), -0.9), 1.0)
        sample = BatchSample(
            batch_id=self._batches,
            size=items,
            items=items,
            processing_s=(self.overhead_s + self.per_item_s * items) * (1 + swing),
            wait_s=0.0,
        )
        self._batches += 1
        return sample

    def size_for(self, processing_s: float) -> float:
        """The size that takes this long without noise."""
        return (processing_s - self.overhead_s) / self.per_item_s


class FakeGate:
    """A gate that only remembers what was applied.

    >>> gate = FakeGate(unit="files")
    >>> gate.apply(Decision(12.0, "because"))
    >>> gate.unit, gate.size, gate.restored
    ('files', 12.0, False)
    """

    def __init__(self, unit: str = "rows") -> None:
        self.unit = unit
        self.applied: list[Decision] = []
        self.restored = False

    def apply(self, decision: Decision) -> None:
        """Remember the decision."""
        self.applied.append(decision)

    def restore(self) -> None:
        """Remember that the user's own limit is back."""
        self.restored = True

    @property
    def size(self) -> float | None:
        """The size last applied, None before the first."""
        return self.applied[-1].size if self.applied else None


def closed_loop(
    controller: Controller, plant: LinearPlant, batches: int, delay: int = 0, missing: float = 0.0, seed: int = 0
) -> Iterator[tuple[BatchSample, Decision | None]]:
    """Run a controller against a plant: each batch, and the decision taken after it.

    A sample reaches the controller `delay` batches late; a share `missing` of them never does, and the decision is
    then None.

    >>> from penstock.control.faf import Faf
    >>> controller = Faf(Slo.parse("1 s ± 10%"), size=50)
    >>> loop = closed_loop(controller, LinearPlant(overhead_s=0.1, per_item_s=0.009), batches=8, delay=1)
    >>> [sample.items for sample, _ in loop]
    [50, 50, 60, 70, 80, 90, 100, 100]
    """
    lost = random.Random(seed)
    on_the_way: deque[BatchSample] = deque()
    for _ in range(batches):
        sample = plant.run(controller.size)
        on_the_way.append(sample)
        decision = None
        if len(on_the_way) > delay:
            arrived = on_the_way.popleft()
            if lost.random() >= missing:
                decision = controller.decide(arrived)
        yield sample, decision
