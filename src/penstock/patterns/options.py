"""How the options of a pattern are read from text and written back.

A field of a pattern says how it is read by its metadata: `period: float = field(metadata=LENGTH)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.errors import BadInputError
from penstock.units import parse_count, parse_duration_s, parse_percent, parse_rate_per_s

_YES_NO = {"yes": True, "true": True, "no": False, "false": False}


def read_amount(text: str, field: str) -> float:
    """A count or a rate.

    >>> read_amount("2k", "max"), read_amount("5k/s", "rate"), read_amount("600/min", "rate")
    (2000.0, 5000.0, 10.0)
    """
    return parse_rate_per_s(text, field) if "/" in text else parse_count(text, field)


def read_length(text: str, field: str) -> float:
    """A duration in seconds, or a bare number where x is not time.

    >>> read_length("2 min", "period"), read_length("200k", "period"), read_length("0.5", "period")
    (120.0, 200000.0, 0.5)
    """
    try:
        return parse_duration_s(text, field)
    except BadInputError:
        pass
    try:
        return parse_count(text, field)
    except BadInputError:
        remedy = "write a duration, e.g. 30s or '2 min', or a bare number, e.g. 20k"
        raise BadInputError(field, text, "not a length", remedy) from None


def read_share(text: str, field: str) -> float:
    """A percentage or a fraction.

    >>> read_share("10%", "width"), read_share("0.1", "width")
    (0.1, 0.1)
    """
    return parse_percent(text, field) if "%" in text else parse_count(text, field)


def read_whole(text: str, field: str) -> int:
    """A whole number.

    >>> read_whole("7", "seed"), read_whole("1k", "points")
    (7, 1000)
    """
    number = parse_count(text, field)
    if not number.is_integer():
        raise BadInputError(field, text, "not a whole number", "write e.g. 7")
    return int(number)


def read_yes_no(text: str, field: str) -> bool:
    """Yes or no.

    >>> read_yes_no("yes", "repeat")
    True
    """
    if text.lower() not in _YES_NO:
        raise BadInputError(field, text, "neither yes nor no", f"write {field}=yes or {field}=no")
    return _YES_NO[text.lower()]


def read_text(text: str, field: str) -> str:
    """Text as it stands."""
    return text


def _reader(read: Callable[[str, str], object]) -> Mapping[str, Any]:
    return {"read": read}


AMOUNT = _reader(read_amount)
LENGTH = _reader(read_length)
SHARE = _reader(read_share)
WHOLE = _reader(read_whole)
YES_NO = _reader(read_yes_no)
TEXT = _reader(read_text)


def written(value: object) -> str:
    """An option's value as text that reads back to the same value.

    >>> written(2000.0), written(0.1), written(True), written("a,b.csv")
    ('2000', '0.1', 'yes', '"a,b.csv"')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    text = str(value)
    return f'"{text}"' if set(text) & set(" ,;=") else text
