"""The simulator's loop as one would first write it, to measure the simulator against and to check it by."""

from __future__ import annotations

from penstock.control.protocol import Controller
from penstock.sample import BatchSample
from penstock.sim.plant import Plant


def naive_run(
    controller: Controller, plant: Plant, costs: list[float], noise: list[float], delay: int = 0
) -> list[tuple[int, float, float]]:
    """Items, start and end of each batch: every batch adds up its own items and looks through all batches before it.

    The pipeline is that of `penstock.sim.kernel`, from the recurrences in its docstring, with all of history kept.
    """
    stages = len(plant.shares)
    starts: list[list[float]] = []
    leaves: list[list[float]] = []
    batches: list[tuple[int, float, float]] = []
    at = learned = 0
    while at < len(costs):
        now_s = leaves[-1][0] if leaves else 0.0
        while learned < len(batches) - delay and batches[learned][2] <= now_s:
            items, began_s, ended_s = batches[learned]
            controller.decide(BatchSample(learned, float(items), items, ended_s - began_s, started_s=began_s))
            learned += 1
        here = costs[at : at + max(int(controller.size + 0.5), 1)]
        work_s = plant.a_batch_s + plant.an_item_s * len(here)
        work_s += plant.depth_s * sum(here) / len(here) + plant.volume_s * sum(cost**plant.power for cost in here)
        number, start, leave = len(batches), [0.0] * stages, [0.0] * stages
        for stage in range(stages):
            before_s = leaves[-1][stage] if leaves else 0.0
            start[stage] = max(now_s if stage == 0 else leave[stage - 1], before_s)
            share_s = work_s * plant.shares[stage] * noise[(number * stages + stage) % len(noise)]
            leave[stage] = start[stage] + share_s
            if stage + 1 < stages and number >= plant.places:
                leave[stage] = max(leave[stage], starts[number - plant.places][stage + 1])
        starts.append(start)
        leaves.append(leave)
        batches.append((len(here), now_s, leave[-1]))
        at += len(here)
    return batches
