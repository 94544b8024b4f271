"""Two objectives at once: the second has what room the first leaves, and the user hears when that is not enough."""

from __future__ import annotations

import math
from dataclasses import replace

from penstock.control.protocol import Controller
from penstock.control.retarget import Retarget
from penstock.control.sample_value import measure_name, usable_value
from penstock.control.wrappers import Wrapper, took_all
from penstock.errors import BadInputError
from penstock.sample import BatchSample, Decision
from penstock.size import clamp
from penstock.slo import Kind, Metric, Slo

# How much of the band's half may be used, and how fast: the part of the second's error that moves the aim.
_ROOM, _GAIN, _FASTEST = 0.7, 0.1, 0.1
# On the open side of a bound there is no edge.
_FAR = math.log(1e3)
# Batches until it is told that both cannot hold, and that they do again. One that is off the aim while the controller
# rests may be a pause of its own, and counts a fifth.
_PATIENCE, _AGAIN, _RESTING = 5.0, 10, 0.2
_STILL = 0.01
# A miss for the second's sake leaves less of the room, a batch without one a little more: one in twenty is its price.
_WEARY, _REST, _LEAST_REACH = 0.8, 1.01, 0.05
_SAME = 1e-9
# 1% more latency is fixed / (n each) percent more throughput: at most so many, unless a batch is nearly all fixed cost.
_LEVER = 4.0


class TwoObjectives(Wrapper):
    """Moves the aim of the first objective within its band, to where the second holds too.

    Latency and throughput both grow with the batch. With the first's aim A, the second's value w and its aim B, the
    controller inside steers to A e^v instead of A. While w is outside its band,

        v -= 0.1 log(w / B)

    within 70% of the first's band, and without a limit on the open side of a bound. Where w is better than it need be,
    v goes back to 0, and so it does where a throughput is farther off than all of the room could mend. The first has
    priority: a batch that misses it because of v takes all of v back, and some of the room.

    Told once: that the second cannot hold, after 5 batches that miss it with no room left; and that both hold again,
    after 10 in a row.

    Source: ours.

    >>> from penstock.control.faf import Faf
    >>> slo = Slo.parse("1 s ± 10% & >= 100/s")
    >>> controller = TwoObjectives(Faf(slo.plain, size=85), slo)
    >>> for batch_id in range(12):
    ...     decision = controller.decide(BatchSample(batch_id, size=85, items=85, processing_s=1.0))
    ...     if told := controller.news():
    ...         print(told.partition(";")[0])
    >= 100/s cannot hold together with 1 s ± 10%: throughput 85/s at latency 1 s
    >>> decision.reason.partition("; ")[2]
    'latency scaled x0.935, to aim at 1.07 s for >= 100/s'
    """

    def __init__(self, inner: Controller, slo: Slo) -> None:
        super().__init__(inner)
        if slo.also is None:
            raise BadInputError("slo", str(slo), "a single objective", "write e.g. '1 s ± 10% & >= 20k/s'")
        self.slo = slo
        self.also = slo.also
        self._low, self._high = _room(slo)
        self._moved = 0.0
        self._reach = 1.0
        self._retarget = Retarget()
        self._strain = 0.0
        self._good = 0
        self._apart = False
        self._news: str | None = None

    @property
    def aim(self) -> float:
        """What the first objective's value is steered to."""
        return self.slo.aim * math.exp(self._moved)

    def decide(self, sample: BatchSample) -> Decision:
        """The inner decision on the batch, from the aim that serves both."""
        first, second = usable_value(self.slo, sample), usable_value(self.also, sample)
        if first is None:
            return self._retarget.decide(self.inner, sample, self._factor, self._longest_s)
        ratio, before = first / self.aim, self.size
        wanted = 0.0 if second is None else self._move(first, second, ratio)
        decision = self._retarget.decide(self.inner, sample, self._factor, self._longest_s)
        if second is not None and not took_all(sample, before):
            self._judge(first, second, wanted, ratio, decision.size / before)
        if not self._moved:
            return decision
        aim = self.slo.format_value(float(f"{self.aim:.3g}"))
        note = f"latency scaled x{self._factor:.3g}, to aim at {aim} for {self.also}"
        return replace(decision, reason=f"{decision.reason}; {note}")

    def news(self) -> str | None:
        """What to tell since the last call: once that both cannot hold, once that they do."""
        news, self._news = self._news, None
        return news or super().news()

    @property
    def _factor(self) -> float:
        """What every time counts for, so that the controller inside steers to the moved aim."""
        return math.exp(self._moved if self.slo.metric is Metric.THROUGHPUT else -self._moved)

    @property
    def _longest_s(self) -> float:
        return self.slo.target if self.slo.metric is Metric.END_TO_END else math.inf

    def _move(self, first: float, second: float, ratio: float) -> float:
        """Move the aim; which way the second wants it, 0 where it holds."""
        off = math.log(second / self.also.aim)
        wanted = 0.0 if self.also.holds(second) else -math.copysign(1.0, off)
        pushed = self._moved
        missed = (first > self.slo.high and pushed > 0) or (first < self.slo.low and pushed < 0)
        if pushed:
            self._reach = max(self._reach * _WEARY, _LEAST_REACH) if missed else min(self._reach * _REST, 1.0)
        if missed:
            self._moved = 0.0
        elif wanted and self._out_of_reach(second) and not self._on_its_way(wanted, ratio):
            self._moved /= 2
        elif not (1 - self.also.tolerance <= second / self.also.aim <= 1 + self.also.tolerance):
            self._moved = self._toward(wanted, off, ratio)
        return wanted

    def _toward(self, wanted: float, off: float, ratio: float) -> float:
        if self._on_its_way(wanted, ratio):
            return self._moved
        moved = self._moved - clamp(_GAIN * off, -_FASTEST, _FASTEST)
        if not wanted:
            # Better than asked: the room is given back, and no more than that.
            return max(moved, 0.0) if self._moved > 0 else min(moved, 0.0) if self._moved < 0 else 0.0
        return clamp(moved, self._reach * self._low, self._reach * self._high)

    def _on_its_way(self, wanted: float, ratio: float) -> bool:
        """Whether the first is itself so far from its aim that the controller moves to where the second wants it."""
        return ratio < 1 - self.slo.tolerance if wanted > 0 else wanted < 0 and ratio > 1 + self.slo.tolerance

    def _out_of_reach(self, second: float) -> bool:
        """Whether all the room would not do for a throughput; of a latency nobody can say how much it will move."""
        if self.also.metric is not Metric.THROUGHPUT:
            return False
        up, down = math.exp(_LEVER * self._high), math.exp(_LEVER * self._low)
        return second * up < self.also.low or second * down > self.also.high

    def _judge(self, first: float, second: float, wanted: float, ratio: float, change: float) -> None:
        self._good = self._good + 1 if self.slo.holds(first) and not wanted else 0
        self._strain = self._strained(first, second, wanted, ratio, change) if wanted else 0.0
        if not self._apart and self._strain >= _PATIENCE:
            self._apart = True
            self._news = self._parted(first, second)
        elif self._apart and self._good >= _AGAIN:
            self._apart, self._strain = False, 0.0
            self._news = f"both objectives hold again ({self.slo}): {self._measured(first, second)}"

    def _strained(self, first: float, second: float, wanted: float, ratio: float, change: float) -> float:
        """How many batches have missed the second for want of room."""
        moving = math.log(change)
        if self._on_its_way(wanted, ratio):
            return 0.0 if wanted * moving > _STILL else self._strain + _RESTING
        edge = self._reach * (self._high if wanted > 0 else self._low)
        beyond = first > self.slo.high if wanted > 0 else first < self.slo.low
        if beyond and wanted * moving < -_STILL:
            # The first comes first: until the controller has it back, nothing is known of the second.
            return self._strain
        used_up = beyond or self._out_of_reach(second) or abs(self._moved - edge) < _SAME
        return self._strain + 1 if used_up else self._strain

    def _parted(self, first: float, second: float) -> str:
        gives = measure_name(self.also)
        return (
            f"{self.also} cannot hold together with {replace(self.slo, also=None)}: {self._measured(first, second)}; "
            f"the first has priority, so the {gives} gives way. Ask for less of either, put the other first, or give "
            "the query more cores"
        )

    def _measured(self, first: float, second: float) -> str:
        (latency, slow), (throughput, fast) = sorted(
            ((self.slo, first), (self.also, second)), key=lambda each: each[0].metric is Metric.THROUGHPUT
        )
        return f"{_told(throughput, fast)} at {_told(latency, slow)}"


def objective_inside(slo: Slo, keeps_percentile: bool = False) -> Slo:
    """What the controller inside holds: the first objective, or the aim of a lower bound.

    Above a lower bound some controllers rest, and the second could not make them smaller.

    >>> str(objective_inside(Slo.parse(">= 18k/s & <= 1 s"))), str(objective_inside(Slo.parse("<= 1 s & >= 18k/s")))
    ('20k/s ± 10%', '<= 1 s')
    """
    if keeps_percentile:
        return replace(slo, also=None)
    if slo.also is None or slo.kind is not Kind.AT_LEAST:
        return slo.plain
    return replace(slo.plain, target=slo.aim, kind=Kind.HOLD)


def _told(slo: Slo, value: float) -> str:
    return f"{measure_name(slo)} {slo.format_value(float(f'{value:.3g}'))}"


def _room(slo: Slo) -> tuple[float, float]:
    """How far the logarithm of the aim may move, down and up."""
    if slo.share is not None:
        # The margin of a percentile is learned from what misses: it has no room that it would not take back.
        return 0.0, 0.0
    low, high = math.log1p(-_ROOM * slo.tolerance), math.log1p(_ROOM * slo.tolerance)
    return -_FAR if slo.kind is Kind.AT_MOST else low, _FAR if slo.kind is Kind.AT_LEAST else high
