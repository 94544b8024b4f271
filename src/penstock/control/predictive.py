"""A controller that learns the load: what a batch costs, what an item costs, how that moves, and when it comes back."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from penstock.control.sample_value import keep, measure_name, shown, usable_value
from penstock.model.cycle import Cycle
from penstock.model.echo import Echo
from penstock.model.floor import Floor
from penstock.model.level import Level, News
from penstock.model.margin import Margin
from penstock.model.overhead import Overhead
from penstock.model.pipeline import Pipeline
from penstock.sample import BatchSample, Decision
from penstock.size import check_size, clamp, format_change, format_size
from penstock.slo import Kind, Metric, Slo

# A batch below this part of the aim was not as large as the bound allows: that it kept it says nothing.
_HELD_BACK = 0.5
# A batch is at most so many times the largest of the last ones: what nobody has seen may not be as foreseen.
_GROWTH, _RECENT = 4.0, 32
# Lateness of samples, in batches: up to so many; how fast it is learned; no two sizes differ by more than this there.
_MOST_LAG = 16
_LAG_GAIN = 0.1
_MISMATCH = 0.3
_OBEYED, _EARLIER = 0.01, 1e-4
# Where forecasts with and without a cycle differ by less than so many standard deviations, it is noise; with a slow
# cycle, which the level follows nearly as well, by less than so many, or than this.
_APART, _SLOWLY_APART, _LEAST_APART = 1.0, 1.5, 0.05
# Where the level is in doubt a batch is made smaller, down to a third.
_MOST_CARE = math.log(3.0)
# No size gives all of 1 / item as throughput; a batch whose fixed part is this share of it is large enough.
_IN_REACH = 0.9
_ENOUGH = 0.05
# Only sizes that differ tell a fixed part apart: the first batches may grow.
_TOLD_APART = 2
# Some of the goal is always for items, also where the fixed part is beyond it.
_LEAST_SHARE = 0.03
# What is left for items where a batch has more in it than the goal allows: none, which is rounded up to one.
_LEAST_SIZE = 0.1
_WORTH_SAYING = 0.05
# Of the first batches nobody can say that the load has changed: nothing was known yet. Nor do fewer sizes that differ
# tell what depends on them.
_FIRST = 3
# A batch of so few items is as small as any; one of so many times what was planned is not small.
_FEW, _NEAR = 2.5, 4.0
# After so many more of them than others larger ones are tried; what that found is forgotten after so many that need it
# not.
_UNVARIED, _MOST_UNUSED = 10, 40
_ELSEWHERE = 1.5
_TIMES_S = (1e-9, 1e12)
# Beyond these nothing can be computed.
_SIZES = (1e-9, 1e18)


class Predictive:
    """Learns what batches and items cost, foresees changes, trends and cycles, and solves for the target.

    With value = fixed + n item, both learned from every batch:

        size' = (goal - fixed) / item'

    where item' is the forecast for the batch that will be admitted: by the level of the load, its trend and, where the
    load comes back at regular intervals, its cycle (`penstock.model`). The goal is the target; for a bound
    on processing, so far below it that 19 batches in 20 keep it, or the share that a percentile names
    (`penstock.model.margin`). Under a bound no batch grows once its fixed part is 5%
    of its time: beyond that, latency grows and throughput does not. Where batches of one or two items would be called
    for, or take longer than the objective whatever their size, they have as many items as cost hardly any time
    (`penstock.model.floor`). A size is at most four times the largest of the last 32 batches, unless the load is back
    at a level that is known.

    A throughput is solved for in the same model, without trends and cycles.

    Samples may come late: how late is seen from which decision a batch obeyed, and the forecast reaches as far ahead.
    Batches may overlap in a pipeline: asked as each is admitted (`decide_at_admission`), it sizes the batch for
    what is on its way (`penstock.model.pipeline`).

    `changes` (that start the level anew), `recall` (of levels known from before, so that a spike that has passed costs
    one batch), `trends` and `cycles` can be switched off, to see what each is worth.

    Source: ours.

    >>> slo = Slo.parse("1 s ± 10%")
    >>> controller = Predictive(slo, size=100)
    >>> for size, latency_s in ((100, 0.3), (332, 0.532), (767, 0.967)):
    ...     controller.decide(BatchSample(batch_id=0, size=size, items=size, processing_s=latency_s)).reason
    'latency 300 ms; 0 s + 3 ms an item: +232% to 332'
    'latency 532 ms; 200 ms + 1 ms an item: +131% to 767'
    'latency 967 ms; 200 ms + 1 ms an item: +1.4% to 778'
    """

    live_defaults: ClassVar[Mapping[str, object]] = {}
    keeps_percentiles: ClassVar[frozenset[Metric]] = frozenset({Metric.PROCESSING})
    """Of these measures it keeps a percentile by a margin of its own: no wrapper adds another."""

    def __init__(
        self,
        slo: Slo,
        size: float,
        cycles: bool = True,
        trends: bool = True,
        recall: bool = True,
        changes: bool = True,
    ) -> None:
        self.slo = slo
        self.cycles = cycles
        self._size = self._before = check_size("size", size)
        self._moved = self._raised = False
        self._overhead: Overhead | None = None
        self._margin = Margin(slo)
        self._level = Level(trends, recall, changes)
        self._cycle = Cycle()
        self._echo = Echo()
        # Of batches that are on their way together, from when somebody asks as each is admitted.
        self._pipeline: Pipeline | None = None
        self._waited_s = self._waiting = 0.0
        # Whether the last that was said is the size of a batch as it was admitted.
        self._answered = False
        self._believed = "sizes are decided as batches are admitted"
        self._sizes = array("d")
        # Of the last decisions: their sizes, and what an item would have taken without a cycle.
        self._decided = array("d")
        self._expected = array("d")
        self._mismatches = array("d", [0.0, *[_MISMATCH] * (_MOST_LAG - 1)])
        self._lag = 1
        self._unvaried = self._unused = 0
        self._floor: Floor | None = None

    @property
    def size(self) -> float:
        """The size now in force. Assigned from outside and far from where it was, it makes the level start anew."""
        return self._size

    @size.setter
    def size(self, size: float) -> None:
        # A wrapper that corrects a decision ends between the old and the new size; who moves it elsewhere knows better.
        low, high = min(self._before, self._size), max(self._before, self._size)
        self._moved = not low / _ELSEWHERE < size < high * _ELSEWHERE
        self._raised = size > self._size
        self._size = size
        if self._decided:
            self._decided[-1] = size
        if self._answered and self._pipeline is not None:
            self._pipeline.correct(min(max(round(size), 1), self._waiting))

    def decide(self, sample: BatchSample) -> Decision:
        """Learn from a usable sample and solve; keep the size on any other."""
        self._answered = False
        if self._pipeline is not None:
            self._leave(self._pipeline, sample)
        value = usable_value(self.slo, sample)
        if value is None:
            return keep(self.size, sample)
        if self.slo.metric is Metric.PROCESSING and value > _HELD_BACK * self.slo.aim:
            self._margin.learn(value)
        if self._pipeline is not None and self._pipeline.depth:
            return self._in_pipeline(self._pipeline, sample, value)
        rate = self.slo.metric is Metric.THROUGHPUT
        took = clamp(sample.processing_s if rate else value, *_TIMES_S)
        sample = sample if _SIZES[0] <= sample.size <= _SIZES[1] else replace(sample, size=clamp(sample.size, *_SIZES))
        if self._overhead is None:
            # A throughput has no time of its own to measure others by: that of the first batch is one.
            self._overhead = Overhead(took if rate else self.slo.aim)
        self._sizes.append(sample.size)
        if len(self._sizes) > _RECENT:
            del self._sizes[0]
        # The size of a batch that took all there was is no decision's.
        if sample.backlog != 0:
            self._find_lag(sample.size)
        self._overhead.learn(sample.size, took)
        fixed = self._overhead.fixed
        if self._moved:
            self._level.start_over()
            self._margin = Margin(self.slo)
            self._moved = False
        news = self._level.learn(sample.size, took, fixed)
        if self.cycles and not rate:
            self._learn_cycles(sample.size, max(took - fixed, _LEAST_SHARE * took), fixed)
        before = self._before = self._size
        if rate:
            planned, why = self._for_rate(sample, value, self._overhead)
        else:
            planned, why = self._for_latency(fixed)
            self._see_reach(sample, fixed, planned)
            if self._floor is not None and self._floor.size > planned:
                because = "to see whether more take longer" if self._floor.trying else "as fewer take about as long"
                planned, why = self._floor.size, f"{why}, {because}"
        # The largest of all is looked for only where it matters.
        if planned > max(before, _GROWTH * sample.size) and news is not News.RETURNED:
            planned = min(planned, max(_GROWTH * max(self._sizes), before))
        self._size = clamp(planned)
        self._decided.append(self._size)
        if len(self._decided) > _MOST_LAG:
            del self._decided[0]
        believed = f"{shown(fixed)} + {shown(self._level.item)} an item"
        changes = f"{news}; " if news and len(self._decided) > _FIRST else ""
        measured = f"{measure_name(self.slo)} {self.slo.format_value(value)}"
        return Decision(self._size, f"{measured}; {changes}{believed}{why}: {format_change(before, self._size)}")

    def decide_at_admission(self, at_s: float, waiting: float, idle: bool) -> Decision | None:
        """The size of a batch that is admitted now, while others are on their way; None where it is the last one's.

        To be asked for every batch of a pipeline in which batches overlap, and for none elsewhere.
        """
        if self.slo.metric is Metric.THROUGHPUT:
            return None
        if self._pipeline is None:
            self._pipeline = Pipeline(self.slo.aim, self.cycles)
        pipeline, before, self._waiting = self._pipeline, self._size, waiting
        planned = pipeline.admit(at_s, idle, *self._goal_and_most(pipeline))
        self._answered = planned is not None
        if planned is None:
            pipeline.add(at_s, min(max(round(self._size), 1), waiting))
            return None
        # Others on their way have the rest of it: a whole number.
        self._size = clamp(float(round(planned)))
        pipeline.add(at_s, min(self._size, waiting))
        believed = f"{shown(pipeline.overhead.fixed)} + {shown(pipeline.lines.item(0.0))} an item in the slowest stage"
        period = pipeline.period
        cycle = "" if period is None else f", in a cycle of {format_size(period)} items"
        self._believed = f"{believed}{cycle}"
        return Decision(self._size, f"{self._believed}: {format_change(before, self._size)}")

    def _leave(self, pipeline: Pipeline, sample: BatchSample) -> None:
        """A batch has left the pipeline, whether it teaches anything else or not."""
        self._waited_s = sample.wait_s if sample.wait_s is not None and math.isfinite(sample.wait_s) else 0.0
        if sample.started_s is not None and math.isfinite(sample.started_s + sample.processing_s + sample.size):
            pipeline.left(sample.started_s + sample.processing_s, clamp(sample.size, *_SIZES), sample.started_s)
        else:
            pipeline.lose()

    def _in_pipeline(self, pipeline: Pipeline, sample: BatchSample, value: float) -> Decision:
        """Sizes are decided at admission; until enough is known for that, a batch that was too long calls for less."""
        measured = f"{measure_name(self.slo)} {self.slo.format_value(value)}"
        if pipeline.started or value <= self.slo.high:
            return Decision(self._size, f"{measured}; {self._believed}: {format_size(self._size)} was the last size")
        before = self._size
        self._size = clamp(min(before, sample.size * self.slo.aim / value))
        return Decision(self._size, f"{measured}; of the first batches: {format_change(before, self._size)}")

    def _goal_and_most(self, pipeline: Pipeline) -> tuple[float, float]:
        """The latency of a batch in a pipeline, and a size beyond which it gains nothing."""
        goal, most = self.slo.aim, math.inf
        if self.slo.metric is Metric.END_TO_END:
            goal = max(goal - self._waited_s, _LEAST_SHARE * goal)
        if self.slo.kind is Kind.AT_MOST and pipeline.lines.started:
            noise = pipeline.lines.noise
            goal = min(goal, self._margin.goal(noise))
            if pipeline.overhead.varied >= _FIRST and pipeline.overhead.fixed + pipeline.overhead.extra > 0:
                beside = pipeline.overhead.most(pipeline.lines.item(0.0), noise)
                most = max(beside * (1 / _ENOUGH - 1), self._size)
        return goal, most

    def _see_reach(self, sample: BatchSample, fixed: float, planned: float) -> None:
        """Find out what small batches leave open: whether items are heavy, or the fixed time is all there is.

        Sizes of one or two, or of any number below a fixed time beyond the objective, tell the two hardly apart.
        """
        # As small as any is also what a bound holds up at a handful.
        held_up, self._raised = self._raised and sample.items <= _NEAR * _FEW, False
        few = held_up or planned < _FEW or (sample.items < _FEW and planned < sample.size)
        # Of larger batches, which somebody else has made, nobody knows what small ones would take.
        small = self._floor is not None or sample.items < _FEW or sample.size <= _NEAR * max(planned, _FEW)
        smallest = small and (few or fixed > self.slo.high)
        self._unvaried = max(self._unvaried + (1 if smallest else -1), 0)
        if self._floor is not None:
            self._unused = self._unused + 1 if planned > max(self._floor.size, _FEW) else 0
            # What waited has waited, whatever the size.
            took_s = clamp(sample.processing_s, *_TIMES_S)
            known = self._floor.learn(sample.size, took_s)
            if not known or self._unused >= _MOST_UNUSED:
                self._floor, self._unvaried, self._unused = None, 0, 0
        elif self._unvaried >= _UNVARIED:
            self._floor = Floor(sample.size)

    def _for_rate(self, sample: BatchSample, value: float, overhead: Overhead) -> tuple[float, str]:
        """A throughput n / (fixed + n item), solved for n; in proportion while no fixed cost is known to share out."""
        if self.slo.low <= value <= self.slo.high:
            return self._size, ""
        item = self._level.item
        rate = min(self.slo.aim * sample.size / max(sample.items, 1), _IN_REACH / item)
        planned = overhead.fixed * rate / (1 - item * rate)
        if overhead.fixed:
            # What is too slow is not mended by smaller batches.
            return max(planned, self._size) if value < self.slo.aim else planned, ""
        if overhead.varied >= _FIRST:
            return self._size, ", whatever the size"
        proportion = sample.size * self.slo.aim / value
        return (max if value < self.slo.aim else min)(proportion, self._size), ""

    def _for_latency(self, fixed: float) -> tuple[float, str]:
        goal = self.slo.aim
        # Of sizes that are off by chance the larger ones have the more items. With a normal error of the logarithm,
        # the middle item is in a batch that is off by its variance.
        care = min(self._level.doubt**2, _MOST_CARE)
        # End to end, a smaller batch has no smaller wait behind a backlog, and what may wait has a margin of its own.
        if self.slo.kind is Kind.AT_MOST and self.slo.metric is Metric.PROCESSING:
            share = clamp(1 - fixed / goal, 0.0, 1.0)
            goal = min(goal, self._margin.goal(self._level.spread(share), fixed))
            care = 0.0
        solved = self._level.size_for(goal, fixed, self._lag)
        work = max(goal - fixed, _LEAST_SHARE * goal)
        self._expected.append(work / solved)
        if len(self._expected) > _MOST_LAG:
            del self._expected[0]
        planned = max(solved * math.exp(-care), _LEAST_SIZE)
        why = ""
        if abs(self._level.slope) * self._lag > _WORTH_SAYING:
            why = f", moving by {math.expm1(self._level.slope):+.0%} a batch"
        foreseen, period = self._foreseen(goal, fixed, planned)
        if foreseen is not None:
            planned, why = foreseen, f", in a cycle of {format_size(period)} items"
        if self.slo.kind is Kind.AT_MOST and fixed > 0 and len(self._decided) > _TOLD_APART:
            assert self._overhead is not None
            # With the likeliest, a size that is wrongly taken for enough would stay: sizes that are all the same tell
            # nothing about the fixed part.
            most = self._overhead.most(self._level.item, self._level.noise)
            enough = max(most * (1 / _ENOUGH - 1), self._size)
            if planned > enough:
                return enough, f"{why}, more gains no throughput"
        return planned, why

    def _learn_cycles(self, size: float, work: float, fixed: float) -> None:
        self._cycle.learn(size, work, fixed, self._level.error, self._level.noise)
        error = self._level.error
        if len(self._expected) >= self._lag:
            error = math.log(work / (size * self._expected[-self._lag]))
        self._echo.learn(size, work, 0.0, error, self._lag, look=not self._cycle.trusted)

    def _foreseen(self, goal: float, fixed: float, planned: float) -> tuple[float | None, float]:
        """The size by a cycle, if there is one and it says something else than the level; and its period."""
        if not self.cycles:
            return None, 0.0
        waiting = sum(self._decided[1 - self._lag :]) if self._lag > 1 else 0.0
        self._echo.foresee(waiting, planned)
        if self._echo.trusted:
            foreseen = self._echo.size_for(max(goal - fixed, _LEAST_SHARE * goal), waiting)
            apart, period = max(_SLOWLY_APART * self._level.noise, _LEAST_APART), self._echo.period
        elif self._cycle.trusted:
            foreseen = self._cycle.size_for(goal, fixed, waiting, self._lag)
            apart, period = _APART * self._level.noise, self._cycle.period
        else:
            return None, 0.0
        told = foreseen > 0 and abs(math.log(foreseen / planned)) > apart
        return foreseen if told else None, period or 0.0

    def _find_lag(self, size: float) -> None:
        """How many decisions ago this batch's size was decided: where sizes agree best, of late."""
        if self._lag == 1 and self._decided and abs(self._decided[-1] - size) <= max(_OBEYED * size, 1.0):
            return
        best = math.inf
        mismatches = self._mismatches
        for ago, decided in enumerate(reversed(self._decided)):
            mismatch = abs(math.log(max(round(decided), 1) / size))
            if mismatch > _MISMATCH:
                mismatch = _MISMATCH
            mismatches[ago] = mismatch = mismatches[ago] + _LAG_GAIN * (mismatch - mismatches[ago])
            # Where nothing tells them apart, the latest decision it was.
            if (distance := mismatch + _EARLIER * ago) < best:
                best, self._lag = distance, ago + 1
