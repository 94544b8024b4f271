"""The batches of a run as a report shows them: each with its time, its verdict, and what was decided on it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

from penstock.journal import Recording
from penstock.journal.reader import DecisionRecord
from penstock.sample import BatchSample
from penstock.slo import Slo, Verdict

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch at its place in the journal; `value` is the measure that the SLO is about, where it is known."""

    place: int
    sample: BatchSample
    value: float | None
    verdict: Verdict
    at_s: float
    decision: DecisionRecord | None

    @property
    def drawable(self) -> bool:
        """Whether there is a point to draw."""
        return self.value is not None and self.sample.size > 0 and math.isfinite(self.sample.size)


def batches_of(recording: Recording, slo: Slo) -> list[Batch]:
    """All batches, in order, against seconds since the first one.

    Where a start is not known, batches stand one after another without a pause.
    """
    samples = recording.samples
    owners = owners_of(recording)
    decided = {place: record for record, place in zip(recording.decisions, owners, strict=True) if place is not None}
    return [
        Batch(place, sample, _value(sample, slo), slo.verdict(sample), at_s, decided.get(place))
        for place, (sample, at_s) in enumerate(zip(samples, _times_s(samples), strict=True))
    ]


def owners_of(recording: Recording) -> list[int | None]:
    """For each decision the place of the batch it was taken on, or None for the first size of all.

    Batch ids start again with a new query, so of batches with one id it is the last that had started.
    """
    places: dict[int, list[int]] = defaultdict(list)
    for place, sample in enumerate(recording.samples):
        places[sample.batch_id].append(place)
    owners: list[int | None] = []
    for record in recording.decisions:
        same = places.get(record.batch_id, [])
        begun = [place for place in same if (recording.samples[place].started_s or 0.0) <= record.t]
        owners.append(begun[-1] if begun else same[0] if same else None)
    return owners


def thinned(batches: Sequence[Batch], most: int) -> list[Batch]:
    """At most about `most` of the batches: an even choice, and of every stretch the highest so that no peak is lost.

    Four of five are the even choice: a choice of extremes alone would make a calm run look wild.
    """
    if len(batches) <= most:
        return list(batches)
    step = math.ceil(len(batches) / (0.8 * most))
    kept = set(range(0, len(batches), step))
    stretch = 4 * step
    for first in range(0, len(batches), stretch):
        kept.add(max(range(first, min(first + stretch, len(batches))), key=lambda at: _height(batches[at])))
    return [batches[at] for at in sorted(kept)]


def every(values: Sequence[_T], most: int) -> list[_T]:
    """At most about `most` of the values, evenly, and always the last.

    >>> every(list(range(10)), 4)
    [0, 3, 6, 9]
    """
    step = max(math.ceil(len(values) / most), 1)
    kept = list(values[::step])
    return kept if not values or (len(values) - 1) % step == 0 else [*kept, values[-1]]


def _height(batch: Batch) -> float:
    return -math.inf if batch.value is None else batch.value


def _value(sample: BatchSample, slo: Slo) -> float | None:
    value = slo.measure(sample)
    usable = value is not None and math.isfinite(value) and math.isfinite(sample.processing_s)
    return value if usable else None


def _times_s(samples: Sequence[BatchSample]) -> list[float]:
    starts = [sample.started_s for sample in samples if sample.started_s is not None]
    if len(starts) == len(samples) and all(map(math.isfinite, starts)):
        return [start - starts[0] for start in starts]
    lasted = [sample.processing_s if math.isfinite(sample.processing_s) else 0.0 for sample in samples]
    return list(accumulate(lasted, initial=0.0))[: len(samples)]
