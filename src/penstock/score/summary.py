"""A run in one JSON-ready dictionary."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.sample import BatchSample, Status
from penstock.score.hits import Numbers, SloMetrics, hits
from penstock.score.met import Met
from penstock.slo import Metric, Slo, Verdict

TOLERANCES = (0.05, 0.10, 0.15, 0.20)
_PERCENTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}


def quantile(values: Numbers, share: float) -> float | None:
    """The smallest value seen that at least this share of the values does not exceed.

    >>> quantile([3.0, 1.0, 2.0, 4.0], 0.75)
    3.0
    """
    value = np.asarray(values, dtype=np.float64)
    value = np.sort(value[np.isfinite(value)])
    # A share such as 0.99 of 100 is a little more than 99 in floats, and no reason to take the next value.
    return float(value[max(math.ceil(share * value.size - 1e-9), 1) - 1]) if value.size else None


def percentiles(values: Numbers, items: Numbers | None = None) -> dict[str, float | None]:
    """p50, p95, p99, mean and max; with `items`, each value counts as often as its batch has items.

    A percentile is the smallest value seen that at least this share does not exceed. It is never interpolated, so it
    is always the latency of a batch that ran.

    >>> percentiles([1.0, 9.0], items=[99, 1])["p95"], percentiles([1.0, 9.0])["p95"]
    (1.0, 9.0)
    """
    value = np.asarray(values, dtype=np.float64)
    weight = np.ones_like(value) if items is None else np.asarray(items, dtype=np.float64)
    known = np.isfinite(value)
    value, weight = value[known], weight[known]
    if not value.size:
        return dict.fromkeys((*_PERCENTILES, "mean", "max"))
    if weight.sum() <= 0:
        weight = np.ones_like(value)
    order = np.argsort(value)
    value, weight = value[order], weight[order]
    share = np.cumsum(weight) / weight.sum()
    picked = {name: value[np.searchsorted(share, rank)] for name, rank in _PERCENTILES.items()}
    numbers = {**picked, "mean": np.average(value, weights=weight), "max": value[-1]}
    return {name: _number(float(number)) for name, number in numbers.items()}


def throughput_per_s(samples: Iterable[BatchSample]) -> float | None:
    """Items a second of wall time, from the start of the first usable batch to the end of the last.

    Waiting between batches counts, and so do the items of ignored batches in between, unless they failed. Where a
    start is not known, it is the items of the usable batches over the sum of their processing times.

    >>> throughput_per_s(BatchSample(i, 10, 10, processing_s=1.0, started_s=2.0 * i) for i in range(2))
    6.666666666666667
    """
    everything = list(samples)
    usable = [sample for sample in everything if sample.usable]
    starts = [sample.started_s for sample in usable if sample.started_s is not None]
    if usable and len(starts) == len(usable):
        first = min(starts)
        last = max(start + sample.processing_s for start, sample in zip(starts, usable, strict=True))
        if math.isfinite(last - first) and last > first:
            return sum(_items_between(sample, first, last) for sample in everything) / (last - first)
    busy_s = sum(sample.processing_s for sample in usable)
    return sum(sample.items for sample in usable) / busy_s if busy_s > 0 else None


def summarise(samples: Iterable[BatchSample], slo: Slo, tolerances: Sequence[float] = TOLERANCES) -> dict[str, Any]:
    """Everything a report says about a run, with no NaN in it.

    `met_percent` is what people ask for first: the batches that met the objective, one that was early with nothing left
    to take among them; `met` has it in numbers. `b_slh` and its kin are as the thesis defines them.

    Only batches with a verdict count in the metrics; the others are counted under `ignored`, by status, or as
    "unmeasured" where the SLO's measure is not known. `latency_s` (the latency that the SLO names; processing for a
    throughput) is weighted by items, as it is items that wait; `batch_latency_s` counts every batch once.

    `percentile` is the one that the SLO bounds, over batches, and whether it was kept. Of two objectives the metrics
    are those of the first; `also` has those of the second and the hits of `both`, and verdicts are on both.

    >>> run = [BatchSample(i, 10, 10, processing_s=1.0 + i / 10) for i in range(3)]
    >>> summary = summarise(run, Slo.parse("1 s ± 10%"))
    >>> round(summary["b_slh"], 1), summary["at"]["20%"]["b_slh"], summary["latency_s"]["p50"]
    (66.7, 100.0, 1.1)
    >>> summarise([BatchSample(0, 10, 10, processing_s=0.6, backlog=0)], Slo.parse("1 s ± 10%"))["met"]
    {'batches': 1, 'counted': 1, 'early': 1}
    >>> summarise(run, Slo.parse("p50 <= 1.1 s"))["percentile"]
    {'name': 'p50', 'value_s': 1.1, 'kept': True}
    >>> summarise(run, Slo.parse("1 s ± 10% & >= 10/s"))["also"]["both"]
    {'b_slh': 33.3..., 'i_slh': 33.3...}
    """
    everything = list(samples)
    usable = [sample for sample in everything if sample.usable]
    measured = _Measured.of(usable, slo)
    known = np.isfinite(measured.values)
    counted = measured.where(known)
    ignored = Counter(
        sample.status.value for sample in everything if not sample.usable and sample.status is not Status.OK
    )
    ignored["unmeasured"] = len(everything) - int(known.sum()) - sum(ignored.values())
    verdicts = _verdicts(usable, measured, slo)
    verdicts[Verdict.UNKNOWN] = len(everything) - verdicts.total()
    latencies = [sample.end_to_end_s if slo.metric is Metric.END_TO_END else sample.processing_s for sample in usable]
    throughput = throughput_per_s(everything)
    met = Met.of(usable, slo)
    return {
        "slo": str(slo),
        "met_percent": met.percent,
        "met": asdict(met),
        **counted.block(slo),
        "percentile": _bounded(counted.values, slo),
        "also": None if slo.also is None else _also(usable, slo, slo.also),
        "at": {f"{tolerance * 100:g}%": counted.metrics(slo, tolerance) for tolerance in tolerances},
        "verdicts": {verdict.value: verdicts[verdict] for verdict in Verdict},
        "ignored": {why: count for why, count in sorted(ignored.items()) if count},
        "throughput_per_s": None if throughput is None else _number(throughput),
        "latency_s": _percentiles(usable, latencies),
        "batch_latency_s": percentiles([math.nan if each is None else each for each in latencies]),
        "end_to_end_s": _percentiles(usable, [sample.end_to_end_s for sample in usable]) if _waits(usable) else None,
        "wait_s": _percentiles(usable, [sample.wait_s for sample in usable]) if _waits(usable) else None,
        "patterns": {part: counted.where(here).block(slo) for part, here in counted.by_part()},
        "durations_s": _mean_durations_s(usable),
    }


def _verdicts(usable: Sequence[BatchSample], measured: _Measured, slo: Slo) -> Counter[Verdict]:
    """How many met and how many missed, as `Slo.verdict` has it."""
    known, met = np.isfinite(measured.values), hits(measured.values, slo)
    missed = known & ~met
    if slo.also is not None:
        second = _Measured.of(usable, slo.also).values
        missed |= met & np.isfinite(second) & ~hits(second, slo.also)
        met &= np.isfinite(second) & hits(second, slo.also)
    return Counter({Verdict.MET: int(met.sum()), Verdict.MISSED: int(missed.sum())})


def _bounded(values: Numbers, slo: Slo) -> dict[str, Any] | None:
    """The percentile that the SLO is about."""
    if slo.share is None:
        return None
    value = quantile(values, slo.share)
    return {"name": slo.percentile, "value_s": value, "kept": None if value is None else slo.holds(value)}


def _also(usable: Sequence[BatchSample], slo: Slo, also: Slo) -> dict[str, Any]:
    """The second objective, and the batches that hold both, of those where both are known."""
    first, second = _Measured.of(usable, slo), _Measured.of(usable, also)
    known = np.isfinite(first.values) & np.isfinite(second.values)
    first, second = first.where(known), second.where(known)
    both, items = hits(first.values, slo) & hits(second.values, also), float(first.items.sum())
    share = {
        "b_slh": 100.0 * float(both.mean()) if both.size else None,
        "i_slh": 100.0 * float(first.items[both].sum()) / items if items > 0 else None,
    }
    return {"slo": str(also), **second.block(also), "both": share}


@dataclass(frozen=True)
class _Measured:
    """One value, one number of items and one part a batch, as columns: a run may have a million batches."""

    values: npt.NDArray[np.float64]
    items: npt.NDArray[np.float64]
    parts: npt.NDArray[np.object_]

    @classmethod
    def of(cls, samples: Sequence[BatchSample], slo: Slo) -> _Measured:
        values = [math.nan if (value := slo.measure(sample)) is None else value for sample in samples]
        items = [float(sample.items) for sample in samples]
        return cls(np.array(values), np.array(items), np.array([sample.part for sample in samples], dtype=object))

    def where(self, chosen: npt.NDArray[np.bool_]) -> _Measured:
        return _Measured(self.values[chosen], self.items[chosen], self.parts[chosen])

    def by_part(self) -> Iterable[tuple[str, npt.NDArray[np.bool_]]]:
        for part in dict.fromkeys(self.parts.tolist()):
            if part is not None:
                yield part, self.parts == part

    def block(self, slo: Slo) -> dict[str, Any]:
        return {**self.metrics(slo), "batches": self.values.size, "items": int(self.items.sum())}

    def metrics(self, slo: Slo, tolerance: float | None = None) -> dict[str, float | None]:
        metrics = asdict(SloMetrics.of(self.values, self.items, slo, tolerance))
        return {name: None if value is None else _number(value) for name, value in metrics.items()}


def _percentiles(samples: Sequence[BatchSample], values: Sequence[float | None]) -> dict[str, float | None]:
    return percentiles([math.nan if value is None else value for value in values], [s.items for s in samples])


def _waits(samples: Sequence[BatchSample]) -> bool:
    return any(sample.wait_s is not None and math.isfinite(sample.wait_s) for sample in samples)


def _items_between(sample: BatchSample, first_s: float, last_s: float) -> int:
    inside = sample.started_s is not None and first_s <= sample.started_s <= last_s
    return sample.items if inside and sample.status is not Status.FAILED else 0


def _mean_durations_s(samples: Sequence[BatchSample]) -> dict[str, float]:
    phases = dict.fromkeys(phase for sample in samples for phase in sample.durations_s)
    values = {phase: [sample.durations_s.get(phase, math.nan) for sample in samples] for phase in phases}
    known = {phase: [each for each in seen if math.isfinite(each)] for phase, seen in values.items()}
    return {phase: sum(seen) / len(seen) for phase, seen in known.items() if seen}


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
