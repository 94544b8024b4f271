"""DStreams: the rate estimator of Spark's first streaming engine, on a schedule of one batch every target."""

from __future__ import annotations

import math

from penstock.control.learning import LearningController
from penstock.control.protocol import Change
from penstock.errors import BadInputError
from penstock.sample import BatchSample
from penstock.size import clamp
from penstock.slo import Metric, Slo
from penstock.units import format_count, format_duration


class RateEstimator:
    """How many elements a second to let in, from how the last batch went: a PID controller on the rate itself.

    With r the rate now in force, p = elements / processing delay, d = the scheduling delay:

        e = r - p
        r' = max(min_rate, r - kp e - ki d p / interval - kd (e - e1) / dt)

    The scheduling delay stands for the sum of past errors: d * p elements should have been done by now. The first valid
    batch only seeds r with p. A batch is valid when time has moved on, it had elements and it took time.

    Source: `PIDRateEstimator` of Apache Spark 4.2, `org.apache.spark.streaming.scheduler.rate`; the arithmetic is the
    same to the last operation, and tested against it.

    >>> estimator = RateEstimator(interval_s=1.0)
    >>> estimator.compute(1000, elements=500, processing_delay_ms=1000, scheduling_delay_ms=0)
    >>> estimator.compute(2000, elements=500, processing_delay_ms=1250, scheduling_delay_ms=250)
    380.0
    """

    def __init__(
        self, interval_s: float, kp: float = 1.0, ki: float = 0.2, kd: float = 0.0, min_rate: float = 100.0
    ) -> None:
        if not (math.isfinite(interval_s) and interval_s > 0):
            raise BadInputError("interval_s", interval_s, "batches come at a positive interval", "write e.g. 1")
        for field, gain in (("kp", kp), ("ki", ki), ("kd", kd)):
            if not (math.isfinite(gain) and gain >= 0):
                raise BadInputError(field, gain, "a gain is finite and not negative", "write e.g. 0.2")
        if not (math.isfinite(min_rate) and min_rate > 0):
            raise BadInputError(
                "min_rate", min_rate, "nothing can be learned where nothing is let in", "write e.g. 100"
            )
        self.interval_ms = 1000 * interval_s
        self.kp, self.ki, self.kd = float(kp), float(ki), float(kd)
        self.min_rate = float(min_rate)
        self.rate: float | None = None
        self._time_ms = -1.0
        self._error = -1.0

    def seed(self, rate: float) -> None:
        """Start anew from a rate, as the first batch does."""
        self.rate = rate
        self._error = 0.0

    def compute(
        self, time_ms: float, elements: float, processing_delay_ms: float, scheduling_delay_ms: float
    ) -> float | None:
        """The new rate in elements a second, or None where nothing can be said; `time_ms` is the end of the batch."""
        if not (time_ms > self._time_ms and elements > 0 and processing_delay_ms > 0):
            return None
        since_s = (time_ms - self._time_ms) / 1000
        self._time_ms = time_ms
        processing_rate = elements / processing_delay_ms * 1000
        if self.rate is None:
            self.seed(processing_rate)
            return None
        error = self.rate - processing_rate
        overdue = scheduling_delay_ms * processing_rate / self.interval_ms
        change_per_s = (error - self._error) / since_s
        self.rate = max(self.rate - self.kp * error - self.ki * overdue - self.kd * change_per_s, self.min_rate)
        self._error = error
        return self.rate


class Dstreams(LearningController):
    """Backpressure of Spark's DStreams: what the machine can process in one target's time, less what is overdue.

    With `RateEstimator` (see its formula) at an interval of one target, n the size of the batch that was measured:

        size' = rate * target
        delay' = max(0, delay + latency - target)       the scheduling delay of the batch after this one

    A DStream starts a batch every interval, and must end it within one to stay stable: an SLO's target is that
    interval, and the schedule that the delay belongs to is imagined. The estimator runs with Spark's own defaults; its
    first batch only seeds it.

    Two things keep the imagined schedule sane. A size assigned from outside starts a new one, from that size and
    without delay. And the delay ends at 1 / ki targets, where its term alone takes away the whole rate: more of it
    could only last longer, and here no batches stand in a queue. `min_rate` is in units of the gate a second: lower it
    where batches are few files rather than many rows. A throughput takes the place of the latency, in units of its own
    target, on a schedule of one batch a second.

    Source: Apache Spark, `PIDRateEstimator` and `spark.streaming.backpressure.pid.*`.

    >>> controller = Dstreams(Slo.parse("1 s ± 10%"), size=1000)
    >>> for batch_id, (size, latency_s) in enumerate(((1000, 1.25), (1000, 1.25))):
    ...     controller.decide(BatchSample(batch_id=batch_id, size=size, items=size, processing_s=latency_s)).reason
    'size stays at 1,000: the last batch took 1.25 s, over 1.1 s; first estimated rate 800/s'
    'size 760 (-24%): the last batch took 1.25 s, over 1.1 s; estimated rate 760/s after a delay of 250 ms'
    """

    def __init__(
        self,
        slo: Slo,
        size: float,
        kp: float = 1.0,
        ki: float = 0.2,
        kd: float = 0.0,
        min_rate: float = 100.0,
    ) -> None:
        super().__init__(slo, size)
        self._interval_s = 1.0 if slo.metric is Metric.THROUGHPUT else slo.aim
        self.estimator = RateEstimator(self._interval_s, kp, ki, kd, min_rate)
        self._due_ms = 0.0
        self._end_ms = 0.0
        self._decided = self.size

    def plan_from(self, sample: BatchSample, ratio: float) -> float:
        """The estimated rate, over one interval."""
        if self.size != self._decided:
            self.estimator.seed(self.size / self._interval_s)
            self._due_ms = self._end_ms
        delay_ms = self._schedule(ratio * self.estimator.interval_ms)
        rate = self.estimator.compute(self._end_ms, sample.size, ratio * self.estimator.interval_ms, delay_ms)
        if rate is not None and not math.isfinite(rate):
            # A large derivative gain can blow the estimator up, Spark's too, and it would never come back.
            self.estimator.seed(self.size / self._interval_s)
            rate = None
        known = format_count(float(f"{self.estimator.rate or 0.0:.3g}"))
        if rate is None:
            self.belief = f"first estimated rate {known}/s"
            self._decided = self.size
        else:
            delay = format_duration(float(f"{delay_ms / 1000:.3g}"))
            self.belief = f"estimated rate {known}/s after {f'a delay of {delay}' if delay_ms else 'no delay'}"
            self._decided = clamp(rate * self._interval_s)
        return self._decided

    def changed(self, change: Change) -> None:
        """Start a new schedule from the size in force, without delay."""
        self.estimator.seed(self.size / self._interval_s)
        self._due_ms = self._end_ms

    def _schedule(self, processing_ms: float) -> float:
        # The batch was due at `due`, began when the one before it had ended, and now ends: how late it began.
        longest_ms = self.estimator.interval_ms / self.estimator.ki if self.estimator.ki > 0 else math.inf
        self._due_ms = max(self._due_ms, self._end_ms - longest_ms)
        begin_ms = max(self._due_ms, self._end_ms)
        delay_ms = begin_ms - self._due_ms
        self._end_ms = begin_ms + processing_ms
        self._due_ms += self.estimator.interval_ms
        return delay_ms
