"""The loop in plain numbers: batches through a pipeline, latencies back to a formula.

Everything here is a function of numbers and indexable sequences. Run as it stands, on lists, it is the interpreted
simulator; `penstock.sim.compiled` gives the same functions compiled by Numba, on arrays. Both must agree to the last
bit, and a test says so. Controllers that are not in the kernel meet the same pipeline in `penstock.sim.run`.

A batch that is admitted at time t passes the stages one after another. With q places between two stages, batch i
leaves stage s for the queue when batch i - q has left that queue, so a slow stage holds up those before it:

    start(i, s)  = max(leave(i, s - 1), leave(i - 1, s))
    leave(i, s)  = max(start(i, s) + service(i, s), start(i - q, s + 1))

and its latency is leave(i, last) - t. One stage is a machine that does one batch at a time, as Spark does.
"""

from __future__ import annotations

from typing import Any

from penstock.control.mbaf import multiplier_up
from penstock.control.pbaf import fraction_down, fraction_up
from penstock.control.pid import position
from penstock.control.pmbaf import fine_or_fast_down, fine_or_fast_up
from penstock.control.step import stepped_down, stepped_up
from penstock.size import LARGEST, SMALLEST

FIXED, FAF, PBAF, MBAF, PMBAF, PID, ORACLE, CAUSAL = range(8)

# Places in `form`, what a controller is to the kernel.
KIND, AIM, LOW, HIGH, STEP, RELATIVE, LINEAR, KP, KI, KD, SAMPLE, WAITS = range(12)
# Places in `times`, what a batch costs: seconds each, the exponent of noise that is still felt a batch later.
A_BATCH, AN_ITEM, DEPTH, VOLUME, MEMORY = range(5)
# Places in `memory`: the PID's sum and last error, the sum and number of latencies since the last decision.
_SUM, _LAST, _TOTAL, _COUNT = range(4)

# A column of numbers: a list when interpreted, an array when compiled.
Column = Any


def pass_through(
    leave: Column, starts: Column, batch: int, began_s: float, service_s: float, shares: Column, noise: Column
) -> float:
    """Send one batch through the stages; returns when it leaves the last one. Updates `leave` and `starts`."""
    stages, places = len(shares), len(starts) // len(shares)
    slot = batch % places
    ready_s = began_s
    for stage in range(stages):
        start_s = max(ready_s, leave[stage])
        ready_s = start_s + service_s * shares[stage] * noise[(batch * stages + stage) % len(noise)]
        if stage + 1 < stages:
            ready_s = max(ready_s, starts[(stage + 1) * places + slot])
        starts[stage * places + slot] = start_s
        leave[stage] = ready_s
    return ready_s


def foresee(leave: Column, starts: Column, batch: int, began_s: float, service_s: float, shares: Column) -> float:
    """When a batch of this service time would leave, if nothing disturbed it. Changes nothing."""
    stages, places = len(shares), len(starts) // len(shares)
    slot = batch % places
    ready_s = began_s
    for stage in range(stages):
        ready_s = max(ready_s, leave[stage]) + service_s * shares[stage]
        if stage + 1 < stages:
            ready_s = max(ready_s, starts[(stage + 1) * places + slot])
    return ready_s


def service(times: Column, items: float, depth: float, volume: float) -> float:
    """Seconds of work in a batch: for being a batch, for each item, for the mean item's depth, for all volume."""
    work_s: float = times[A_BATCH] + times[AN_ITEM] * items + times[DEPTH] * depth / items + times[VOLUME] * volume
    return work_s


def steps_up(kind: int, ratio: float, linear: bool) -> float:
    """How many steps each algorithm grows by."""
    if kind == PMBAF:
        return fine_or_fast_up(ratio, linear)
    if kind == MBAF:
        return multiplier_up(ratio, True)
    return fraction_up(ratio, linear) if kind == PBAF else 1.0


def steps_down(kind: int, ratio: float) -> float:
    """How many steps each algorithm shrinks by."""
    if kind == PMBAF:
        return fine_or_fast_down(ratio)
    if kind == MBAF:
        return ratio
    return fraction_down(ratio) if kind == PBAF else 1.0


def next_size(form: Column, memory: Column, size: float, ratio: float) -> float:
    """The size after a decision on this ratio of value to aim, at least 1."""
    kind = int(form[KIND])
    if kind == PID:
        error = 1 - ratio
        memory[_SUM] += error
        size = position(error, memory[_SUM], memory[_LAST], form[KP], form[KI], form[KD])
        memory[_LAST] = error
        if size < 1:
            memory[_SUM] = 0.0
    elif kind != FIXED:
        if ratio < form[LOW]:
            size = stepped_up(size, steps_up(kind, ratio, form[LINEAR] > 0), form[STEP], form[RELATIVE] > 0)
        elif ratio > form[HIGH]:
            size = stepped_down(size, steps_down(kind, ratio), form[STEP], form[RELATIVE] > 0)
    return min(max(size, SMALLEST), LARGEST)


def learn(form: Column, memory: Column, size: float, latency_s: float) -> float:
    """The size after one more batch was measured; with a sample of k, every k-th of them decides, on the mean."""
    memory[_TOTAL] += latency_s
    memory[_COUNT] += 1
    if memory[_COUNT] < form[SAMPLE]:
        return size
    mean_s = memory[_TOTAL] / memory[_COUNT]
    memory[_TOTAL] = 0.0
    memory[_COUNT] = 0.0
    return next_size(form, memory, size, mean_s / form[AIM])


def foreseen_work_s(
    causal: bool, items: int, at: int, known: int, times: Column, depth: Column, volume: Column
) -> float:
    """The work that an oracle foresees: by the true costs ahead, or (causal) by that of the last of `known` items."""
    if causal:
        item_depth, item_volume = depth[known] - depth[known - 1], volume[known] - volume[known - 1]
        return service(times, items, items * item_depth, items * item_volume)
    return service(times, items, depth[at + items] - depth[at], volume[at + items] - volume[at])


def best_items(
    causal: bool,
    guess: int,
    most: int,
    goal_s: float,
    at: int,
    known: int,
    drift: float,
    batch: int,
    began_s: float,
    leave: Column,
    starts: Column,
    shares: Column,
    times: Column,
    depth: Column,
    volume: Column,
) -> int:
    """How many items, at least 1 and at most `most`, bring the latency nearest to the goal.

    Latency is taken to grow with the items, which it does but where light items join a heavy first one: from the guess
    outwards in doubling strides until the place is between two numbers, then by halving. All the time `low` items end
    by the goal, or none; and `high` do not, or there are not so many.

    `known` items have been processed; `drift` is what is still felt of the noise.
    """
    low, high = 0, most + 1
    below_s, above_s = 0.0, 0.0
    trial, stride = min(max(guess, 1), most), 1
    while high - low > 1:
        work_s = foreseen_work_s(causal, trial, at, known, times, depth, volume)
        took_s = foresee(leave, starts, batch, began_s, work_s * drift, shares) - began_s
        if took_s <= goal_s:
            low, below_s = trial, took_s
        else:
            high, above_s = trial, took_s
        stride *= 2
        if high > most:
            trial = min(low + stride, most)
        elif low == 0:
            trial = max(high - stride, 1)
        else:
            trial = (low + high) // 2
    if low == 0 or (high <= most and above_s - goal_s < goal_s - below_s):
        return high
    return low


def run_batches(
    form: Column,
    size: float,
    delay: int,
    depth: Column,
    volume: Column,
    arrival: Column,
    times: Column,
    shares: Column,
    places: int,
    noise: Column,
    drifts: Column,
) -> tuple[Column, Column, Column]:
    """All items through the plant: the items of each batch, when it was admitted and when it was done.

    `depth` and `volume` are running sums over the items, from 0 on. `arrival` is empty where all items wait from the
    start. A latency is known when its batch is done and `delay` more batches were admitted.
    """
    total = len(depth) - 1
    leave = [0.0 for _ in shares]
    starts = [0.0 for _ in range(len(shares) * places)]
    memory = [0.0 for _ in range(4)]
    counts = [0 for _ in range(0)]
    begins = [0.0 for _ in range(0)]
    ends = [0.0 for _ in range(0)]
    at, batch, learned, known, seen = 0, 0, 0, 0, 0
    kind = int(form[KIND])
    waits = len(arrival) > 0
    while at < total:
        now_s = leave[0]
        seen_to = total
        if waits:
            now_s = max(now_s, arrival[at])
            while seen < total and arrival[seen] <= now_s:
                seen += 1
            seen_to = seen
        while learned < batch - delay and ends[learned] <= now_s:
            latency_s = ends[learned] - begins[learned]
            if waits and form[WAITS] > 0:
                latency_s += begins[learned] - arrival[known]
            size = learn(form, memory, size, latency_s)
            known += counts[learned]
            learned += 1
        items = int(size + 0.5)
        if kind == ORACLE or (kind == CAUSAL and known > 0):
            goal_s = form[AIM]
            if waits and form[WAITS] > 0:
                goal_s -= now_s - arrival[at]
            # Noise lasts: what is left of the last batch's is no secret to who measures.
            drift = drifts[(learned - 1) % len(drifts)] ** (times[MEMORY] ** (batch - learned + 1)) if learned else 1.0
            guess = counts[batch - 1] if batch else 1
            items = best_items(
                kind == CAUSAL, guess, seen_to - at, goal_s, at, known, drift, batch, now_s, leave, starts, shares,
                times, depth, volume,
            )  # fmt: skip
        items = min(max(items, 1), seen_to - at)
        work_s = service(times, items, depth[at + items] - depth[at], volume[at + items] - volume[at])
        ends.append(pass_through(leave, starts, batch, now_s, work_s, shares, noise))
        begins.append(now_s)
        counts.append(items)
        at += items
        batch += 1
    return counts, begins, ends
