"""The loop: a sample in, a decision out to the gate, both into the journal; and no fault of ours ever gets past it."""

from __future__ import annotations

import copy
import logging
from typing import Protocol

from penstock.control.guard import LagGuard
from penstock.control.protocol import Controller, news_of
from penstock.journal import Journal
from penstock.sample import BatchSample, Decision, Status
from penstock.slo import Slo

log = logging.getLogger("penstock")

PATIENCE_BATCHES = 20


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
    by Spark's progress. The controller is rolled back to where it stood before that batch and decides anew, so its
    memory holds each batch once, at the best knowledge of it. What a controller has to tell is told once a batch, too:
    when the batch is confirmed, or else when the next one comes and nothing of it can change any more.

    A controller that raises or returns nonsense, and a gate that fails, leave the last good size in force; the
    journal says why. After `patience` batches in a row that nobody can learn from, the user's own limit comes back
    until a usable batch is seen: a query never starves at a small size because we are blind.
    """

    def __init__(
        self,
        slo: Slo,
        controller: Controller,
        gate: Gate,
        journal: Journal,
        *,
        observe_only: bool = False,
        patience: int = PATIENCE_BATCHES,
        guard: LagGuard | None = None,
    ) -> None:
        self.slo = slo
        self.gate = gate
        self.journal = journal
        self.observe_only = observe_only
        self.guard = guard or LagGuard()
        self.decision = Decision(controller.size, "first size")
        self._controller = controller
        self._before = copy.deepcopy(controller)
        self._decision_before = self.decision
        self._patience = patience
        self._last_batch_id = -1
        self._blind = 0
        self._gave_up = False
        self._news: str | None = None
        self._told_id = -1

    @property
    def size(self) -> float:
        """The size last decided."""
        return self.decision.size

    def start(self) -> None:
        """Put the first size in force; where nothing may be applied, the limit that the user had."""
        if self.observe_only:
            self._restore()
        self._admit(self._last_batch_id, self.decision)

    def resume(self, gate: Gate, journal: Journal) -> None:
        """Go on with a later run of the same query: another gate, the same controller, from the size last decided."""
        self.gate, self.journal = gate, journal
        self._blind, self._gave_up = 0, False
        self.start()

    def observe(self, sample: BatchSample, control_s: float = 0.0) -> Decision | None:
        """Learn from a batch and decide; None where there was nothing to learn. Never raises."""
        self.journal.sample(sample, control_s=control_s)
        if sample.batch_id < self._last_batch_id:
            return None
        refined = sample.batch_id == self._last_batch_id
        if refined:
            self._controller = copy.deepcopy(self._before)
            self._news = None
        else:
            self._tell_news()
            self._last_batch_id = sample.batch_id
            self._before = copy.deepcopy(self._controller)
            self._decision_before = self.decision
        if not sample.usable or self.slo.measure(sample) is None:
            if refined and self.decision != self._decision_before and not self._gave_up:
                # The estimate looked usable and was not: what was decided on it is taken back with it.
                self.decision = self._decision_before
                self._admit(sample.batch_id, self.decision)
            self._see_nothing(sample)
            return None
        self._blind = 0
        decision = self._decide(sample)
        if decision is None:
            return None
        if sample.confirmed:
            self._tell_news()
        # Applied for every batch, also when it is the same: a gate may have failed, or split it anew over its sources.
        if not refined or self._gave_up or decision != self.decision:
            self._gave_up = False
            self.decision = decision
            self._admit(sample.batch_id, decision)
        return decision

    def stop(self, why: str, *, restore: bool = True) -> None:
        """Give the query back to the user's own limit, or leave the last one in force for whoever takes over."""
        self._tell_news()
        if restore:
            self._restore()
        self.journal.event("detached", why=why)

    def _decide(self, sample: BatchSample) -> Decision | None:
        if self.observe_only:
            self._controller.size = sample.size
        try:
            decision = self._controller.decide(sample)
            if not isinstance(decision, Decision):
                raise TypeError(f"decide() returned {decision!r}, not a Decision")
            guarded = self.guard.correct(sample, decision)
            if guarded.size != decision.size:
                self._controller.size = guarded.size
            self._news = news_of(self._controller)
            self._tell("lag-guard", self.guard.news())
        except Exception as fault:
            self._fault("controller", fault)
            self._controller = copy.deepcopy(self._before)
            return None
        return guarded

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
            except Exception as fault:
                self._fault("gate", fault)
        self.journal.decision(batch_id, decision, applied=applied)

    def _see_nothing(self, sample: BatchSample) -> None:
        # An idle stream or a warm-up is not blindness, and an estimate may still be confirmed as something better.
        if sample.status in (Status.EMPTY, Status.WARM_UP) or not sample.confirmed:
            return
        self._blind += 1
        if self._blind >= self._patience and not self._gave_up and not self.observe_only:
            self._gave_up = True
            why = (
                f"{self._blind} batches in a row without a usable sample (last: {sample.status}); "
                "the user's own limit is in force until one comes"
            )
            log.warning("penstock: %s", why)
            self.journal.event("gave-up", why=why)
            self._restore()

    def _restore(self) -> None:
        try:
            self.gate.restore()
        except Exception as fault:
            self._fault("gate", fault)

    def _fault(self, part: str, fault: Exception) -> None:
        log.warning("penstock: %s failed, the last good size %g stays: %r", part, self.size, fault)
        self.journal.event(f"{part}-fault", error=repr(fault), size=self.size)
