"""How Spark shares a limit in rows over Kafka partitions, and the limit that comes to a number of bytes."""

from __future__ import annotations

import math

from penstock.spark.gates.kafka.end_offsets import Ends
from penstock.spark.gates.kafka.log_sizes import ByteHistory

# Solved to this part of the rows, which is far below what the history knows.
_EXACT = 1e-3


def share(rows: int, start: Ends, ends: Ends) -> dict[tuple[str, int], int]:
    """Where a batch of at most so many rows ends: each partition gives in proportion to what waits in it.

        o_p + floor(rows d_p / sum d),   one row where that is less than one,   d_p = end_p - o_p

    As `KafkaMicroBatchStream.rateLimit` of Spark has it.

    >>> share(100, {("a", 0): 0, ("a", 1): 50}, {("a", 0): 900, ("a", 1): 150})
    {('a', 0): 90, ('a', 1): 60}
    """
    waiting = {part: max(end - start.get(part, 0), 0) for part, end in ends.items()}
    total = sum(waiting.values())
    if not total:
        return dict(ends)
    taken = {part: rows * count / total for part, count in waiting.items()}
    return {
        part: min(end, start.get(part, 0) + (math.ceil(taken[part]) if taken[part] < 1 else math.floor(taken[part])))
        if waiting[part]
        else end
        for part, end in ends.items()
    }


def rows_within(size: float, start: Ends, ends: Ends, history: ByteHistory) -> int:
    """The most rows that Spark can be told to take without passing `size` bytes; one at least.

    With B(R) the bytes of what Spark takes of R rows, the largest R with B(R) <= size, by bisection, to 0.1%. Where
    all that waits is less, the rest is for records that come until the batch is planned, as large as the last ones.

    >>> from penstock.spark.gates.kafka.log_sizes import LogSize
    >>> history = ByteHistory()
    >>> for end, bytes_ in ((0, 0), (1000, 100_000), (1100, 1_100_000)):
    ...     history.see({("a", 0): LogSize(0, end, bytes_)})
    >>> [rows_within(50_000, {("a", 0): at}, {("a", 0): 1100}, history) for at in (0, 900, 1000)]
    [500, 104, 5]
    """
    total = sum(max(end - start.get(part, 0), 0) for part, end in ends.items())
    waiting = history.between(start, ends)
    if size >= waiting:
        return max(total + math.floor((size - waiting) / history.newest), 1)
    low, high = 0, total
    while high - low > max(1, _EXACT * low):
        middle = (low + high) // 2
        if history.between(start, share(middle, start, ends)) <= size:
            low = middle
        else:
            high = middle
    return max(low, 1)
