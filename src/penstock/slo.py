"""The service level objective: what the user wants held, parsed from what people write."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from functools import cached_property

from penstock.errors import BadInputError
from penstock.sample import BatchSample
from penstock.units import format_count, format_duration, parse_duration_s, parse_percent, parse_rate_per_s

DEFAULT_TOLERANCE = 0.10
_HOW = (
    "write e.g. '1 s ± 10%', '3 ms +- 5%', '<= 2 s', '<= 2 s end-to-end', 'p99 <= 2 s', '>= 50k/s' or "
    "'1 s ± 10% & >= 20k/s'"
)
_HOW_SHARE = "write e.g. 'p99 <= 2 s'"
_HOW_BOTH = "write one latency and one throughput, the more important first, e.g. '1 s ± 10% & >= 20k/s'"
_PLUS_MINUS = re.compile(r"±|\+\s*/?\s*-")
_AND = re.compile(r"&|\band\b", re.IGNORECASE)
_PERCENTILE = re.compile(r"p\s*(\d+(?:\.\d+)?)\b\s*", re.IGNORECASE)
_LATENCY_OF = re.compile(r"\s+(end[-_ ]to[-_ ]end|e2e|processing)\s*$", re.IGNORECASE)


class Metric(StrEnum):
    """The measure an SLO is about."""

    PROCESSING = "processing"
    END_TO_END = "end_to_end"
    THROUGHPUT = "throughput"


class Kind(StrEnum):
    """Hold a value within a band, or keep it on one side of a bound."""

    HOLD = "hold"
    AT_MOST = "at_most"
    AT_LEAST = "at_least"


_SIGNS = (("<=", Kind.AT_MOST), ("≤", Kind.AT_MOST), (">=", Kind.AT_LEAST), ("≥", Kind.AT_LEAST))


class Verdict(StrEnum):
    """What a batch did to the SLO. An ignored batch, or a measure nobody could take, is unknown, never missed."""

    MET = "met"
    MISSED = "missed"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Slo:
    """A latency or throughput objective.

    >>> slo = Slo.parse("1 s ± 10%")
    >>> slo.low, slo.high
    (0.9, 1.1)
    >>> slo.verdict(BatchSample(batch_id=0, size=10, items=10, processing_s=1.05))
    <Verdict.MET: 'met'>
    >>> str(Slo.parse(">= 50k/s")), str(Slo.parse("<= 2 s e2e"))
    ('>= 50k/s', '<= 2 s end-to-end')
    >>> Slo.parse("p99 <= 2 s").share, str(Slo.parse("1 s ± 10% and >= 20k/s").also)
    (0.99, '>= 20k/s')

    `target` is in seconds, or items a second for throughput; `tolerance` is a fraction of it. On a bound the
    tolerance does not move the bound: it is the width of the band beside it that controllers aim into. `share` is the
    part of the batches that must be within an upper bound; None asks for all. `also` is a second objective, which gives
    way where both cannot hold: target, band, aim and measure are those of the first, and a verdict is on both.
    """

    target: float
    tolerance: float = DEFAULT_TOLERANCE
    kind: Kind = Kind.HOLD
    metric: Metric = Metric.PROCESSING
    share: float | None = None
    also: Slo | None = None

    def __post_init__(self) -> None:
        """Refuse objectives that cannot be met or missed."""
        if not (math.isfinite(self.target) and self.target > 0):
            raise BadInputError("slo target", self.target, "an objective is a positive number", _HOW)
        if not 0 < self.tolerance < 1:
            shown = f"{self.tolerance * 100:g}%"
            raise BadInputError("slo tolerance", shown, "a tolerance lies between 0% and 100%", "write e.g. ± 10%")
        if self.kind is Kind.AT_MOST and self.metric is Metric.THROUGHPUT:
            raise BadInputError("slo", "<=", "a throughput is bounded from below", "write e.g. '>= 50k/s'")
        if self.kind is Kind.AT_LEAST and self.metric is not Metric.THROUGHPUT:
            raise BadInputError("slo", ">=", "a latency is bounded from above", "write e.g. '<= 2 s'")
        if self.share is not None:
            self._check_share(self.share)
        if self.also is not None:
            self._check_also(self.also)

    def _check_share(self, share: float) -> None:
        shown = f"p{share * 100:.12g}"
        if not 0 < share < 1:
            all_of_them = "; all batches are '<= 2 s'" if share == 1 else ""
            raise BadInputError("slo percentile", shown, "not between p0 and p100", _HOW_SHARE + all_of_them)
        if self.kind is not Kind.AT_MOST:
            raise BadInputError("slo percentile", shown, "a percentile needs an upper bound on a latency", _HOW_SHARE)

    def _check_also(self, also: Slo) -> None:
        if also.also is not None:
            raise BadInputError("slo", f"{self}", "more than two objectives", _HOW_BOTH)
        if also.share is not None:
            reason = "a percentile is learned from what misses it, and cannot give way to another"
            raise BadInputError("slo", f"{self}", reason, f"write '{also} & {self.plain}'")
        if (self.metric is Metric.THROUGHPUT) is (also.metric is Metric.THROUGHPUT):
            which = "throughputs" if self.metric is Metric.THROUGHPUT else "latencies"
            raise BadInputError("slo", f"{self}", f"two {which}", _HOW_BOTH)

    @classmethod
    def parse(cls, text: str) -> Slo:
        """The objective in words: a target with its tolerance, or a bound; processing latency unless it says other."""
        first, *others = _AND.split(text)
        if len(others) > 1:
            raise BadInputError("slo", text, "more than two objectives", _HOW_BOTH)
        if others and not (first.strip() and others[0].strip()):
            raise BadInputError("slo", text, "an objective is missing beside the &", _HOW_BOTH)
        slo = cls._parse_one(first)
        return replace(slo, also=cls._parse_one(others[0])) if others else slo

    @classmethod
    def _parse_one(cls, text: str) -> Slo:
        body = text.strip()
        share = None
        if ranked := _PERCENTILE.match(body):
            share, body = float(Decimal(ranked[1]) / 100), body[ranked.end() :]
        metric = Metric.PROCESSING
        if suffix := _LATENCY_OF.search(body):
            body = body[: suffix.start()]
            metric = Metric.PROCESSING if suffix[1].lower() == "processing" else Metric.END_TO_END
        kind = Kind.HOLD
        for sign, bound in _SIGNS:
            if body.startswith(sign):
                kind, body = bound, body[len(sign) :].strip()
                break
        value, *tolerances = (part.strip() for part in _PLUS_MINUS.split(body))
        if not value or len(tolerances) > 1:
            raise BadInputError("slo", text, "not an objective", _HOW)
        tolerance = parse_percent(tolerances[0], "slo tolerance") if tolerances else DEFAULT_TOLERANCE
        if "/" in value or " per " in value:
            target = parse_rate_per_s(value, "slo target")
            if suffix:
                raise BadInputError("slo", text, "a rate has no latency", _HOW)
            metric = Metric.THROUGHPUT
        else:
            try:
                target = parse_duration_s(value, "slo target")
            except BadInputError as error:
                raise BadInputError("slo", text, "neither a latency nor a throughput", _HOW) from error
        return cls(target=target, tolerance=tolerance, kind=kind, metric=metric, share=share)

    @property
    def plain(self) -> Slo:
        """The first objective alone, and of every batch: what a controller is made for."""
        return self if self.share is None and self.also is None else replace(self, share=None, also=None)

    @property
    def percentile(self) -> str | None:
        """The name of the percentile that is bounded.

        >>> Slo.parse("P99.9 <= 500 ms").percentile, Slo.parse("<= 500 ms").percentile
        ('p99.9', None)
        """
        return None if self.share is None else f"p{self.share * 100:.12g}"

    @cached_property
    def low(self) -> float:
        """Lowest value that meets the SLO."""
        return 0.0 if self.kind is Kind.AT_MOST else self._edge(-1)

    @cached_property
    def high(self) -> float:
        """Highest value that meets the SLO."""
        return math.inf if self.kind is Kind.AT_LEAST else self._edge(+1)

    @property
    def aim(self) -> float:
        """What a controller steers to: the target, or the middle of the band that touches the bound from inside."""
        if self.kind is Kind.AT_MOST:
            return self.target / (1 + self.tolerance)
        if self.kind is Kind.AT_LEAST:
            return self.target / (1 - self.tolerance)
        return self.target

    def measure(self, sample: BatchSample) -> float | None:
        """The value of the SLO's metric in this batch, or None where it is not known."""
        if self.metric is Metric.THROUGHPUT:
            return sample.throughput_per_s
        return sample.end_to_end_s if self.metric is Metric.END_TO_END else sample.processing_s

    def verdict(self, sample: BatchSample, tolerance: float | None = None) -> Verdict:
        """Met, missed or unknown; at the SLO's own tolerance or at another one.

        Of two objectives, a batch whose first is not known says nothing; one that misses either has missed, and one
        that meets the first is met once the second is known to be.
        """
        value = self.measure(sample)
        if not sample.usable or value is None or not math.isfinite(value):
            return Verdict.UNKNOWN
        if not self.holds(value, tolerance):
            return Verdict.MISSED
        return Verdict.MET if self.also is None else self.also.verdict(sample, tolerance)

    def holds(self, value: float, tolerance: float | None = None) -> bool:
        """Whether a measured value meets the SLO, of two the first; edges belong to the band."""
        slo = self if tolerance is None else replace(self, tolerance=tolerance)
        return slo.low <= value <= slo.high

    def format_value(self, value: float) -> str:
        """A value of the SLO's metric as people read it."""
        return f"{format_count(value)}/s" if self.metric is Metric.THROUGHPUT else format_duration(value)

    def _edge(self, side: int) -> float:
        # Rounded so that 3 ms ± 5% ends at 3.15 ms and not one float above it: band edges are inclusive.
        if self.kind is not Kind.HOLD:
            return self.target
        return float(f"{self.target * (1 + side * self.tolerance):.12g}")

    def __deepcopy__(self, memo: object) -> Slo:
        """Itself: it never changes, and the loop copies a controller with every batch."""
        return self

    def __str__(self) -> str:
        """The objective as one would write it; `parse` gives the same objective back."""
        sign = {Kind.HOLD: "", Kind.AT_MOST: "<= ", Kind.AT_LEAST: ">= "}[self.kind]
        told = self.kind is Kind.HOLD or self.tolerance != DEFAULT_TOLERANCE
        band = f" ± {self.tolerance * 100:.12g}%" if told else ""
        which = " end-to-end" if self.metric is Metric.END_TO_END else ""
        rank = "" if self.share is None else f"{self.percentile} "
        second = "" if self.also is None else f" & {self.also}"
        return f"{rank}{sign}{self._exact_target()}{band}{which}{second}"

    def _exact_target(self) -> str:
        # Four digits are for reading; a target with more must survive the journal's header.
        rate = self.metric is Metric.THROUGHPUT
        short = self.format_value(self.target)
        if (parse_rate_per_s(short) if rate else parse_duration_s(short)) == self.target:
            return short
        return f"{float(self.target)!r}/s" if rate else f"{float(self.target)!r} s"
