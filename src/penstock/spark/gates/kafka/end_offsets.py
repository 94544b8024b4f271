"""How old a Kafka record is, from the history of its topic's end offsets: the query itself is never changed."""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

Ends: TypeAlias = Mapping[tuple[str, int], int]
"""An offset of each partition of each topic."""

_POINTS = 1024
# Looks that are so close are of one moment (s); where the clock was set back, they are further apart.
_SAME_MOMENT_S = 1.0
_RATE_S = 10.0


def parse_offsets(text: str | None) -> dict[tuple[str, int], int]:
    """Kafka offsets as Spark writes them; none where it wrote none.

    >>> parse_offsets('{"rides": {"0": 12, "1": 7}}')
    {('rides', 0): 12, ('rides', 1): 7}
    """
    if text is None:
        return {}
    topics = json.loads(text)
    return {(topic, int(part)): int(offset) for topic, parts in topics.items() for part, offset in parts.items()}


def between(start: Ends, end: Ends) -> int:
    """How many records lie between two offsets; a partition that is new at the end counts from 0.

    >>> between({("a", 0): 5}, {("a", 0): 9, ("a", 1): 2})
    6
    """
    return sum(max(stop - start.get(part, 0), 0) for part, stop in end.items())


@dataclass
class OffsetHistory:
    """When the ends of a topic's partitions were where.

    A record arrived between the last look that did not yet see it and the first that did; between two looks records
    are taken to have come evenly. One that was there at the first look is at least as old as that look, until the
    broker has been asked (`seed`). Memory is bounded: old looks are thinned out.

    >>> history = OffsetHistory()
    >>> for at_s, end in ((0.0, 0), (1.0, 100), (2.0, 300)):
    ...     history.see(at_s, {("a", 0): end})
    >>> history.arrival_s(("a", 0), 100), history.arrival_s(("a", 0), 200), history.rate_per_s
    (1.0, 1.5, 150.0)
    """

    _at_s: list[float] = field(default_factory=list)
    _ends: list[Ends] = field(default_factory=list)

    @property
    def parts(self) -> tuple[tuple[str, int], ...]:
        """Topics and partitions at the last look."""
        return tuple(self._ends[-1]) if self._ends else ()

    @property
    def ends(self) -> Ends:
        """The ends at the last look."""
        return self._ends[-1] if self._ends else {}

    def see(self, at_s: float, ends: Ends, same_until_s: float | None = None) -> None:
        """A look at the ends; `same_until_s` is when they were last seen as in the look before."""
        if not ends:
            return
        if same_until_s is not None and self._at_s and self._at_s[-1] < same_until_s < at_s:
            self._add(same_until_s, self._ends[-1])
        if not self._at_s or at_s > self._at_s[-1]:
            self._add(at_s, dict(ends))
        elif self._at_s[-1] - at_s < _SAME_MOMENT_S and any(end > self.ends.get(part, 0) for part, end in ends.items()):
            # A batch looks a moment after its trigger, whose time it tells; another thread looked in between.
            self._add(self._at_s[-1], dict(ends))

    def seed(self, looks: Sequence[tuple[float, Ends]]) -> None:
        """Looks from before the first one, oldest first, as the broker tells them by its records' timestamps."""
        older = [look for look in looks if look[1] and (not self._at_s or look[0] < self._at_s[0])]
        self._at_s[:0] = [at_s for at_s, _ in older]
        self._ends[:0] = [ends for _, ends in older]

    def arrival_s(self, part: tuple[str, int], offset: int) -> float | None:
        """When the record at this offset arrived; None for one that nobody has seen yet."""
        first = next((i for i, ends in enumerate(self._ends) if ends.get(part, 0) > offset), None)
        if first is None:
            return None
        if first == 0:
            return self._at_s[0]
        before, after = self._ends[first - 1].get(part, 0), self._ends[first][part]
        share = (offset - before) / (after - before)
        return self._at_s[first - 1] + share * (self._at_s[first] - self._at_s[first - 1])

    def oldest_s(self, start: Ends, end: Ends) -> float | None:
        """When the oldest record between two offsets arrived; looks that only concern older ones are forgotten."""
        taken = [part for part, stop in end.items() if stop > start.get(part, 0)]
        arrivals = [self.arrival_s(part, start.get(part, 0)) for part in taken]
        known = [arrival for arrival in arrivals if arrival is not None]
        self._forget(start)
        return min(known, default=None)

    @property
    def rate_per_s(self) -> float | None:
        """Records that arrived a second, over the last ten seconds or what there is of them."""
        if len(self._at_s) < 2:
            return None
        now_s = self._at_s[-1]
        first = max(bisect_right(self._at_s, now_s - _RATE_S) - 1, 0)
        span_s = now_s - self._at_s[first]
        return between(self._ends[first], self._ends[-1]) / span_s if span_s > 0 else None

    def _add(self, at_s: float, ends: Ends) -> None:
        self._at_s.append(at_s)
        self._ends.append(ends)
        if len(self._at_s) > _POINTS:
            half = _POINTS // 2
            self._at_s[1:half] = self._at_s[1:half:2]
            self._ends[1:half] = self._ends[1:half:2]

    def _forget(self, start: Ends) -> None:
        # One look at or before the start is enough; the last ones stay for the rate.
        recent_s = (self._at_s[-1] if self._at_s else -math.inf) - _RATE_S
        known = 0
        while (
            known + 1 < len(self._at_s)
            and self._at_s[known + 1] < recent_s
            and all(end <= start.get(part, 0) for part, end in self._ends[known + 1].items())
        ):
            known += 1
        del self._at_s[:known], self._ends[:known]
