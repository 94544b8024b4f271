"""Numbers as people read them; what is not known is a dash."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from penstock.slo import Kind, Metric, Slo
from penstock.units import format_count, format_duration

DASH = "–"


def known(value: object) -> float | None:
    """A finite number, or None for whatever else stands there.

    >>> known(3), known("3"), known(float("nan")), known(True)
    (3.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def percent(value: object) -> str:
    """A percentage.

    >>> percent(81.25), percent(None)
    ('81.2%', '–')
    """
    number = known(value)
    return DASH if number is None else f"{number:.1f}%"


def duration(value: object) -> str:
    """A duration, to three digits.

    >>> duration(0.97634), duration(96.66)
    ('976 ms', '96.7 s')
    """
    number = known(value)
    return DASH if number is None else format_duration(float(f"{number:.3g}"))


def count(value: object) -> str:
    """A whole number in full, with separators.

    >>> count(899785.0)
    '899,785'
    """
    number = known(value)
    return DASH if number is None else f"{number:,.0f}"


def short(value: object) -> str:
    """A number to three digits, with k, M or G.

    >>> short(9295.6)
    '9.3k'
    """
    number = known(value)
    return DASH if number is None else format_count(float(f"{number:.3g}"))


def rate(value: object) -> str:
    """Items a second."""
    number = known(value)
    return DASH if number is None else f"{short(number)}/s"


def measured(value: object, slo: Slo) -> str:
    """A value of the objective's own metric, to three digits."""
    number = known(value)
    return DASH if number is None else slo.format_value(float(f"{number:.3g}"))


def band(slo: Slo) -> str:
    """Where a value must be.

    >>> band(Slo.parse("1 s ± 10%")), band(Slo.parse("<= 2 s"))
    ('between 900 ms and 1.1 s', 'at most 2 s')
    """
    if slo.kind is Kind.AT_MOST:
        return f"at most {slo.format_value(slo.high)}"
    if slo.kind is Kind.AT_LEAST:
        return f"at least {slo.format_value(slo.low)}"
    return f"between {slo.format_value(slo.low)} and {slo.format_value(slo.high)}"


def kept(met: Mapping[str, int], slo: Slo) -> str:
    """The first thing that people want to know of a run, from the summary's `met`.

    >>> kept({"batches": 43, "counted": 45, "early": 0}, Slo.parse("p95 <= 1 s"))
    '43 of 45 batches took at most 1 s'
    >>> kept({"batches": 44, "counted": 45, "early": 40}, Slo.parse("1 s ± 10%"))
    '44 of 45 batches met 1 s ± 10%; 40 of them were faster, with nothing left to take'
    """
    batches = f"{met['batches']:,} of {number_of(met['counted'], 'batch', 'batches')}"
    if slo.also is not None or met["early"]:
        early = f"; {met['early']:,} of them were faster, with nothing left to take" if met["early"] else ""
        return f"{batches} met {slo}{early}"
    verb = "had" if slo.metric is Metric.THROUGHPUT else "took"
    return f"{batches} {verb} {band(slo)}{' end to end' if slo.metric is Metric.END_TO_END else ''}"


def bounded(block: Mapping[str, Any] | None, slo: Slo) -> str:
    """Whether the percentile of an objective was kept.

    >>> bounded({"name": "p99", "value_s": 1.8, "kept": True}, Slo.parse("p99 <= 2 s"))
    'The p99 over all batches was 1.8 s, at most 2 s is asked for: kept.'
    """
    if not block or block["value_s"] is None:
        return ""
    value = f"The {block['name']} over all batches was {duration(block['value_s'])}"
    return f"{value}, {band(slo)} is asked for: {'kept' if block['kept'] else 'not kept'}."


def number_of(amount: int, one: str, many: str | None = None) -> str:
    """An amount with its noun.

    >>> number_of(1, "batch", "batches"), number_of(2, "run")
    ('1 batch', '2 runs')
    """
    return f"{amount:,} {one if amount == 1 else many or one + 's'}"


def told(details: Mapping[str, Any]) -> str:
    """The details of an event; where it has but one, what that says.

    >>> told({"why": "the query has stopped"}), told({"error": "boom", "size": 10})
    ('the query has stopped', 'error = boom, size = 10')
    """
    return plain(next(iter(details.values()))) if len(details) == 1 else plain(dict(details))


def plain(value: Any) -> str:
    """A value of a configuration on one line.

    >>> plain({"step": 10}), plain({}), plain(None)
    ('step = 10', '–', '–')
    """
    if value is None or value == "" or value == {} or value == []:
        return DASH
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {plain(each)}" for key, each in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(plain, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
