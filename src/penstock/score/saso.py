"""Stability, accuracy, settling time and overshoot after each load change (thesis, section 2.3)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from penstock.errors import BadInputError
from penstock.sample import BatchSample
from penstock.score.hits import distances
from penstock.slo import Metric, Slo

LOAD_JUMP = 0.25
HELD_BATCHES = 3
STABLE_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Response:
    """What the loop did between one load change and the next.

    `settling_batches` counts the batches before the first of `held` in a row that met the SLO, and `settling_s` the
    time to its start; both are None where that never came. `overshoot` is the worst value before it on the harmful
    side of the target (too slow), and `accuracy` the mean distance from the target afterwards, both in percent of the
    target. `stable` is whether it settled and then met the SLO in at least 90% of the batches.
    """

    batch_id: int
    part: str | None
    batches: int
    settling_batches: int | None
    settling_s: float | None
    overshoot: float
    accuracy: float | None
    stable: bool


def load_changes(samples: Sequence[BatchSample], jump: float = LOAD_JUMP) -> list[int]:
    """The positions where a new part begins, or the load differs by more than `jump` from the batch before.

    >>> run = [BatchSample(i, 1, 1, 1.0, load=load) for i, load in enumerate([10.0, 11.0, 20.0, 20.0])]
    >>> load_changes(run)
    [2]
    """
    if not jump > 0:
        raise BadInputError("jump", jump, "every batch would be a load change", "give a fraction such as 0.25")
    pairs = enumerate(pairwise(samples), start=1)
    return [index for index, (before, after) in pairs if _changed(before, after, jump)]


def responses(
    samples: Iterable[BatchSample], slo: Slo, jump: float = LOAD_JUMP, held: int = HELD_BATCHES
) -> list[Response]:
    """One response a load change, in order; ignored batches are passed over.

    >>> seconds = [1.0, 1.0, 2.0, 1.5, 1.0, 1.0, 1.1]
    >>> run = [BatchSample(i, 1, 1, s, part="low" if i < 2 else "high") for i, s in enumerate(seconds)]
    >>> response, = responses(run, Slo.parse("1 s ± 10%"))
    >>> response.settling_batches, response.settling_s, response.overshoot, round(response.accuracy, 1), response.stable
    (2, 3.5, 100.0, 3.3, True)
    """
    if held < 1:
        raise BadInputError("held", held, "settling is shown by batches that meet the SLO", "give at least 1")
    measured = [sample for sample in samples if sample.usable and _value(sample, slo) is not None]
    starts = load_changes(measured, jump)
    return [_response(measured[start:end], slo, held) for start, end in pairwise([*starts, len(measured)])]


def settling_batches(values: Iterable[float], slo: Slo, held: int = HELD_BATCHES) -> int | None:
    """How many batches came before the first of `held` in a row that met the SLO; None where that never came.

    >>> settling_batches([2.0, 1.0, 1.5, 1.0, 1.0, 1.1], Slo.parse("1 s ± 10%"))
    3
    """
    return _settled([slo.holds(value) for value in values], held)


def _settled(met: Sequence[bool], held: int) -> int | None:
    in_a_row = 0
    for number, hit in enumerate(met):
        in_a_row = in_a_row + 1 if hit else 0
        if in_a_row == held:
            return number + 1 - held
    return None


def _response(samples: Sequence[BatchSample], slo: Slo, held: int) -> Response:
    values = [value for sample in samples if (value := _value(sample, slo)) is not None]
    met = [slo.holds(value) for value in values]
    settled = _settled(met, held)
    harm = -1 if slo.metric is Metric.THROUGHPUT else 1
    excess = [100.0 * harm * (value - slo.target) / slo.target for value in values[:settled]]
    return Response(
        batch_id=samples[0].batch_id,
        part=samples[0].part,
        batches=len(samples),
        settling_batches=settled,
        settling_s=None if settled is None else _elapsed_s(samples, settled),
        overshoot=max([0.0, *excess]),
        accuracy=None if settled is None else float(distances(values[settled:], slo).mean()),
        stable=settled is not None and sum(met[settled:]) >= STABLE_SHARE * len(met[settled:]),
    )


def _elapsed_s(samples: Sequence[BatchSample], until: int) -> float:
    first, last = samples[0].started_s, samples[until].started_s
    if first is not None and last is not None and last >= first:
        return last - first
    return sum(sample.processing_s for sample in samples[:until])


def _changed(before: BatchSample, after: BatchSample, jump: float) -> bool:
    if before.part != after.part:
        return True
    if before.load is None or after.load is None:
        return False
    return abs(after.load - before.load) > jump * abs(before.load)


def _value(sample: BatchSample, slo: Slo) -> float | None:
    value = slo.measure(sample)
    return value if value is not None and math.isfinite(value) else None
