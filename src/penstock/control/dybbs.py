"""DyBBS: isotonic regression of latency on size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import ClassVar

from penstock.control.learning import LearningController
from penstock.control.protocol import Change
from penstock.model.past import Past
from penstock.sample import BatchSample
from penstock.size import format_size
from penstock.slo import Slo

Block = tuple[float, float]


def isotonic(points: Iterable[Block]) -> list[Block]:
    """The non-decreasing step function nearest to the points, as (mean size, level) of each block of equal level.

    Pool adjacent violators: from the smallest size on, a block that is not above the one before it is merged with it.

    >>> isotonic([(10, 1.0), (20, 3.0), (30, 2.0), (40, 4.0)])
    [(10.0, 1.0), (25.0, 2.5), (40.0, 4.0)]
    """
    groups: list[tuple[float, float, float]] = []
    for size, value in sorted(points):
        # Equal sizes are one point: their mean, of so much more weight.
        if groups and groups[-1][1] == size * groups[-1][0]:
            weight, sizes, values = groups.pop()
            groups.append((weight + 1, size * (weight + 1), values + value))
        else:
            groups.append((1.0, size, value))
    blocks: list[tuple[float, float, float]] = []
    for weight, sizes, values in groups:
        while blocks and blocks[-1][2] * weight >= values * blocks[-1][0]:
            merged = blocks.pop()
            weight, sizes, values = weight + merged[0], sizes + merged[1], values + merged[2]
        blocks.append((weight, sizes, values))
    return [(sizes / weight, values / weight) for weight, sizes, values in blocks]


def inverse(blocks: Sequence[Block], level: float) -> float:
    """The size at which the blocks reach a level: straight between two of them, in proportion beyond the outer ones.

    >>> blocks = [(10.0, 1.0), (25.0, 2.5), (40.0, 4.0)]
    >>> inverse(blocks, 3.0), inverse(blocks, 0.5), inverse(blocks, 8.0)
    (30.0, 5.0, 80.0)
    """
    for (left, low), (right, high) in pairwise(blocks):
        if low <= level <= high:
            return left + (right - left) * (level - low) / (high - low)
    size, known = blocks[0] if level < blocks[0][1] else blocks[-1]
    return size * level / known


class Dybbs(LearningController):
    """Isotonic regression: assumes only that a larger batch takes no less time, and reads the size off at the target.

    Over the last `window` batches, f = the non-decreasing function nearest to their latencies (least squares):

        size' = f^-1(target)     straight between two levels, in proportion beyond those seen

    Where f would move the size away from what the batch calls for, it is out of date and the step is n / r, in
    proportion to the batch itself (n its size, r = latency / target). Within the band the size stays.

    Source: Zhang, Song, Routray and Shi, "Adaptive Block and Batch Sizing for Batched Stream Processing System" (2016).
    They regress on the batch interval and look for the smallest one that the processing keeps up with; here the size is
    regressed on, and the target is the SLO's. Their history is kept by input rate and intervals; ours is the last
    batches, so that a changed load is forgotten. Their second half, the heuristic for the block interval, has no
    counterpart: in Structured Streaming no blocks are cut while a batch is collected. A throughput grows with the size
    too, and is regressed alike.

    >>> controller = Dybbs(Slo.parse("1 s ± 10%"), size=100)
    >>> controller.decide(BatchSample(batch_id=0, size=100, items=100, processing_s=0.3)).reason
    'size 333 (+233%): the last batch took 300 ms, under 900 ms; 1 level seen, 1 s expected at 333'
    >>> controller.decide(BatchSample(batch_id=1, size=333, items=333, processing_s=1.2)).reason
    'size 281 (-16%): the last batch took 1.2 s, over 1.1 s; 2 levels seen, 1 s expected at 281'
    """

    live_defaults: ClassVar[Mapping[str, object]] = {"warm_up": True, "window": 10}
    """On a live query it is the cost of an item that drifts, and an old batch then misleads more than it teaches."""

    def __init__(self, slo: Slo, size: float, window: int = 30) -> None:
        super().__init__(slo, size)
        self._past = Past(window)

    def changed(self, change: Change) -> None:
        """Forget the last batches."""
        self._past = Past(self._past.window)

    def plan_from(self, sample: BatchSample, ratio: float) -> float:
        """What the regression says, where it and the batch agree on the direction."""
        self._past.add(sample.size, ratio)
        if self._low <= ratio <= self._high:
            return self.size
        blocks = isotonic(zip(self._past.sizes, self._past.values, strict=True))
        planned = inverse(blocks, 1.0)
        if (planned > self.size) != (ratio < 1):
            self.belief = "what was seen before no longer holds, so in proportion to this batch"
            return self.agreeing(sample.size / ratio, ratio)
        levels = f"{len(blocks)} level{'s' if len(blocks) > 1 else ''}"
        self.belief = f"{levels} seen, {self.slo.format_value(self.slo.aim)} expected at {format_size(planned)}"
        return planned
