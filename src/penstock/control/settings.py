"""Settings as they come from a command line, turned into what a constructor asks for."""

from __future__ import annotations

import typing

from penstock.errors import BadInputError
from penstock.units import parse_count, parse_percent

_BOOL = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def coerce(field: str, value: object, annotation: object) -> object:
    """Text as the annotated type; anything else, and text for a parameter that takes text, as it is.

    >>> coerce("window", "50", int), coerce("share", "5%", float | None), coerce("quick", "true", bool)
    (50, 0.05, True)
    >>> coerce("step", "10%", float | str)
    '10%'
    """
    if not isinstance(value, str):
        return value
    types = typing.get_args(annotation) or (annotation,)
    if bool in types:
        return to_bool(field, value)
    if str in types:
        return value
    if float in types:
        return to_count(field, value)
    return to_whole(field, value) if int in types else value


def to_bool(field: str, value: object) -> bool:
    """A yes or no.

    >>> to_bool("warm_up", "true"), to_bool("warm_up", False)
    (True, False)
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in _BOOL:
        return _BOOL[value.strip().lower()]
    raise BadInputError(field, value, "neither yes nor no", "write true or false")


def to_count(field: str, value: object) -> float:
    """A number, also as text with k, M, G or a percent sign.

    >>> to_count("max_size", "20k"), to_count("max_size", 500), to_count("below", "50%")
    (20000.0, 500.0, 0.5)
    """
    if isinstance(value, str):
        return parse_percent(value, field) if value.rstrip().endswith("%") else parse_count(value, field)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise BadInputError(field, value, "not a number", "write e.g. 500, 20k or 5%")


def to_whole(field: str, value: object) -> int:
    """A whole number.

    >>> to_whole("sample", "5"), to_whole("sample", 5.0)
    (5, 5)
    """
    number = to_count(field, value)
    if not number.is_integer():
        raise BadInputError(field, value, "not a whole number", "write e.g. 5")
    return int(number)
