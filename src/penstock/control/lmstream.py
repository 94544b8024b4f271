"""LMStream's dynamic batching: when to start a batch, not how large it may be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from penstock.control.memory import Remembers
from penstock.control.protocol import Change
from penstock.control.sample_value import shown
from penstock.errors import BadInputError
from penstock.sample import BatchSample, Decision
from penstock.size import LARGEST, check_size, format_limit
from penstock.slo import Kind, Metric, Slo
from penstock.units import parse_duration_s

_HOW = "write e.g. '5 s', or 0 for tumbling windows"
# A time beyond this says no more than this, and sums of it stay finite.
_LONGEST_S = 1e12


class Lmstream(Remembers):
    """LMStream's dynamic batching: waits while the estimated latency is below a bound, then takes all there is.

    With n queued, w the wait of the oldest, and over all batches k so far (size n_k, wait w_k, processing p_k):

        throughput = sum n_k / sum p_k                      (4)
        latency_k = w_k + p_k                               (5)
        estimate = w + n / throughput                       (6)
        start when estimate >= bound
        bound = slide                                       sliding windows
        bound = mean of all latency_k, 0 before the first   tumbling windows (slide = 0)

    As a decision: no limit, a minimum that is never reached, `max_wait_s` = bound, `item_s` = 1 / throughput. The gate
    tries it at every poll. `slide` is by default the target of a bound on end-to-end latency, and 0 under any other
    objective. Only what is assigned from outside, as by `max_size`, limits the size; the first size does not.

    Source: LMStream, sec. III-C, algorithm 1 (ConstructMicroBatch). Two slips are mended: the mean of i latencies
    divides by i, not by i - 1; and the estimate is tried at every poll, not only when new data has come, so that what
    waits does not starve when traffic stops. Sizes are in the gate's unit where the paper counts bytes. Where a source
    cannot tell the wait, a latency is the processing alone, and the reason says so.

    >>> controller = Lmstream(Slo.parse("<= 5 s end-to-end"), size=1000)
    >>> batch = BatchSample(batch_id=0, size=1000, items=1000, processing_s=0.5, wait_s=0.1)
    >>> decision = controller.decide(batch)
    >>> decision.max_wait_s, decision.item_s
    (5.0, 0.0005)
    >>> print(decision.reason)
    no limit, starts when wait + 500 µs an item reach 5 s (slide): batch 0 took 600 ms end to end
    >>> print(controller.decide(BatchSample(batch_id=1, size=8000, items=8000, processing_s=0.4, wait_s=1.0)).reason)
    no limit, starts when wait + 100 µs an item reach 5 s (slide): batch 1 took 1.4 s end to end, estimated 5 s
    """

    live_defaults: ClassVar[Mapping[str, object]] = {}
    decides_waiting: ClassVar[bool] = True
    """It steers when batches start; the common settings that steer a size do not apply."""

    def __init__(self, slo: Slo, size: float, slide: float | str | None = None) -> None:
        check_size("size", size)
        self.slo = slo
        self.size = LARGEST
        self.slide_s = _slide_s(slo, slide)
        self._begin()

    def _begin(self) -> None:
        self._batches = 0
        self._sizes = 0.0
        self._processing_s = 0.0
        self._latency_s = 0.0

    def changed(self, change: Change) -> None:
        """Forget throughput and latencies: the next batch starts at once, as the first did."""
        self._begin()

    def decide(self, sample: BatchSample) -> Decision:
        """The terms on which the next batch starts; those in force after a batch that trains nobody."""
        if not sample.usable:
            return self._decision(f"batch {sample.batch_id} is ignored ({sample.status})")
        wait_s, which = sample.wait_s, "end to end"
        if wait_s is None or not 0 <= wait_s < math.inf:
            wait_s, which = 0.0, "without its wait, which is not known"
        latency_s = min(wait_s + sample.processing_s, _LONGEST_S)
        estimated = f", estimated {shown(wait_s + self._item_s * sample.size)}" if self._batches else ""
        self._batches += 1
        self._sizes += min(sample.size, LARGEST)
        self._processing_s += min(sample.processing_s, _LONGEST_S)
        # A running mean, which no number of batches makes less exact than their sum would be.
        self._latency_s += (latency_s - self._latency_s) / self._batches
        return self._decision(f"batch {sample.batch_id} took {shown(latency_s)} {which}{estimated}")

    @property
    def bound_s(self) -> float:
        """What the estimate has to reach."""
        return self.slide_s or self._latency_s

    @property
    def _item_s(self) -> float:
        return min(self._processing_s / self._sizes, _LONGEST_S)

    def _decision(self, why: str) -> Decision:
        limit = format_limit(self.size)
        if not self._batches:
            return Decision(self.size, f"{limit}, starts at once: {why}")
        which = "slide" if self.slide_s else f"mean of {self._batches}"
        terms = f"starts when wait + {shown(self._item_s)} an item reach {shown(self.bound_s)} ({which})"
        reason = f"{limit}, {terms}: {why}"
        return Decision(self.size, reason, min_size=self.size, max_wait_s=self.bound_s, item_s=self._item_s)


def _slide_s(slo: Slo, slide: float | str | None) -> float:
    if slide is None:
        return slo.target if slo.kind is Kind.AT_MOST and slo.metric is Metric.END_TO_END else 0.0
    if isinstance(slide, str):
        slide_s = 0.0 if slide.strip() == "0" else parse_duration_s(slide, "slide")
    else:
        slide_s = float(slide)
    if not 0 <= slide_s <= _LONGEST_S:
        raise BadInputError("slide", slide, "not a time between windows", _HOW)
    return slide_s
