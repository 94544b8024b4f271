"""The loop: a sample in, a decision out to the gate, both into the journal; and no fault of ours ever gets past it."""

from __future__ import annotations

import copy
import logging
from collections import deque
from typing import Protocol

from penstock.clock import Clock, SystemClock
from penstock.control.deadline import Deadline
from penstock.control.lag_guard import LagGuard
from penstock.control.out_of_reach import OutOfReach
from penstock.control.protocol import Controller, news_of
from penstock.sample import BatchSample, Code, Decision, Status
from penstock.slo import Slo
from penstock.telemetry.sink import Sink

log = logging.getLogger("penstock")

PATIENCE_BATCHES = 20
# Limits whose batches may still be reported (batches); Spark plans one batch at a time.
_REMEMBERED_LIMITS = 16
# Spark tells when a trigger began in whole milliseconds, rounded down.
_TRIGGER_RESOLUTION_S = 1e-3


class Gate(Protocol):
    """Applies decisions to a live query, in a unit that it declares."""

    unit: str

    def apply(self, decision: Decision) -> None:
        """Admit as decided from the next planned batch on."""
        ...

    def restore(self) -> None:
        """Go back to the limit that the user had."""
        ...


class Loop:
    """Feeds samples to a controller and its decisions to a gate.

    A batch may be observed more than once: first as an estimate at the end of its job, then refined, last confirmed
    by Spark's progress. Each time a copy of the controller as it was before that batch decides anew, so its memory
    holds each batch once, at the best knowledge of it. What a controller has to tell is told once a batch, too: when
    the batch is confirmed, or else when the next one comes and nothing of it can change any more.

    A controller that raises, hangs or returns nonsense, and a gate that fails, leave the last good size in force; the
    journal says why. Such a batch is a blind one, and so is one that nobody can learn from, and one whose report could
    not be read (`fault`). After `patience` blind batches in a row the user's own limit comes back, until a decision is
    taken again: a query never starves at a small size because of us. The lag guard sees every sample, also of blind
    batches.
    """

    def __init__(
        self,
        slo: Slo,
        controller: Controller,
        gate: Gate,
        journal: Sink,
        *,
        observe_only: bool = False,
        patience: int = PATIENCE_BATCHES,
        guard: LagGuard | None = None,
        deadline: Deadline | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.slo = slo
        self.gate = gate
        self.journal = journal
        self.observe_only = observe_only
        self.guard = guard or LagGuard()
        self.decision = Decision(controller.size, "first size", code=Code.FIRST)
        # The controller that has seen all batches, and the one from before the last batch; both are only ever copied.
        self._controller = self._before = controller
        self._decision_before = self.decision
        self._patience = patience
        self._deadline = deadline or Deadline()
        self._clock = clock or SystemClock()
        self._last_batch_id = -1
        self._blind = 0
        self._gave_up = False
        self._news: str | None = None
        self._told_id = -1
        self._faults = _Faults()
        self._out_of_reach = OutOfReach(slo)
        # When each limit came into force, and the batch on which it was decided; None for the user's own.
        self._in_force: deque[tuple[float, int | None]] = deque(maxlen=_REMEMBERED_LIMITS)

    @property
    def size(self) -> float:
        """The size last decided."""
        return self.decision.size

    def start(self) -> None:
        """Put the first size in force; where nothing may be applied, the limit that the user had."""
        if self.observe_only:
            self._restore()
        self._admit(self._last_batch_id, self.decision)

    def resume(self, gate: Gate, journal: Sink) -> None:
        """Go on with a later run of the same query: another gate, the same controller, from the size last decided."""
        self.gate, self.journal = gate, journal
        self._blind, self._gave_up = 0, False
        self.start()

    def renew(self, why: str) -> None:
        """Put the last decision in force again, after somebody else had given the user's limit back."""
        self._tell("limits-returned", why)
        if not self._gave_up:
            self._admit(self._last_batch_id, self.decision)

    def observe(self, sample: BatchSample, control_s: float = 0.0) -> Decision | None:
        """Learn from a batch and decide; None where there was nothing to learn. Never raises."""
        self.journal.sample(sample, control_s=control_s, obeyed=self._obeyed(sample))
        if sample.batch_id < self._last_batch_id:
            return None
        refined = sample.batch_id == self._last_batch_id
        if refined:
            self._news = None
        else:
            self._tell_news()
            self._last_batch_id = sample.batch_id
            self._before = self._controller
            self._decision_before = self.decision
        if sample.confirmed:
            self._tell("objective", self._out_of_reach.see(sample))
        taught = sample.usable and self.slo.measure(sample) is not None
        decision = self._decide(sample) if taught else None
        if decision is None:
            if not taught:
                # Where an estimate looked usable and was not, what was learned and decided on it is taken back.
                self._controller = self._before
            self._stay(sample, self.decision if taught else self._decision_before)
            self._see_nothing(sample, f"last: {self._faults.last if taught else sample.status}")
            return None
        self._blind = 0
        if sample.confirmed:
            self._tell_news()
        # Applied for every batch, also when it is the same: a gate may have failed, or split it anew over its sources.
        if not refined or self._gave_up or decision != self.decision:
            self._gave_up = False
            self.decision = decision
            self._admit(sample.batch_id, decision)
        return decision

    def fault(self, part: str, fault: Exception, *, blind: bool = True) -> None:
        """A part of ours failed on what a batch reported, so there is no sample of it; `blind` where none will come."""
        self._fault(part, fault)
        if blind:
            self._count_blind(f"last: {self._faults.last}")

    def stop(self, why: str, *, restore: bool = True) -> None:
        """Give the query back to the user's own limit, or leave the last one in force for whoever takes over."""
        self._tell_news()
        self._tell_counts(self._faults.over())
        if restore:
            self._restore()
        self.journal.event("detached", why=why)

    def _decide(self, sample: BatchSample) -> Decision | None:
        before, observe_only = self._before, self.observe_only

        def ask() -> tuple[Controller, Decision, str | None]:
            controller = copy.deepcopy(before)
            if observe_only:
                controller.size = sample.size
            decision = controller.decide(sample)
            if not isinstance(decision, Decision):
                raise TypeError(f"decide() returned {decision!r}, not a Decision")
            return controller, decision, news_of(controller)

        try:
            controller, decision, news = self._deadline.call(ask)
            guarded = self._guarded(sample, decision)
            if guarded.size != decision.size:
                controller.size = guarded.size
        except Exception as fault:
            self._fault("controller", fault)
            return None
        self._controller, self._news = controller, news
        self._tell_counts(self._faults.over("controller"))
        before_size = sample.size if observe_only else self._decision_before.size
        return guarded.coded(before_size, Code.OUT_OF_REACH if self._out_of_reach.told else None)

    def _stay(self, sample: BatchSample, decision: Decision) -> None:
        """Nothing is decided on this batch: an earlier decision stays, or more where data is in danger."""
        if sample.status is not Status.EMPTY:
            decision = self._guarded(sample, decision)
        if decision != self.decision and not self._gave_up:
            self.decision = decision
            self._admit(sample.batch_id, decision)

    def _guarded(self, sample: BatchSample, decision: Decision) -> Decision:
        guarded = self.guard.correct(sample, decision)
        self._tell("lag-guard", self.guard.news())
        return guarded

    def _obeyed(self, sample: BatchSample) -> int | None:
        """The batch on whose sample the limit of this one was decided; None for the user's own, or where not known."""
        if sample.started_s is None:
            return None
        planned_s = sample.started_s + _TRIGGER_RESOLUTION_S
        return next((batch_id for at_s, batch_id in reversed(self._in_force) if at_s <= planned_s), None)

    def _tell_news(self) -> None:
        news, self._news = self._news, None
        if news is not None and self._told_id != self._last_batch_id:
            self._told_id = self._last_batch_id
            self._tell("objective", news)

    def _tell(self, name: str, news: str | None) -> None:
        if news is not None:
            log.warning("penstock: %s", news)
            self.journal.event(name, why=news)

    def _admit(self, batch_id: int, decision: Decision) -> None:
        applied = False
        if not self.observe_only:
            try:
                self.gate.apply(decision)
                applied = True
                self._in_force.append((self._clock.wall_s(), batch_id))
                self._tell_counts(self._faults.over("gate"))
            except Exception as fault:
                self._fault("gate", fault)
        self.journal.decision(batch_id, decision, applied=applied)

    def _see_nothing(self, sample: BatchSample, last: str) -> None:
        # An idle stream or a warm-up is not blindness, and an estimate may still be confirmed as something better.
        if sample.status not in (Status.EMPTY, Status.WARM_UP) and sample.confirmed:
            self._count_blind(last)

    def _count_blind(self, last: str) -> None:
        self._blind += 1
        if self._blind >= self._patience and not self._gave_up and not self.observe_only:
            self._gave_up = True
            self._tell(
                "gave-up",
                f"no decision on {self._blind} batches in a row ({last}); the user's own limit is in force until one "
                "can be taken",
            )
            self._restore()

    def _restore(self) -> None:
        try:
            self.gate.restore()
            self._in_force.append((self._clock.wall_s(), None))
        except Exception as fault:
            self._fault("gate", fault)

    def _fault(self, part: str, fault: Exception) -> None:
        if self._faults.add(part, fault):
            log.warning("penstock: %s failed, the last good size %g stays: %r", part, self.size, fault)
            self.journal.event(f"{part}-fault", error=repr(fault), size=self.size)

    def _tell_counts(self, counts: dict[str, tuple[str, int]]) -> None:
        for part, (error, times) in counts.items():
            self.journal.event(f"{part}-fault", error=error, times=times)


class _Faults:
    """Counts faults by part and type: each is told when it begins, and with its count when it is over.

    >>> faults = _Faults()
    >>> [faults.add("controller", ValueError(text)) for text in ("a", "b")], faults.over("controller")
    ([True, False], {'controller': ('ValueError', 2)})
    """

    def __init__(self) -> None:
        self.last = ""
        self._now: dict[str, tuple[str, int]] = {}

    def add(self, part: str, fault: Exception) -> bool:
        """Whether this fault is a new one and has to be told."""
        self.last = f"{part} failed with {fault!r}"
        kind, (known, times) = type(fault).__name__, self._now.get(part, ("", 0))
        self._now[part] = (kind, times + 1 if kind == known else 1)
        return kind != known

    def over(self, part: str | None = None) -> dict[str, tuple[str, int]]:
        """The faults of a part, or of all, that came more than once; they are forgotten."""
        ended = list(self._now) if part is None else [part]
        counts = {each: self._now.pop(each) for each in ended if each in self._now}
        return {each: count for each, count in counts.items() if count[1] > 1}
