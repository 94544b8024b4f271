"""A bound that a share of the batches keeps: how far below it to aim is learned from those that missed."""

from __future__ import annotations

import math
from dataclasses import replace

from penstock.control.protocol import Controller, asked_at_admission
from penstock.control.retarget import Retarget
from penstock.control.sample_value import usable_value
from penstock.control.wrappers import Wrapper
from penstock.errors import BadInputError
from penstock.sample import BatchSample, Decision
from penstock.slo import Metric, Slo

# By how much of its logarithm a miss moves the margin: at first, divided by the number of misses, and in the long run.
_FIRST_STEP, _LAST_STEP = 0.25, 0.06
_MOST = 8.0
# So many misses in a row that chance alone brings them in fewer than one case of a thousand.
_BY_CHANCE = 1e-3
# A batch below this part of the aim was not as large as the bound allows: that it kept it says nothing.
_HELD_BACK = 0.5


class Percentile(Wrapper):
    """Shows the controller inside latencies times a margin m, which makes `share` of the batches keep the bound.

    After each batch, with value v, bound T and share q:

        log m += step (1[v > T] - (1 - q))

    In the long run the two sides cancel where just 1 - q of the batches miss: at p99 a miss moves the margin 99 times
    as far as a hit, and while all is kept m creeps back, which is the highest throughput. The controller holds its own
    aim on the scaled latency, so ours is aim / m: never above the bound (m >= aim / T), never below an eighth of it.
    Misses in a row beyond chance are a change of the load, which no margin foresees: the second such counts half, the
    third a third, and so on. End to end, a batch behind a backlog teaches nothing, as no margin would have kept it.

    Source: quantile tracking by stochastic approximation (Robbins and Monro 1951), on the logarithm.

    >>> from penstock.control.faf import Faf
    >>> slo = Slo.parse("p99 <= 2 s")
    >>> controller = Percentile(Faf(slo.plain, size=100), slo)
    >>> for latency_s in (1.8, 2.1):
    ...     batch = BatchSample(batch_id=0, size=100, items=100, processing_s=latency_s)
    ...     print(controller.decide(batch).reason)
    latency 1.796 s is within 1.636 s to 2 s: size stays at 100; p99 safety margin x0.998
    latency 2.683 s is over 2 s: -10% to 90; p99 safety margin x1.28
    """

    def __init__(self, inner: Controller, slo: Slo) -> None:
        super().__init__(inner)
        if slo.share is None:
            raise BadInputError("slo", str(slo), "no percentile", "write e.g. 'p99 <= 2 s'")
        self.slo = slo
        self.margin = 1.0
        self._share = slo.share
        self._misses = 0
        self._row = 0
        self._behind = False
        self._retarget = Retarget()

    def decide(self, sample: BatchSample) -> Decision:
        """The inner decision on the batch as the margin shows it."""
        value = usable_value(self.slo, sample)
        longest_s = self.slo.target if self.slo.metric is Metric.END_TO_END else math.inf
        if value is None:
            return self._retarget.decide(self.inner, sample, self.margin, longest_s)
        if not self._backlogged(sample):
            self._learn(value)
        decision = self._retarget.decide(self.inner, sample, self.margin, longest_s)
        note = f"{self.slo.percentile} safety margin x{self.margin:.3g}"
        return replace(decision, reason=f"{decision.reason}; {note}")

    def decide_at_admission(self, at_s: float, waiting: float, idle: bool) -> Decision | None:
        """The inner answer where batches overlap, by the margin's clock."""
        ask = asked_at_admission(self.inner)
        return None if ask is None else self._retarget.decide_at_admission(ask, self.margin, at_s, waiting, idle)

    def _learn(self, value: float) -> None:
        missed = value > self.slo.target
        if not missed and self.margin * value < _HELD_BACK * self.slo.aim:
            return
        step = max(_FIRST_STEP / (1 + self._misses), _LAST_STEP)
        self._misses += missed
        self._row = self._row + 1 if missed else 0
        expected = max(math.floor(math.log(_BY_CHANCE) / math.log1p(-self._share)), 1)
        weight = 1 / max(self._row - expected + 1, 1)
        moved = self.margin * math.exp(step * (missed * weight - (1 - self._share)))
        self.margin = min(max(moved, self.slo.aim / self.slo.target), _MOST)

    def _backlogged(self, sample: BatchSample) -> bool:
        """Whether items waited for those before them: this batch left some, or took those that were left."""
        cleared, self._behind = self._behind, sample.backlog is not None and sample.backlog > 0
        return self.slo.metric is Metric.END_TO_END and (cleared or self._behind)
