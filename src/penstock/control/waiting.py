"""Waiting that pays: a larger batch for the same fixed cost, for as long as the bound allows."""

from __future__ import annotations

from dataclasses import replace

from penstock.control.protocol import Change, Controller
from penstock.control.sample_value import shown
from penstock.control.wrappers import Wrapper
from penstock.errors import BadInputError
from penstock.model.linear_cost import LinearCost
from penstock.sample import BatchSample, Decision
from penstock.size import format_size
from penstock.slo import Kind, Metric, Slo

DEFAULT_PAYS = 0.05

# A backlog is this share of a batch, or more.
_BEHIND = 0.5


class Waiting(Wrapper):
    r"""Holds a batch back while more items make it cheaper and the end-to-end bound allows it.

    With processing = fixed + each n and a margin as learned by `LinearCost`, w the wait of the oldest item and n what
    is queued, a batch starts when either

        w + (1 + margin) (fixed + each n) >= aim
        n >= fixed / each (1 / pays - 1)            the fixed part is `pays` of the time: more gains nothing

    or the inner controller's size is there. While a batch leaves a backlog nothing is waited for. A bound asks for the
    highest throughput that keeps it, and the fixed cost of a batch is what waiting saves.

    The wait is this wrapper's own doing and not that of the size: the controller inside is shown a batch that was held
    back as one that waited no longer than it took, which is what it waits for a predecessor of its size.

    Source: the idea to start a batch by its estimated latency is LMStream's (see `lmstream`), whose estimate knows no
    fixed cost and no noise, and whose bound is waited for also where nothing is gained.

    >>> from penstock.control.fixed import Fixed
    >>> slo = Slo.parse("<= 5 s end-to-end")
    >>> controller = Waiting(Fixed(slo, 50_000), slo)
    >>> for size, processing_s in ((1000, 0.3), (4000, 0.6), (2000, 0.4)):
    ...     decision = controller.decide(BatchSample(0, size, size, processing_s, wait_s=0.1, backlog=0))
    >>> print(decision.reason.split("; ")[1].replace(" (", "\n("))
    waits until 38,000 are there or the oldest is 4.25 s old, less 150 µs for each that waits
    (a batch takes 200 ms + 100 µs an item, margin 50%, aim 4.55 s)
    >>> round(decision.max_wait_s, 6), round(decision.item_s, 6), round(decision.min_size)
    (4.245455, 0.00015, 38000)
    """

    def __init__(self, inner: Controller, slo: Slo, pays: float = DEFAULT_PAYS) -> None:
        super().__init__(inner)
        if not may_wait(slo):
            raise BadInputError("wait", True, f"{slo} leaves no time to wait", "write e.g. '<= 5 s end-to-end'")
        if not 0 < pays < 1:
            raise BadInputError("pays", pays, "not a share of a batch's time", "write e.g. 5%")
        self.slo = slo
        self.pays = pays
        self._cost = LinearCost()
        self._behind = False
        self._max_wait_s: float | None = None
        self._item_s = 0.0

    def decide(self, sample: BatchSample) -> Decision:
        """The inner decision, with the terms on which to wait."""
        if not sample.usable:
            return self._terms(self.inner.decide(sample))
        wait_s, took_s = sample.wait_s, sample.processing_s
        self._cost.learn(sample.size, took_s, self._late_s(sample))
        # A rest that the next batch takes with ease is no backlog.
        self._behind = sample.backlog is not None and sample.backlog > _BEHIND * sample.size
        if self._max_wait_s is None or self._behind or wait_s is None or wait_s <= took_s:
            return self._terms(self.inner.decide(sample))
        decision = self.inner.decide(replace(sample, wait_s=took_s))
        note = f"its wait of {shown(wait_s)} was for more and counts as {shown(took_s)}"
        return self._terms(replace(decision, reason=f"{decision.reason}; {note}"))

    def changed(self, change: Change) -> None:
        """Forget what a batch costs: until that is known again, nothing is waited for."""
        self._cost = LinearCost()
        super().changed(change)

    def _terms(self, decision: Decision) -> Decision:
        # A controller that says itself how long to wait has the last word.
        if decision.min_size is None:
            decision = self._wait(decision)
        self._max_wait_s, self._item_s = decision.max_wait_s, decision.item_s
        return decision

    def _wait(self, decision: Decision) -> Decision:
        if not self._cost.known:
            return decision
        if self._behind:
            return replace(decision, reason=f"{decision.reason}; does not wait: there is a backlog")
        line, margin = self._cost.line, self._cost.margin
        enough = decision.size
        if self._cost.shaped:
            enough = min(line.fixed_s / line.per_item_s * (1 / self.pays - 1), enough)
        max_wait_s = self.slo.aim - (1 + margin) * line.fixed_s
        item_s = (1 + margin) * line.per_item_s
        fixed, each = shown(line.fixed_s), shown(line.per_item_s)
        takes = f"a batch takes {fixed} + {each} an item, margin {margin:.0%}, aim {shown(self.slo.aim)}"
        if enough <= 1 or max_wait_s <= 0:
            return replace(decision, reason=f"{decision.reason}; does not wait: {takes}")
        why = (
            f"waits until {format_size(enough)} are there or the oldest is {shown(max_wait_s)} old, less "
            f"{shown(item_s)} for each that waits ({takes})"
        )
        return replace(
            decision, reason=f"{decision.reason}; {why}", min_size=enough, max_wait_s=max_wait_s, item_s=item_s
        )

    def _late_s(self, sample: BatchSample) -> float:
        """How far beyond the bound a batch was when it started, because many items came at once or a poll came late.

        More than its items count for is none of that: the machine was still busy with the batch before it.
        """
        if self._max_wait_s is None or sample.wait_s is None:
            return 0.0
        counted_s = self._item_s * sample.size
        late_s = sample.wait_s + counted_s - self._max_wait_s
        return late_s if 0 < late_s <= counted_s else 0.0


def may_wait(slo: Slo) -> bool:
    """Whether an objective leaves time to wait: a bound on end-to-end latency does.

    >>> may_wait(Slo.parse("<= 5 s end-to-end")), may_wait(Slo.parse("<= 5 s")), may_wait(Slo.parse("5 s end-to-end"))
    (True, False, False)
    """
    return slo.kind is Kind.AT_MOST and slo.metric is Metric.END_TO_END
