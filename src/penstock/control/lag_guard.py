"""The guard against loss: when the oldest item nears the age at which it would be lost, admit more."""

from __future__ import annotations

import math

from penstock.control.sample_value import overruled
from penstock.errors import BadInputError
from penstock.sample import BatchSample, Code, Decision
from penstock.size import LARGEST, format_limit
from penstock.units import format_duration

NEAR = 0.5
# Left well below where it was entered: a lag on the edge would else be told with every batch.
_SAFE = 0.4
_LAGS = 4


class LagGuard:
    """Doubles the batch while its oldest item is near `max_lag_s` and the lag reaches new heights.

    A latency can be held by admitting too little, until the broker deletes what was never read. Throughput grows with
    the batch, so the guard gives up the latency to save the data: from half of `max_lag_s` on, as long as something
    waits, up to `max_size`. It works on decisions, not inside a controller, since what it knows of the topic may come
    later.

    >>> guard = LagGuard(max_lag_s=60)
    >>> late = BatchSample(batch_id=1, size=100, items=100, processing_s=1.0, wait_s=40.0, backlog=5000)
    >>> print(guard.correct(late, Decision(90, "size 90 (-10%): the last batch took 1 s")).reason)
    size 200: the oldest item was 41 s old, of at most 60 s; instead of size 90 (-10%): the last batch took 1 s
    """

    def __init__(self, max_lag_s: float | None = None, max_size: float = LARGEST) -> None:
        if max_lag_s is not None and not max_lag_s > 0:
            raise BadInputError("max_lag", max_lag_s, "not an age", "write e.g. '30 min'")
        self.max_lag_s = math.inf if max_lag_s is None else max_lag_s
        self.max_size = max_size
        self._near = False
        self._news: str | None = None
        self._batch_id = -1
        self._lags_s: tuple[float, ...] = ()
        # Both as they were before the last batch: one that is seen again, better known, is judged from there.
        self._before: tuple[bool, tuple[float, ...]] = (False, ())

    @property
    def near(self) -> bool:
        """Whether data is in danger, as far as the last batch told."""
        return self._near

    def limit(self, max_lag_s: float) -> None:
        """Another limit became known, such as the retention of a topic: the lower one counts."""
        self.max_lag_s = min(self.max_lag_s, max_lag_s)

    def correct(self, sample: BatchSample, decision: Decision) -> Decision:
        """The decision, or a larger one where data is in danger."""
        lag_s = sample.end_to_end_s
        if lag_s is None or not math.isfinite(self.max_lag_s):
            return decision
        if sample.batch_id == self._batch_id:
            self._near, self._lags_s = self._before
        self._batch_id, self._before = sample.batch_id, (self._near, self._lags_s)
        highest_s = max(self._lags_s, default=0.0)
        self._lags_s = (*self._lags_s, lag_s)[-_LAGS:]
        waiting = sample.backlog is None or sample.backlog > 0
        near = waiting and lag_s >= (_SAFE if self._near else NEAR) * self.max_lag_s
        most = format_duration(self.max_lag_s)
        if near != self._near:
            self._near = near
            outlook = "batches grow until that falls" if near else "out of danger"
            self._news = f"the oldest item was {format_duration(lag_s)} old, of at most {most}: {outlook}"
        if not near:
            return decision
        factor = 2.0 if lag_s >= highest_s else 1.0
        size = max(decision.size, min(factor * sample.size, self.max_size))
        if size == decision.size and not decision.min_size:
            return decision
        why = f"the oldest item was {format_duration(lag_s)} old, of at most {most}"
        decided = f"{format_limit(size)}{', no waiting' if decision.min_size else ''}"
        return Decision(size, overruled(decided, why, decision.reason), code=Code.LAG_GUARD)

    def news(self) -> str | None:
        """What to tell the user since the last call: once at the beginning of a danger, once at its end."""
        news, self._news = self._news, None
        return news
