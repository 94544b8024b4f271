"""The loop: a sample in, a decision out to the gate, both into the journal; and no fault of ours ever gets past it."""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple, Protocol

from penstock.clock import Clock, SystemClock
from penstock.control.deadline import Deadline
from penstock.control.faults import Faults
from penstock.control.lag_guard import LagGuard
from penstock.control.memory import Snapshot, restore_to, snapshot_of
from penstock.control.out_of_reach import OutOfReach
from penstock.control.protocol import Change, Controller, news_of, tell_change
from penstock.control.sample_value import begin
from penstock.errors import LimitsReturnedError
from penstock.sample import BatchSample, Code, Decision, Status
from penstock.slo import Slo
from penstock.telemetry.sink import Sink

log = logging.getLogger("penstock")

PATIENCE_BATCHES = 20
# Limits whose batches may still be reported (batches); Spark plans one batch at a time.
_REMEMBERED_LIMITS = 16
# Spark tells when a trigger began in whole milliseconds, rounded down.
_TRIGGER_RESOLUTION_S = 1e-3
# Batches between two writes of what was learned (up to 90 kB, a few milliseconds), for a restart.
_KEPT_EVERY_BATCHES = 20


class Gate(Protocol):
    """Applies decisions to a live query, in a unit that it declares."""

    unit: str

    def apply(self, decision: Decision) -> None:
        """Admit as decided from the next planned batch on."""
        ...

    def restore(self) -> None:
        """Go back to the limit that the user had."""
        ...


class _Limit(NamedTuple):
    """A limit of ours: the batch on whose sample it was decided, and the size."""

    batch_id: int
    size: float


class Loop:
    """Feeds samples to a controller and its decisions to a gate.

    A batch may be observed more than once: first as an estimate at the end of its job, then refined, last confirmed
    by Spark's progress. Each time the controller goes back to what it knew before that batch and decides anew, so
    its memory holds each batch once, at the best knowledge of it. What a controller has to tell is told once a batch,
    too: when the batch is confirmed, or else when the next one comes and nothing of it can change any more.

    A controller that raises, hangs or returns nonsense, and a gate that fails, leave the last good size in force; the
    journal says why. Such a batch is a blind one, and so is one that nobody can learn from, and one whose report could
    not be read (`fault`). After `patience` blind batches in a row the user's own limit comes back, until a decision is
    taken again: a query never starves at a small size because of us. The lag guard sees every sample, also of blind
    batches. Where the user's own limit is back and is seen to hold data back that is in danger, the guard admits more
    until the danger is over.
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
        keep: Callable[[Snapshot], None] | None = None,
    ) -> None:
        self.slo = slo
        self.gate = gate
        self.journal = journal
        self.observe_only = observe_only
        self.guard = guard or LagGuard()
        self.decision = begin(controller.size)
        self._controller = controller
        # What it knew before the last batch, once it was asked about that; whether it has to go back there first.
        self._before: Snapshot | None = None
        self._stale = False
        self._keep = keep
        # The last batch that was run in another way than those to come.
        self._changed_id = -1
        self._decision_before = self.decision
        self._patience = patience
        self._deadline = deadline or Deadline()
        self._clock = clock or SystemClock()
        self._last_batch_id = -1
        self._blind = 0
        self._gave_up = False
        # After giving up: whether the guard has put a limit of its own in the place of the user's.
        self._lifted = False
        self._news: str | None = None
        self._told_id = -1
        self._faults = Faults()
        self._out_of_reach = OutOfReach(slo)
        # When each limit came into force; None for the user's own.
        self._in_force: deque[tuple[float, _Limit | None]] = deque(maxlen=_REMEMBERED_LIMITS)

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
        self._blind, self._gave_up, self._lifted = 0, False, False
        self.start()

    def renew(self, why: str, since_s: float) -> None:
        """Put the last decision in force again, after somebody else had given the user's limit back at that time."""
        self._tell("limits-returned", why)
        self._in_force.append((since_s, None))
        if not self._gave_up:
            self._admit(self._last_batch_id, self.decision)

    def observe(self, sample: BatchSample, control_s: float = 0.0) -> Decision | None:
        """Learn from a batch and decide; None where there was nothing to learn. Never raises."""
        limit = self._limit_of(sample)
        sample = replace(sample, limit=None if limit is None else limit.size)
        self.journal.sample(sample, control_s=control_s, obeyed=None if limit is None else limit.batch_id)
        if sample.batch_id < self._last_batch_id:
            return None
        decision = self._learn(sample)
        if sample.confirmed:
            self._faults.worked("sampler", "monitor")
            self._tell_counts(self._faults.end_batch())
            if sample.batch_id % _KEPT_EVERY_BATCHES == 0:
                self._keep_learned()
        return decision

    def changed(self, change: Change, first_batch: int | None = None) -> None:
        """A slower loop has changed how batches run: the controller forgets what no longer holds. Never raises.

        `first_batch` is the first that runs in the new way, where that is known; those before it teach nothing.
        """
        self.journal.event("changed", what=change.what, now=change.now, why=change.reason)
        self._changed_id = self._last_batch_id if first_batch is None else max(first_batch - 1, self._last_batch_id)

        def forget() -> None:
            if self._stale and self._before is not None:
                restore_to(self._controller, self._before)
            tell_change(self._controller, change)

        try:
            self._deadline.call(forget)
            self._before, self._stale = None, False
        except Exception as fault:
            self._stale = True
            self._fault("controller", fault)

    def fault(self, part: str, fault: Exception | str, *, blind: bool = True) -> None:
        """A part of ours failed on what a batch reported, so there is no sample of it; `blind` where none will come."""
        self._fault(part, fault)
        if blind:
            self._count_blind(f"last: {self._faults.last}")

    def stop(self, why: str, *, restore: bool = True) -> None:
        """Give the query back to the user's own limit, or leave the last one in force for whoever takes over."""
        self._tell_news()
        self._tell_counts(self._faults.end())
        if restore:
            self._restore()
        self._keep_learned()
        self.journal.event("detached", why=why)

    def _learn(self, sample: BatchSample) -> Decision | None:
        """Have the controller learn from a batch, or from better knowledge of the last one, and admit as it decides."""
        refined = sample.batch_id == self._last_batch_id
        if refined:
            self._news = None
            self._stale = True
        else:
            self._tell_news()
            self._last_batch_id = sample.batch_id
            self._decision_before = self.decision
            if not self._stale:
                self._before = None
        if sample.confirmed:
            self._tell("objective", self._out_of_reach.see(sample))
        old = sample.batch_id <= self._changed_id
        taught = sample.usable and self.slo.measure(sample) is not None and not old
        decision = self._decide(sample) if taught else None
        if decision is None:
            # Where an estimate looked usable and was not, what was decided on it is taken back too.
            self._stay(sample, self.decision if taught or old else self._decision_before)
            if old:
                return None
            self._see_nothing(sample, f"last: {self._faults.last if taught else sample.status}")
            return None
        self._blind, self._lifted = 0, False
        if sample.confirmed:
            self._tell_news()
        # Applied for every batch, also when it is the same: a gate may have failed, or split it anew over its sources.
        if not refined or self._gave_up or decision != self.decision:
            self._gave_up = False
            self.decision = decision
            self._admit(sample.batch_id, decision)
        return decision

    def _decide(self, sample: BatchSample) -> Decision | None:
        controller = self._controller

        def ask() -> tuple[Decision, str | None]:
            if self._before is None:
                self._before = snapshot_of(controller)
            elif self._stale:
                restore_to(controller, self._before)
            if self.observe_only:
                controller.size = sample.size
            decision = controller.decide(sample)
            if not isinstance(decision, Decision):
                raise TypeError(f"decide() returned {decision!r}, not a Decision")
            return decision, news_of(controller)

        try:
            decision, news = self._deadline.call(ask)
            guarded = self._guarded(sample, decision)
            if guarded.size != decision.size:
                controller.size = guarded.size
        except Exception as fault:
            # What it has learned of half a batch is not to stay.
            self._stale = True
            self._fault("controller", fault)
            return None
        self._stale, self._news = False, news
        self._faults.worked("controller")
        before_size = sample.size if self.observe_only else self._decision_before.size
        return guarded.coded(before_size, Code.OUT_OF_REACH if self._out_of_reach.told else None)

    def _keep_learned(self) -> None:
        """Keep what the controller knows for a restart, unless it is in the middle of something."""
        if self._keep is None or self._stale:
            return
        try:
            self._keep(self._deadline.call(lambda: snapshot_of(self._controller)))
        except Exception as fault:
            self._fault("controller", fault)

    def _stay(self, sample: BatchSample, decision: Decision) -> None:
        """Nothing is decided on this batch: an earlier decision stays, or more where data is in danger."""
        if self._gave_up:
            self._lift(sample)
            return
        if sample.status is not Status.EMPTY:
            decision = self._guarded(sample, decision)
        if decision != self.decision:
            self.decision = decision
            self._admit(sample.batch_id, decision)

    def _lift(self, sample: BatchSample) -> None:
        """The user's own limit is in force: admit more than it does, where it holds back data that is in danger.

        A batch that left something behind is as large as that limit. Of any other nobody knows how large it might have
        been, and a limit of ours could be the lower one.
        """
        if sample.limit is not None or not sample.backlog or not 0 < sample.size < math.inf:
            return
        decision = self._guarded(sample, Decision(sample.size, "the user's own limit"))
        if decision.size > sample.size:
            self._gave_up, self._lifted = False, True
            self.decision = self._decision_before = decision
            self._admit(sample.batch_id, decision)

    def _guarded(self, sample: BatchSample, decision: Decision) -> Decision:
        guarded = self.guard.correct(sample, decision)
        self._tell("lag-guard", self.guard.news())
        return guarded

    def _limit_of(self, sample: BatchSample) -> _Limit | None:
        """The limit under which this batch was planned; None for the user's own, or where not known."""
        if sample.started_s is None:
            return None
        planned_s = sample.started_s + _TRIGGER_RESOLUTION_S
        return next((limit for at_s, limit in reversed(self._in_force) if at_s <= planned_s), None)

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
                self._in_force.append((self._clock.wall_s(), _Limit(batch_id, decision.size)))
                self._faults.worked("gate")
            except LimitsReturnedError:
                log.debug("penstock: not applied, the user's own limit is in force: %s", decision)
            except Exception as fault:
                self._fault("gate", fault)
        self.journal.decision(batch_id, decision, applied=applied)

    def _see_nothing(self, sample: BatchSample, last: str) -> None:
        # An idle stream or a warm-up is not blindness, and an estimate may still be confirmed as something better.
        if sample.status not in (Status.EMPTY, Status.WARM_UP) and sample.confirmed:
            self._count_blind(last)

    def _count_blind(self, last: str) -> None:
        self._blind += 1
        saving = self._lifted and self.guard.near
        if self._blind < self._patience or self._gave_up or self.observe_only or saving:
            return
        # Where the gate fails, the next blind batch tries again.
        if self._restore():
            self._gave_up, self._lifted = True, False
            self._tell(
                "gave-up",
                f"no decision on {self._blind} batches in a row ({last}); the user's own limit is in force until one "
                "can be taken",
            )

    def _restore(self) -> bool:
        try:
            self.gate.restore()
            self._in_force.append((self._clock.wall_s(), None))
            self._faults.worked("gate")
        except Exception as fault:
            self._fault("gate", fault)
            return False
        return True

    def _fault(self, part: str, fault: Exception | str) -> None:
        if self._faults.add(part, fault):
            text = fault if isinstance(fault, str) else repr(fault)
            log.warning("penstock: %s failed, the last good size %g stays: %s", part, self.size, text)
            self.journal.event(f"{part}-fault", error=text, size=self.size)

    def _tell_counts(self, counts: Iterable[tuple[str, str, int]]) -> None:
        for part, error, times in counts:
            self.journal.event(f"{part}-fault", error=error, times=times)
