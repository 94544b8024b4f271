"""What passes through the loop: one `BatchSample` a batch up, one `Decision` down."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from penstock.errors import BadInputError

NOT_FULL = 0.5
"""A batch below this part of its limit took all there was, also where the backlog is not known."""


class Status(StrEnum):
    """What a batch is worth to a controller. All but `OK` are ignored: they train nobody, but are journaled."""

    OK = "ok"
    WARM_UP = "warm-up"
    EMPTY = "empty"
    FAILED = "failed"
    REPLAYED = "replayed"
    CLOCK_STEP = "clock-step"


@dataclass(frozen=True, slots=True)
class BatchSample:
    """What one batch did.

    `size` is what the batch admitted, in the gate's unit (rows, files, bytes, cost): always the size of *this*
    batch, never the limit now in force. `limit` is the size that was decided for this batch; None where the user's own
    limit held, or it is not known. `items` is the number of rows. `wait_s` is the age of the oldest item when
    the batch was admitted, where the source can tell. `confirmed` is false while the sample is an estimate taken at
    the end of the batch's job and true once Spark's progress event has come.

    >>> sample = BatchSample(batch_id=7, size=1000, items=1000, processing_s=0.9, wait_s=0.4)
    >>> sample.usable, sample.end_to_end_s
    (True, 1.3)
    """

    batch_id: int
    size: float
    items: int
    processing_s: float
    wait_s: float | None = None
    status: Status = Status.OK
    confirmed: bool = True
    started_s: float | None = None
    backlog: float | None = None
    load: float | None = None
    part: str | None = None
    durations_s: Mapping[str, float] = field(default_factory=dict)
    limit: float | None = None

    @property
    def usable(self) -> bool:
        """Whether a controller may learn from this batch."""
        return (
            self.status is Status.OK
            and self.size > 0
            and math.isfinite(self.size)
            and math.isfinite(self.processing_s)
            and self.processing_s > 0
        )

    @property
    def end_to_end_s(self) -> float | None:
        """Wait plus processing, or None where the wait is not known."""
        return None if self.wait_s is None else self.wait_s + self.processing_s

    @property
    def throughput_per_s(self) -> float | None:
        """Items over processing time, or None for a batch that took no time."""
        return self.items / self.processing_s if self.processing_s > 0 else None


class Code(StrEnum):
    """What kind of decision it is, in one word of a closed set: to count decisions by. The reason says it in full."""

    FIRST = "first"
    """Nothing was measured yet."""
    GROW = "grow"
    SHRINK = "shrink"
    KEEP = "keep"
    WAIT = "wait"
    """The size stays, and batches wait for more items."""
    BOUND = "bound"
    """`min_size` or `max_size` holds the size."""
    LAG_GUARD = "lag_guard"
    """More is admitted, since the oldest item gets too old."""
    OUT_OF_REACH = "out_of_reach"
    """No size meets the objective: the fixed time of a batch is beyond it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """How the next batches are admitted, and why.

    At most `size`, in the gate's unit; optionally at least `min_size`, or whatever is there after `max_wait_s`. Every
    item that waits may count as `item_s` seconds of waiting: the time that it will take, so that wait and processing
    together stay within `max_wait_s`. See `longest_wait_s` for the rule.

    `code` may be left out: the loop adds what the decision does to the size.

    >>> Decision(1200.0, "size 1,200 (+20%): faster than 0.9 s")
    Decision(size=1200.0, reason='size 1,200 (+20%): faster than 0.9 s', min_size=None, max_wait_s=None, item_s=0.0,
    code=None)
    """

    size: float
    reason: str
    min_size: float | None = None
    max_wait_s: float | None = None
    item_s: float = 0.0
    code: Code | None = None

    def __post_init__(self) -> None:
        """Refuse what no gate could apply."""
        if not (math.isfinite(self.size) and self.size > 0):
            raise BadInputError("size", self.size, "a batch admits a positive, finite amount", "decide at least 1")
        if self.min_size is not None and not 0 <= self.min_size <= self.size:
            raise BadInputError("min_size", self.min_size, "outside 0..size", f"stay between 0 and {self.size:g}")
        if self.min_size and self.max_wait_s is None:
            raise BadInputError("max_wait_s", None, "a minimum without a longest wait can starve", "give max_wait_s")
        if self.max_wait_s is not None and not (math.isfinite(self.max_wait_s) and self.max_wait_s >= 0):
            raise BadInputError("max_wait_s", self.max_wait_s, "not a waiting time", "give seconds >= 0")
        if not (math.isfinite(self.item_s) and self.item_s >= 0):
            raise BadInputError("item_s", self.item_s, "not the time of an item", "give seconds >= 0")
        if self.item_s and self.max_wait_s is None:
            raise BadInputError("item_s", self.item_s, "nothing to count it against", "give max_wait_s, or leave it 0")
        code: object = self.code
        if code is not None and not isinstance(code, Code):
            raise BadInputError("code", code, "not a penstock.sample.Code", f"choose from {', '.join(Code)}")

    def coded(self, before: float, otherwise: Code | None = None) -> Decision:
        """With a code: its own, or else the other one, or else what it does to the size in force before it.

        >>> Decision(120, "faster than 0.9 s").coded(before=100).code
        <Code.GROW: 'grow'>
        """
        code = self.code or otherwise
        if code is None and self.size == before:
            code = Code.WAIT if self.min_size else Code.KEEP
        return replace(self, code=code or (Code.GROW if self.size > before else Code.SHRINK))


def longest_wait_s(queued: float, min_size: float | None, max_wait_s: float | None, item_s: float = 0.0) -> float:
    """How long the oldest item may wait while so much is queued: at this age the batch is admitted.

        0                                     if there is no minimum, or queued >= min_size
        max(max_wait_s - item_s queued, 0)    otherwise

    The one rule of admission, for every source that can wait. `queued` is what would be admitted now, in the gate's
    unit.

    >>> longest_wait_s(300, min_size=1000, max_wait_s=2.0, item_s=0.001), longest_wait_s(1000, 1000, 2.0, 0.001)
    (1.7, 0.0)
    """
    if min_size is None or queued >= min_size:
        return 0.0
    return max((max_wait_s or 0.0) - item_s * queued, 0.0)
