"""A yardstick: who is told what samples can tell, without noise, and nothing of what waits or is on its way."""

from __future__ import annotations

from penstock.sample import BatchSample, Decision
from penstock.sim.plant import Plant
from penstock.sim.thesis import latency_of_service
from penstock.size import check_size, clamp, format_change
from penstock.slo import Metric, Slo

REPORTED = "oracle-reported"
# Of an item, on a plant whose batches take as long whatever their size.
_LEAST_S = 1e-12


class ReportedOracle:
    """Knows the plant, and of every batch that has left it the true cost of its items; solves for the target.

    A learner has to find both out through noise. What neither can know is the load of batches that have not left yet:
    on a plant with a queue that is the difference to `oracle-causal`, which knows when each of those will leave. Where
    noise lasts, what is left of it in the next batch is known as well, but for stalls, which are taken for noise. The
    cost is the mean of a batch, so one that lies across a jump says less than all about it.

    >>> plant = Plant("toy", a_batch_s=0.25, volume_s=0.0625)
    >>> oracle = ReportedOracle(Slo.parse("1 s ± 10%"), 10, plant)
    >>> oracle.decide(BatchSample(batch_id=0, size=10, items=10, processing_s=1.5, load=2.0)).size
    6.0
    """

    def __init__(self, slo: Slo, size: float, plant: Plant, delay: int = 0) -> None:
        """Samples come `delay` batches late."""
        self.slo = slo
        self.size = check_size("size", size)
        self._plant = plant
        self._memory = plant.memory ** (delay + 1)
        self._stays = latency_of_service(plant.shares, plant.places)

    def decide(self, sample: BatchSample) -> Decision:
        """The size whose latency is the target, if the next batches are as the one that has just left."""
        assert sample.load is not None
        plant, cost, before = self._plant, sample.load, self.size
        noise = sample.processing_s / (self._stays * plant.ideal_s(sample.items, cost))
        waited_s = (sample.wait_s or 0.0) if self.slo.metric is Metric.END_TO_END else 0.0
        service_s = (self.slo.aim - waited_s) / (self._stays * noise**self._memory)
        each_s = max(plant.an_item_s + plant.volume_s * cost**plant.power, _LEAST_S)
        self.size = clamp(max((service_s - plant.a_batch_s - plant.depth_s * cost) / each_s, 1.0))
        return Decision(self.size, f"{format_change(before, self.size)}: items of cost {cost:g}")
