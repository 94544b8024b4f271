"""What is run: each query under plain Spark, LMStream, and bounds of ours, in turn.

The bound of a sliding query is its slide, as LMStream has it. A tumbling query has none: LMStream then aims at its own
mean. The only time that the paper gives it is the baseline's trigger, so that is the bound that ours has to keep; it
asks for less than LMStream gives, and for as little processing as that allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.apps import registry as apps
from penstock.apps.lmstream.queries import QUERIES, Query
from penstock.bench.run import RunSpec
from penstock.reproduce.lmstream.published import TRIGGER_S
from penstock.units import format_duration

BASELINE, LMSTREAM, OURS, TUNED = "baseline", "lmstream", "pmbaf", "lmstream-90"
VARIANTS = {
    BASELINE: "plain Spark, a batch every 10 s",
    LMSTREAM: "LMStream as published",
    OURS: "PMBAF under a bound, waiting while it pays",
    TUNED: "LMStream with 90% of the bound as its slide, tuned by hand",
}
CONSTANT, RANDOM = "constant", "random"
# The paper gives the mean of random traffic and no deviation.
DEVIATION = 250

_TUNED_TO = 0.9
# All of it may take longer than the limit. What is left out then are the last of these: a slide of 10 s, where all do
# much the same; then bounds that are ours and no query's.
_TUNED_FIRST = ("lr1s", "cm2s", "lr1t", "cm1t", "lr2s", "cm1s")
_DATASET = 1000
# What a run takes beside its stream on a quiet machine of two cores: warming up, and checking the output.
_AROUND_S = 11.0
# Spark takes the last rows at the next trigger, closes the windows at the one after, and then finds nothing to do.
_TRIGGERS_TO_END = 2.5


@dataclass(frozen=True)
class PaperRun:
    """One run of the plan; those with a number above 0 under `spare` may be left out, the highest first."""

    query: str
    variant: str
    traffic: str
    # Its settings are a dictionary, which has no hash.
    spec: RunSpec = field(hash=False)
    estimate_s: float
    spare: int = 0

    @property
    def name(self) -> str:
        """Its folder, and its name.

        >>> next(PaperRuns().runs()).name
        'constant/lr1s/baseline'
        """
        return f"{self.traffic}/{self.query}/{self.variant}"


@dataclass(frozen=True)
class PaperRuns:
    """All runs of a reproduction.

    At a `speed` of 2 a second of stream takes half a second, and so all times are half: those between datasets, the
    trigger, the slides and the bounds. What Spark takes for a batch is not. With `warm`, a run that does not count
    comes first: a Spark that has just started compiles for a minute, and whoever is first would look slow.
    """

    size_class: str = "minute"
    speed: float = 1.0
    queries: tuple[str, ...] = tuple(QUERIES)
    variants: tuple[str, ...] = tuple(VARIANTS)
    random: tuple[str, ...] = ("lr1s", "lr1t")
    seed: int = 1
    limit_s: float | None = 2100.0
    warm: bool = True

    def runs(self) -> Iterator[PaperRun]:
        """The runs in their order: by query, each beginning with another variant, so that none is always first.

        >>> [each.variant for each in PaperRuns(queries=("lr1s", "lr1t"), variants=(BASELINE, LMSTREAM)).runs()][:4]
        ['baseline', 'lmstream', 'lmstream', 'baseline']
        """
        for number, query in enumerate(self.queries):
            first = number % len(self.variants)
            for variant in (*self.variants[first:], *self.variants[:first]):
                yield self._paper_run(query, variant, CONSTANT)
        for query in self.random:
            for variant in (BASELINE, LMSTREAM):
                if query in self.queries and variant in self.variants:
                    yield self._paper_run(query, variant, RANDOM)

    def bound_s(self, query: str) -> float:
        """The end-to-end latency that batches of a query are to stay within."""
        known = QUERIES[query]
        return (TRIGGER_S if tumbles(known) else known.slide_s) / self.speed

    @property
    def trigger_s(self) -> float:
        """The baseline's time between batches."""
        return TRIGGER_S / self.speed

    @property
    def stream_s(self) -> float:
        """How long the stream of a run takes, on average."""
        workload = apps.create(self.queries[0]).workload(self.size_class, arrivals=self.arrivals(CONSTANT))
        return float(workload.arrival_s((workload.items or 1) - 1))

    def arrivals(self, traffic: str) -> str:
        """When datasets come, as an application reads it.

        >>> PaperRuns().arrivals(RANDOM), PaperRuns(speed=2).arrivals(CONSTANT)
        ('datasets:rows=1000,every=1s,sd=250,seed=1', 'datasets:rows=1000,every=500ms')
        """
        every = format_duration(1 / self.speed).replace(" ", "")
        varied = f",sd={DEVIATION},seed={self.seed}" if traffic == RANDOM else ""
        return f"datasets:rows={_DATASET},every={every}{varied}"

    def _paper_run(self, query: str, variant: str, traffic: str) -> PaperRun:
        bound_s = self.bound_s(query)
        ending_s = _TRIGGERS_TO_END * self.trigger_s if variant == BASELINE else bound_s
        spec = RunSpec(
            query,
            self.size_class,
            slo=f"<= {bound_s:g} s end-to-end",
            arrivals=self.arrivals(traffic),
            seed=self.seed,
            label=variant,
            **self._variant(query, variant),
        )
        spare = 1 + _TUNED_FIRST.index(query) if variant == TUNED else 0
        return PaperRun(query, variant, traffic, spec, self.stream_s + ending_s + _AROUND_S, spare)

    def _variant(self, query: str, variant: str) -> dict[str, Any]:
        if variant == BASELINE:
            return {"controller": "fixed", "gated": False, "trigger": f"{self.trigger_s:g} s"}
        if variant == OURS:
            return {"controller": "pmbaf", "settings": {"wait": "true"}}
        slide_s = _TUNED_TO * self.bound_s(query)
        if variant == LMSTREAM:
            slide_s = 0.0 if tumbles(QUERIES[query]) else self.bound_s(query)
        return {"controller": "lmstream", "settings": {"slide": f"{slide_s:g} s" if slide_s else "0"}}


def tumbles(query: Query) -> bool:
    """Whether its windows follow each other without overlap: LMStream's slide is then 0.

    >>> tumbles(QUERIES["lr1t"]), tumbles(QUERIES["lr1s"])
    (True, False)
    """
    return query.slide_s == query.range_s


def quick_runs() -> PaperRuns:
    """A first look in less than five minutes: the published pair only, 20 s of stream at four times its speed."""
    return PaperRuns("test", speed=4.0, variants=(BASELINE, LMSTREAM), random=(), limit_s=None, warm=False)
