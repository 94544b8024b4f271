"""The plant `thesis`: the pipeline of the published evaluation, from the facts that it reports (5.2 and 5.3).

    single items take 0.15 ms at the lowest load; at the highest, a target of 3 ms is "close to the highest latency
    without batching" and met "at almost any point", with a size close to 1
    300 of the lightest items take 3 ms
    batching gives up to 25 times the throughput of single items, over all load patterns (sizes up to 500)
    at a fixed size of 100: 1,000,000 items in 12 s, about 10 ms of latency, so about 8 batches in flight
    single items were seen to take up to about 5 ms, rare extremes left out

The last two do not agree with the first if 5 ms were the undisturbed time of the heaviest item: three items in ten
could then never meet 3 ms, where the thesis found that leaving out impossible situations changes little. So the
heaviest item takes 3 ms, and stalls lift one latency in a thousand to about 5 ms.

Four unknowns follow: the range of costs, `depth_s`, `volume_s` and `power`. How the work is shared by the stages is not
published, only that the source and the last two are light: from the second stage on each has half of the one before
it, in the order that our own stages have; five places in each queue then hold about 8 batches in flight. Costs are
squares of widths, and patterns run over the width, as in the benchmark. The noise is not published either: 3% for each
stage is an assumption. `docs/decisions/010-plants.md` tells what was tried before.
"""

from __future__ import annotations

from penstock.patterns.layout import thesis_layout
from penstock.sim.load import index_costs
from penstock.sim.plant import Plant

SHARES = (1 / 16, 8 / 16, 4 / 16, 2 / 16, 1 / 16)
PLACES = 5
LIGHTEST_S, HEAVIEST_S = 0.15e-3, 3e-3
FULL_ITEMS, FULL_S = 300, 3e-3
GAIN, GAIN_AT = 25.0, 500
NOISE = 0.03
STALL_SHARE, STALL = 0.001, 6.0


def thesis_plant() -> Plant:
    """Solve for the unknowns.

    >>> plant = thesis_plant()
    >>> [round(1e3 * latency_s(plant, items, cost), 2) for items, cost in ((1, 1.0), (300, 1.0), (1, plant.high_cost))]
    [0.15, 3.0, 3.0]
    """
    from scipy.optimize import brentq

    of_service = latency_of_service(SHARES, PLACES)
    light_s, full_s = LIGHTEST_S / of_service, FULL_S / of_service
    volume_s = (full_s - light_s) / (FULL_ITEMS - 1)
    depth_s = light_s - volume_s
    heavy_s = HEAVIEST_S / of_service

    def highest(power: float) -> float:
        return float(brentq(lambda cost: depth_s * cost + volume_s * cost**power - heavy_s, 1.0, 1e3))

    def gain(power: float) -> float:
        costs = index_costs(thesis_layout(1.0, highest(power) ** 0.5, 10_000), 10_000, square=True)
        depth, volume = depth_s * costs.mean(), volume_s * (costs**power).mean()
        return float((depth + volume) / (depth / GAIN_AT + volume))

    power = float(brentq(lambda power: gain(power) - GAIN, 0.1, 1.5))
    return Plant(
        "thesis",
        depth_s=depth_s,
        volume_s=volume_s,
        power=power,
        shares=SHARES,
        places=PLACES,
        noise=NOISE,
        stall_share=STALL_SHARE,
        stall=STALL,
        high_cost=highest(power),
    )


def latency_of_service(shares: tuple[float, ...], places: int) -> float:
    """How many times its service time a batch takes, where equal batches follow each other without noise.

    The slowest stage lets one through at a time. A batch waits that long to leave the first stage, for each place in
    the queue, and is served that long; the stages after the slowest are free when it comes.

    >>> latency_of_service((0.25, 0.75), places=1)
    2.25
    """
    slowest = shares.index(max(shares))
    return (slowest * (places + 1) + 1) * shares[slowest] + sum(shares[slowest + 1 :])


def latency_s(plant: Plant, items: int, cost: float) -> float:
    """The latency of such batches."""
    return latency_of_service(plant.shares, plant.places) * plant.ideal_s(items, cost)
