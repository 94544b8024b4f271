"""A queue in front of a machine, in virtual time: for controllers that decide when a batch starts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from penstock.control.protocol import Controller
from penstock.control.sample_value import begin
from penstock.sample import BatchSample, longest_wait_s
from penstock.testing.fakes import LinearPlant

POLL_S = 0.01


def queue_loop(
    controller: Controller, plant: LinearPlant, arrivals_s: Sequence[float], starts_s: float = 0.0
) -> list[BatchSample]:
    """Run a controller on items that arrive at these times; every batch, as a source with the rule of admission has it.

    The source looks every 10 ms. It starts at `starts_s`, however long the items have waited by then, and holds nothing
    back once the last item is there.

    >>> from penstock.control.fixed import Fixed
    >>> from penstock.slo import Slo
    >>> batches = queue_loop(Fixed(Slo.parse("1 s"), 2), LinearPlant(0.5, 0.0), [0.0, 0.1, 0.2, 2.0])
    >>> [(batch.items, batch.wait_s, batch.backlog) for batch in batches]
    [(1, 0.0, 0.0), (2, 0.4, 0.0), (1, 0.0, 0.0)]
    """
    decision = begin(controller.size)
    batches: list[BatchSample] = []
    at, now_s, total = 0, starts_s, len(arrivals_s)
    while at < total:
        now_s = max(now_s, arrivals_s[at])
        seen = bisect_right(arrivals_s, now_s)
        stop = min(seen, at + max(int(decision.size), 1))
        wait_s = now_s - arrivals_s[at]
        held_s = longest_wait_s(stop - at, decision.min_size, decision.max_wait_s, decision.item_s)
        if stop == seen < total and wait_s < held_s:
            now_s += POLL_S
            continue
        batch = replace(plant.run(stop - at), wait_s=wait_s, backlog=float(seen - stop), started_s=now_s)
        batches.append(batch)
        decision = controller.decide(batch)
        at, now_s = stop, now_s + batch.processing_s
    return batches
