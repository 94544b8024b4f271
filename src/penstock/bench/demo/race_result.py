"""What a contender of the demonstration came to, as people ask for it, and all of them in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.bench.end_to_end import delivered
from penstock.journal import Recording
from penstock.report.words import DASH, number_of
from penstock.sample import BatchSample
from penstock.slo import Slo

PLAIN, FIXED, PENSTOCK = "plain", "fixed", "penstock"
NAMES = {PLAIN: "plain Spark", FIXED: "fixed size", PENSTOCK: "Penstock"}


@dataclass(frozen=True)
class Span:
    """A batch against seconds since the first one began."""

    start_s: float
    took_s: float
    items: int

    @property
    def end_s(self) -> float:
        """When it was done."""
        return self.start_s + self.took_s


@dataclass(frozen=True)
class RaceResult:
    """The batches of one contender, of so many items in all; `cut_s` is the time after which its run was ended early.

    Every batch that was delivered counts, also the first: a user waits for it all the same.
    """

    spans: tuple[Span, ...]
    bound_s: float
    items: int
    output_ok: bool | None = None
    cut_s: float | None = None
    size: float | None = None

    @classmethod
    def of(cls, recording: Recording, summary: Mapping[str, Any], slo: Slo, items: int, limit_s: float) -> RaceResult:
        """From the journal of a run and its summary."""
        batches = [sample for sample in delivered(recording) if sample.started_s is not None]
        first_s = batches[0].started_s or 0.0 if batches else 0.0
        return cls(
            spans=tuple(_span(batch, first_s) for batch in batches),
            bound_s=slo.high,
            items=items,
            output_ok=summary["digest_ok"],
            cut_s=limit_s if summary["interrupted"] else None,
            size=summary["spec"].get("size"),
        )

    @property
    def batches(self) -> int:
        """How many batches there were."""
        return len(self.spans)

    @property
    def within(self) -> int:
        """How many of them took no longer than the bound."""
        return sum(span.took_s <= self.bound_s for span in self.spans)

    @property
    def within_percent(self) -> float | None:
        """The same in percent."""
        return 100.0 * self.within / self.batches if self.spans else None

    @property
    def longest_s(self) -> float | None:
        """The longest batch."""
        return max((span.took_s for span in self.spans), default=None)

    @property
    def drain_s(self) -> float | None:
        """From the start of the first batch until nothing waits; None where the run was ended before."""
        return self.spans[-1].end_s if self.spans and self.cut_s is None else None

    @property
    def done_percent(self) -> float:
        """How much of the backlog was done."""
        return 100.0 * min(sum(span.items for span in self.spans) / self.items, 1.0)

    @property
    def drained(self) -> str:
        """How long the drain took, or how far it came."""
        return seconds(self.drain_s) if self.cut_s is None else f"{self.done_percent:.0f}% in {seconds(self.cut_s)}"

    def to_json(self) -> dict[str, Any]:
        """The numbers that tell."""
        return {
            "batches": self.batches,
            "within_percent": self.within_percent,
            "longest_s": self.longest_s,
            "drain_s": self.drain_s,
            "output_ok": self.output_ok,
        }


def seconds(value: float | None) -> str:
    """A time beside others of about a second, to three digits.

    >>> seconds(0.8788), seconds(38.21), seconds(112.6), seconds(None)
    ('0.879 s', '38.2 s', '113 s', '–')
    """
    return DASH if value is None else f"{value:.3g} s" if value < 999.5 else f"{value:.0f} s"


def to_json(results: Mapping[str, RaceResult]) -> dict[str, Any]:
    """All contenders; one that did not run is null."""
    return {"contenders": {name: results[name].to_json() if name in results else None for name in NAMES}}


def sentence(results: Mapping[str, RaceResult]) -> str:
    """What happened, the price included.

    >>> spans = tuple(Span(0.9 * n, 0.9 if n else 1.2, 100) for n in range(45))
    >>> plain = RaceResult((Span(0.0, 38.2, 4500),), bound_s=1.0, items=4500)
    >>> print(sentence({PENSTOCK: RaceResult(spans, 1.0, 4500), PLAIN: plain}))
    44 of 45 batches took at most 1 s; plain Spark made one batch of 38.2 s. The backlog was drained in
    40.5 s, 1.06 times plain Spark's time.
    """
    ours, plain = results[PENSTOCK], results[PLAIN]
    batches = number_of(ours.batches, "batch", "batches")
    kept = f"{ours.within:,} of {batches} took at most {seconds(ours.bound_s)}; plain Spark {_plainly(plain)}."
    return f"{kept} {_price(ours, plain)}"


def notes(results: Mapping[str, RaceResult]) -> list[str]:
    """What a reader must know: which runs were ended early."""
    busy = ": this machine is busy or slow." if PLAIN in results and results[PLAIN].cut_s is not None else "."
    return [
        f"{NAMES[name]} was ended after {seconds(result.cut_s)} with {result.done_percent:.0f}% of items done{busy}"
        for name, result in results.items()
        if result.cut_s is not None
    ]


def _price(ours: RaceResult, plain: RaceResult) -> str:
    """What keeping the bound cost in time."""
    if ours.drain_s is None:
        done = f"{ours.done_percent:.0f}% of the backlog was done after {seconds(ours.cut_s)}"
        return f"{done}, all of it by plain Spark after {seconds(plain.drain_s)}." if plain.drain_s else f"{done}."
    ratio = f", {ours.drain_s / plain.drain_s:.2f} times plain Spark's time" if plain.drain_s else ""
    return f"The backlog was drained in {seconds(ours.drain_s)}{ratio}."


def _plainly(plain: RaceResult) -> str:
    if not plain.batches:
        return f"had ended no batch after {seconds(plain.cut_s)}"
    if plain.batches == 1:
        return f"made one batch of {seconds(plain.longest_s)}"
    return f"made {plain.batches:,} batches, the longest of {seconds(plain.longest_s)}"


def _span(batch: BatchSample, first_s: float) -> Span:
    return Span((batch.started_s or 0.0) - first_s, batch.processing_s, batch.items)
