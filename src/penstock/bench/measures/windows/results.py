"""What the records of finished measurements say: medians over rounds, the best B, and who is ahead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from statistics import median
from typing import Any

from penstock.bench.measures.windows import aggregates, black_box, devices, planner, plumbing
from penstock.bench.measures.windows.cases import Setting
from penstock.bench.measures.windows.rates import OURS

Record = Mapping[str, Any]
# Closer than this to each other, two rates are a tie.
TIE = 1.1
# Where a slower device computes this share of what the stream gives, it keeps up.
KEEPS_UP = 0.95


class Results:
    """Records by what they are about."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._records = [record for record in records if "failed" not in record]

    def select(self, **fields: Any) -> list[Record]:
        """The records with these fields."""
        return [each for each in self._records if all(each.get(key) == value for key, value in fields.items())]

    def middle(self, name: str, **fields: Any) -> float | None:
        """The median of a number over the records that have it, or None."""
        found = [float(each[name]) for each in self.select(**fields) if each.get(name) is not None]
        return median(found) if found else None

    def settings(self, keyed: bool = False) -> list[Setting]:
        """The settings of table 3 that were measured, with their keys or without."""
        found = {
            Setting(each["query"], each["length"], each["every"], each["keys"]): None
            for each in self.select(program="rates")
            if (each["keys"] is not None) == keyed
        }
        return sorted(found, key=lambda setting: (setting.query, setting.length, setting.every))

    def rate(self, setting: Setting, who: str = OURS, name: str = "rows_per_s") -> float | None:
        """Rows a second; ours with the best B, whose numbers all are if another `name` is asked for."""
        if who == OURS:
            return self.middle(name, **_about(setting, OURS), batch=self.best_batch(setting))
        return self.middle(name, **_about(setting, who))

    def best_batch(self, setting: Setting) -> int | None:
        """Gasser's B that had the highest rate; None is the operator's own choice."""
        tried = {each["batch"]: None for each in self.select(**_about(setting, OURS))}
        rates = {batch: self.middle("rows_per_s", **_about(setting, OURS), batch=batch) or 0.0 for batch in tried}
        return max(rates, key=rates.__getitem__) if rates else None

    def gain(self, setting: Setting, who: str) -> float | None:
        """Our rate over a peer's."""
        ours, theirs = self.rate(setting), self.rate(setting, who)
        return ours / theirs if ours and theirs else None

    def unfinished(self, setting: Setting, who: str) -> float | None:
        """The limit in seconds that a peer could not keep."""
        return self.middle("unfinished", **_about(setting, who))

    def fixed_s(self, who: str) -> float | None:
        """Seconds of a batch without rows: where the line through small and large batches begins."""
        sizes = sorted({int(each["rows"]) for each in self.select(program=plumbing.PROGRAM, who=who)})
        if len(sizes) < 2:
            return None
        small, large = sizes[0], sizes[-1]
        at = {rows: self.middle("batch_s", program=plumbing.PROGRAM, who=who, rows=rows) for rows in (small, large)}
        low_s, high_s = at[small], at[large]
        if low_s is None or high_s is None:
            return None
        return low_s - (high_s - low_s) / (large - small) * small

    def plumbing(self, who: str, name: str) -> float | None:
        """A number of the large batches."""
        sizes = [int(each["rows"]) for each in self.select(program=plumbing.PROGRAM, who=who)]
        return self.middle(name, program=plumbing.PROGRAM, who=who, rows=max(sizes)) if sizes else None

    def aggregate(self, every_s: float, name: str = "batch_s") -> float | None:
        """Our time of a batch over Spark's own aggregation."""
        ours, theirs = (
            self.middle(name, program=aggregates.PROGRAM, who=who, every_s=every_s)
            for who in (aggregates.OURS, aggregates.SPARK)
        )
        return ours / theirs if ours and theirs else None

    def penalty(self, every: int, way: str = black_box.RUNNING) -> float | None:
        """By how much the black box is behind an incremental way: 0.49 is 49% less throughput, below 0 is ahead."""
        found = self.select(program=black_box.PROGRAM, every=every)
        if not found or f"{way} MB/s" not in found[0]:
            return None
        return 1 - float(found[0][f"{black_box.BLACK_BOX} MB/s"]) / float(found[0][f"{way} MB/s"])

    def capped(self, query: str, length: int, every: int, name: str) -> float | None:
        """Windows a second of a device, at most those that the stream gives."""
        about = {"program": devices.PROGRAM, "query": query, "length": length, "every": every, "device": name}
        found = self.middle("windows_per_s", **about)
        return None if found is None else min(found, devices.RATE_PER_S / every)

    def break_even(self, query: str, length: int, slow: str, fast: str) -> int | None:
        """The first slide from which on the slower device does as well as the faster one, at all larger ones too."""
        slides = sorted({int(each["every"]) for each in self.select(program=devices.PROGRAM, query=query)})
        found = None
        for every in reversed(slides):
            one, other = (self.capped(query, length, every, name) for name in (slow, fast))
            if one is None or other is None or one < KEEPS_UP * other:
                break
            found = every
        return found

    def planners(self) -> Iterator[tuple[int, float]]:
        """For each number of windows: the planner's time over the best single device's."""
        for each in self.select(program=planner.PROGRAM):
            if f"{planner.AUTO}_s" in each:
                yield int(each["windows"]), each[f"{planner.AUTO}_s"] / each[f"{each['best']}_s"]


def _about(setting: Setting, who: str) -> dict[str, Any]:
    fields = {"query": setting.query, "length": setting.length, "every": setting.every, "keys": setting.keys}
    return {"program": "rates", "who": who, **fields}
