"""Durations, rates, counts and percentages as people write them.

Inside, durations are float seconds, rates are items a second and percentages are fractions.
"""

from __future__ import annotations

import math
import re

from penstock.errors import BadInputError

_DURATION_S = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "second": 1.0,
    "seconds": 1.0,
    "m": 60.0,
    "min": 60.0,
    "minute": 60.0,
    "minutes": 60.0,
    "h": 3600.0,
    "hour": 3600.0,
    "hours": 3600.0,
}
_SCALE = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}
_NUMBER = r"[+-]?(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_DURATION = re.compile(rf"^\s*({_NUMBER})\s*([a-zA-Zµ]+)\s*$")
_RATE = re.compile(rf"^\s*({_NUMBER})\s*([kKmMgG]?)\s*(?:/|per\s)\s*(s|sec|second|min|minute|h|hour)\s*$")
_COUNT = re.compile(rf"^\s*({_NUMBER})\s*([kKmMgG]?)\s*$")
_PERCENT = re.compile(rf"^\s*({_NUMBER})\s*%\s*$")


def parse_duration_s(text: str, field: str = "duration") -> float:
    """Seconds from a number with a unit.

    >>> parse_duration_s("3 ms"), parse_duration_s("1.5s"), parse_duration_s("2 min")
    (0.003, 1.5, 120.0)
    """
    match = _DURATION.match(text)
    if match is None or match[2] not in _DURATION_S:
        raise BadInputError(field, text, "not a duration", "write a number and a unit, e.g. '3 ms', '1.5 s' or '2 min'")
    return _finite(float(match[1]) * _DURATION_S[match[2]], field, text)


def parse_rate_per_s(text: str, field: str = "rate") -> float:
    """Items a second from a number, an optional k, M or G, and `/s` (or `/min`, `/h`).

    >>> parse_rate_per_s("50k/s"), parse_rate_per_s("1.2M/min")
    (50000.0, 20000.0)
    """
    match = _RATE.match(text)
    if match is None:
        raise BadInputError(field, text, "not a rate", "write e.g. '50k/s' or '1200 /min'")
    return _finite(float(match[1]) * _SCALE[match[2].lower()] / _DURATION_S[match[3]], field, text)


def parse_count(text: str, field: str = "count") -> float:
    """A number with an optional k, M or G (powers of 1000).

    >>> parse_count("20k"), parse_count("1.5M"), parse_count("7")
    (20000.0, 1500000.0, 7.0)
    """
    match = _COUNT.match(text)
    if match is None:
        raise BadInputError(field, text, "not a number", "write e.g. '500', '20k' or '1.5M'")
    return _finite(float(match[1]) * _SCALE[match[2].lower()], field, text)


def parse_percent(text: str, field: str = "percentage") -> float:
    """A fraction from a percentage.

    >>> parse_percent("5%"), parse_percent("12.5 %")
    (0.05, 0.125)
    """
    match = _PERCENT.match(text)
    if match is None:
        raise BadInputError(field, text, "not a percentage", "write a number and a percent sign, e.g. '10%'")
    return _finite(float(match[1]) / 100.0, field, text)


def format_duration(seconds: float) -> str:
    """A duration in the unit a reader expects.

    >>> format_duration(0.003), format_duration(1.0), format_duration(95.0)
    ('3 ms', '1 s', '95 s')
    """
    size = abs(seconds)
    if not size < math.inf:
        return str(seconds)
    if size >= 1.0:
        return f"{_short(seconds)} s"
    if size >= 1e-3:
        return f"{seconds / 1e-3:.4g} ms"
    if size >= 1e-6:
        return f"{seconds / 1e-6:.4g} µs"
    return f"{seconds / 1e-9:.4g} ns" if seconds else "0 s"


def format_count(number: float) -> str:
    """A count with k, M or G.

    >>> format_count(50_000.0), format_count(12.0), format_count(1_250_000)
    ('50k', '12', '1.25M')
    """
    for suffix, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(number) >= scale:
            return f"{_short(number / scale)}{suffix}"
    return f"{number:.4g}"


def _short(number: float) -> str:
    # From here on four digits would come out as 1e+04.
    return f"{number:.0f}" if abs(number) >= 9999.5 else f"{number:.4g}"


def _finite(value: float, field: str, text: str) -> float:
    if not math.isfinite(value):
        raise BadInputError(field, text, "not a finite number", "write an ordinary number")
    return value
