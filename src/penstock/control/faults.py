"""Faults of our own parts: each is told when it begins, and counted until it is over."""

from __future__ import annotations


class Faults:
    """Counts faults by part and kind: each is told when it begins, and with its count when it is over.

    It is over at the end of a batch in which its part has worked and has not failed: one that comes with every batch,
    at its estimate only or at its confirmed sample only, is one fault. The kind of a fault in words is what stands
    before the first colon, without a number in front.

    >>> faults = Faults()
    >>> [faults.add("controller", ValueError(text)) for text in ("a", "b")], faults.end_batch()
    ([True, False], [])
    >>> faults.worked("controller")
    >>> faults.end_batch()
    [('controller', 'ValueError', 2)]
    """

    def __init__(self) -> None:
        self.last = ""
        self._times: dict[tuple[str, str], int] = {}
        self._worked: set[str] = set()
        self._failed: set[str] = set()

    def add(self, part: str, fault: Exception | str) -> bool:
        """Whether this fault is a new one and has to be told."""
        self.last = f"{part} failed with {fault!r}"
        self._failed.add(part)
        kind = fault.partition(":")[0].lstrip("0123456789 ") if isinstance(fault, str) else type(fault).__name__
        times = self._times[part, kind] = self._times.get((part, kind), 0) + 1
        return times == 1

    def worked(self, *parts: str) -> None:
        """These parts did something in this batch."""
        self._worked.update(parts)

    def end_batch(self) -> list[tuple[str, str, int]]:
        """The faults that are over and came more than once: part, kind and count."""
        over, self._worked, self._failed = self._worked - self._failed, set(), set()
        return self._end(over)

    def end(self) -> list[tuple[str, str, int]]:
        """All faults that came more than once; no batch follows."""
        return self._end({part for part, _ in self._times})

    def _end(self, parts: set[str]) -> list[tuple[str, str, int]]:
        ended = [(part, kind, self._times.pop((part, kind))) for part, kind in list(self._times) if part in parts]
        return [count for count in ended if count[2] > 1]
