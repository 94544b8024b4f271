"""What may be put around any controller: sampling, bounds, a limit on the change, a check for want of data.

A wrapper is a controller itself. One that corrects a decision assigns the corrected size to the controller inside,
whose next decision starts from there and not from a size that was never in force.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace

from penstock.control.memory import Remembers
from penstock.control.protocol import Change, Controller, asked_at_admission, news_of, tell_change
from penstock.control.sample_value import keep, overruled, usable_value
from penstock.errors import BadInputError
from penstock.sample import NOT_FULL, BatchSample, Code, Decision
from penstock.size import LARGEST, SMALLEST, check_size, clamp, format_change, format_size
from penstock.slo import Slo
from penstock.units import parse_count, parse_percent

# A batch in bytes or cost is full up to an item.
_FULL = 0.99
# A batch may take so many times the objective by a stall of the machine; so many in a row are no stall.
_STALL, _IN_A_ROW = 2.0, 3


class Wrapper(Remembers):
    """A controller around another: the size in force is the inner one's."""

    def __init__(self, inner: Controller) -> None:
        self.inner = inner

    @property
    def size(self) -> float:
        """The size now in force."""
        return self.inner.size

    @size.setter
    def size(self, size: float) -> None:
        self.inner.size = size

    def decide(self, sample: BatchSample) -> Decision:
        """The inner controller's decision."""
        return self.inner.decide(sample)

    def news(self) -> str | None:
        """What the inner controller has to tell the user, if it ever does."""
        return news_of(self.inner)

    def changed(self, change: Change) -> None:
        """Pass it on: what a wrapper knows of the objective holds however batches are run."""
        tell_change(self.inner, change)

    def _correct(self, decision: Decision, size: float, before: float, why: str) -> Decision:
        """The decision with another size, where one was in force before it."""
        if size == decision.size:
            return decision
        self.inner.size = size
        least = None if decision.min_size is None else min(decision.min_size, size)
        reason = overruled(format_change(before, size), why, decision.reason)
        return replace(decision, size=size, min_size=least, reason=reason)


class Correcting(Wrapper, ABC):
    """A wrapper that shows the controller inside all there is and corrects nothing but sizes.

    So it can do that also where batches overlap and sizes are decided as they are admitted. A wrapper that shows the
    controller other batches than there were does not pass that question on: the two would not fit together.
    """

    def decide(self, sample: BatchSample) -> Decision:
        """The inner decision, corrected."""
        before = self.size
        return self._corrected(self.inner.decide(sample), before)

    def decide_at_admission(self, at_s: float, waiting: float, idle: bool) -> Decision | None:
        """The inner answer as a batch is admitted, corrected; None where there is none."""
        ask, before = asked_at_admission(self.inner), self.size
        decision = None if ask is None else ask(at_s, waiting, idle)
        return None if decision is None else self._corrected(decision, before)

    @abstractmethod
    def _corrected(self, decision: Decision, before: float) -> Decision:
        """The decision as it may be, where this size was in force before it."""


class Sampled(Wrapper):
    """Waits for k new usable samples, then passes on one with the mean of their latencies and sizes.

    >>> from penstock.control.faf import Faf
    >>> slo = Slo.parse("1 s ± 10%")
    >>> controller = Sampled(Faf(slo, size=100), slo, k=2)
    >>> for latency_s in (0.9, 0.5):
    ...     controller.decide(BatchSample(batch_id=0, size=100, items=100, processing_s=latency_s)).reason
    'size stays at 100: sample 1 of 2'
    'size 110 (+10%): the last batch took 700 ms, under 900 ms; that is the mean of 2 batches'
    """

    def __init__(self, inner: Controller, slo: Slo, k: int) -> None:
        super().__init__(inner)
        if k < 1:
            raise BadInputError("sample", k, "a mean needs at least one sample", "write e.g. 5")
        self.slo = slo
        self.k = k
        self._wait_s: float | None
        self._start_over()

    def decide(self, sample: BatchSample) -> Decision:
        """The inner decision on every k-th usable sample; no change before."""
        if usable_value(self.slo, sample) is None:
            return keep(self.size, sample)
        self._count += 1
        self._size += sample.size
        self._items += sample.items
        self._processing_s += sample.processing_s
        if sample.wait_s is None or self._wait_s is None:
            self._wait_s = None
        else:
            self._wait_s += sample.wait_s
        if self._count < self.k:
            return Decision(self.size, f"size stays at {format_size(self.size)}: sample {self._count} of {self.k}")
        mean = replace(
            sample,
            size=self._size / self.k,
            items=max(round(self._items / self.k), 1),
            processing_s=self._processing_s / self.k,
            wait_s=None if self._wait_s is None else self._wait_s / self.k,
        )
        self._start_over()
        decision = self.inner.decide(mean)
        return replace(decision, reason=f"{decision.reason}; that is the mean of {self.k} batches")

    def _start_over(self) -> None:
        self._count = 0
        self._size = 0.0
        self._items = 0
        self._processing_s = 0.0
        self._wait_s = 0.0


class Filled(Wrapper):
    """Keeps the limit on a batch that took all there was: it says nothing of a larger one, and little of this one.

    Such a batch does not grow the limit: a quiet hour would raise it without bound, and the next burst come through in
    one batch. Nor does it shrink the limit where it met the objective: a small batch is mostly fixed time and noise,
    and would make items look heavy, until a trickle is cut with a backlog left. One that misses by up to a factor of
    two may be a stall, and shrinks it only as the third in a row.

    >>> from penstock.control.faf import Faf
    >>> slo = Slo.parse("1 s ± 10%")
    >>> controller = Filled(Faf(slo, size=100), slo)
    >>> print(controller.decide(BatchSample(batch_id=0, size=30, items=30, processing_s=0.3, backlog=0)).reason)
    size stays at 100: it took all there was; instead of size 110 (+10%): the last batch took 300 ms, under 900 ms
    """

    def __init__(self, inner: Controller, slo: Slo) -> None:
        super().__init__(inner)
        self.slo = slo
        self._misses = 0

    def decide(self, sample: BatchSample) -> Decision:
        """The inner decision, or the limit as it was where the batch does not test it."""
        before = self.size
        decision = self.inner.decide(sample)
        value = usable_value(self.slo, sample)
        if value is None:
            return decision
        self._misses = self._misses + 1 if value > self.slo.high else 0
        if not took_all(sample, before) or (decision.size < before and self._too_long(value)):
            return decision
        return self._correct(decision, before, before, "it took all there was")

    def _too_long(self, value: float) -> bool:
        """Whether the batch was longer than a stall explains."""
        return value > _STALL * self.slo.high or self._misses >= _IN_A_ROW

    def decide_at_admission(self, at_s: float, waiting: float, idle: bool) -> Decision | None:
        """The inner answer as a batch is admitted: there it is known how much waits."""
        ask = asked_at_admission(self.inner)
        return None if ask is None else ask(at_s, waiting, idle)


def took_all(sample: BatchSample, limit: float) -> bool:
    """Whether a batch took all there was, and might have been larger: its limit did not hold it back.

    Where the backlog is not known, a batch of less than half the limit was not held back by it. One that fills its
    limit was, also where nothing is left: a source that waits for more waits no longer then. A limit in bytes or in
    cost is full when no further item fits.

    >>> took_all(BatchSample(batch_id=0, size=99.5, items=7, processing_s=0.3, backlog=0), limit=100)
    False
    """
    if sample.backlog is None:
        return sample.size < NOT_FULL * limit
    return sample.size < min(math.floor(limit), _FULL * limit) and sample.backlog <= 0


class Bounded(Correcting):
    """Keeps the size between two bounds.

    >>> from penstock.control.faf import Faf
    >>> controller = Bounded(Faf(Slo.parse("1 s ± 10%"), size=100), max_size=105)
    >>> controller.decide(BatchSample(batch_id=0, size=100, items=100, processing_s=0.5)).reason
    'size 105 (+5%): the maximum; instead of size 110 (+10%): the last batch took 500 ms, under 900 ms'
    """

    def __init__(self, inner: Controller, min_size: float = SMALLEST, max_size: float = LARGEST) -> None:
        super().__init__(inner)
        self.min_size = check_size("min_size", min_size)
        self.max_size = check_size("max_size", max_size)
        if min_size > max_size:
            raise BadInputError("min_size", min_size, f"above max_size {max_size:g}", "swap the two")
        if inner.size != (within := clamp(inner.size, self.min_size, self.max_size)):
            inner.size = within

    @property
    def size(self) -> float:
        """The size now in force; one assigned from outside is brought within the bounds."""
        return self.inner.size

    @size.setter
    def size(self, size: float) -> None:
        self.inner.size = clamp(size, self.min_size, self.max_size)

    def _corrected(self, decision: Decision, before: float) -> Decision:
        side = "maximum" if decision.size > self.max_size else "minimum"
        within = clamp(decision.size, self.min_size, self.max_size)
        corrected = self._correct(decision, within, before, f"the {side}")
        return decision if corrected is decision else replace(corrected, code=Code.BOUND)


class Slewed(Correcting):
    """Limits the change per decision to a factor, up and down: 2, or "100%", at most doubles and at most halves.

    >>> from penstock.control.faf import Faf
    >>> controller = Slewed(Faf(Slo.parse("1 s ± 10%"), size=10, step=50), factor="100%")
    >>> controller.decide(BatchSample(batch_id=0, size=10, items=10, processing_s=0.5)).reason
    'size 20 (+100%): slowed; instead of size 60 (+500%): the last batch took 500 ms, under 900 ms'
    """

    def __init__(self, inner: Controller, factor: float | str) -> None:
        super().__init__(inner)
        if not isinstance(factor, str):
            self.factor = float(factor)
        elif factor.rstrip().endswith("%"):
            self.factor = 1 + parse_percent(factor, "slew")
        else:
            self.factor = parse_count(factor, "slew")
        if not (math.isfinite(self.factor) and self.factor > 1):
            raise BadInputError("slew", factor, "a change needs a factor above 1", "write e.g. 2 or '100%'")

    def _corrected(self, decision: Decision, before: float) -> Decision:
        near = clamp(decision.size, before / self.factor, before * self.factor)
        return self._correct(decision, near, before, "slowed")
