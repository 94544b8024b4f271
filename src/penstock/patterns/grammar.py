"""Patterns as people write them.

    sequence = pattern { ";" pattern }
    pattern  = name ":" option { "," option }
    option   = key "=" value

- Values are counts (`2k`, `1.5M`) or rates (`5k/s`), lengths are durations (`30s`, `2 min`) or bare numbers (`20k`),
  shares are percentages (`10%`); `penstock.patterns.registry.catalogue` lists names and options.
- A value with a comma, a semicolon, an equals sign or spaces stands in double quotes: `trace:path="a,b.csv"`.
- In a sequence each pattern may also have a `name`, under which its part is reported, and a `length`. Without a
  length a pattern lasts for its period; the last one goes on for ever.
"""

from __future__ import annotations

import math
import re
from dataclasses import MISSING, fields
from difflib import get_close_matches

from penstock.errors import BadInputError
from penstock.patterns.base import Pattern
from penstock.patterns.options import read_length
from penstock.patterns.registry import KNOWN
from penstock.patterns.sequence import Sequence, Stretch

_OUTSIDE_QUOTES = r'{}(?=(?:[^"]*"[^"]*")*[^"]*$)'
_SEMICOLON, _COMMA, _EQUALS = (re.compile(_OUTSIDE_QUOTES.format(sign)) for sign in ";,=")


def parse(text: str) -> Pattern:
    """The pattern, or sequence of patterns, that the text describes.

    >>> parse("wave:min=100,max=2k,period=30s")
    Wave(min=100.0, max=2000.0, period=30.0)
    >>> str(parse("constant:rate=5k/s"))
    'constant:rate=5000'
    >>> parse("increasing:min=1,max=9,period=20s; constant:rate=9,name=plateau").part_at(25.0)
    'plateau'
    >>> parse("wave:min=1,max=9")
    Traceback (most recent call last):
        ...
    penstock.errors.BadInputError: wave period = None: missing; write wave:period=...
    """
    texts = _SEMICOLON.split(text)
    first_name, first_options = _split(texts[0])
    if len(texts) == 1 and not {"length", "name"} & set(first_options):
        return _build(first_name, first_options)
    stretches = [_stretch(one, last=number == len(texts)) for number, one in enumerate(texts, start=1)]
    return Sequence(stretches)


def _stretch(text: str, last: bool) -> Stretch:
    name, options = _split(text)
    length_text, part_name = options.pop("length", None), options.pop("name", "")
    pattern = _build(name, options)
    if length_text is not None:
        return Stretch(pattern, read_length(length_text, f"{name} length"), part_name)
    if last:
        return Stretch(pattern, math.inf, part_name)
    if pattern.extent is None:
        raise BadInputError(f"{name} length", None, "nothing can follow a pattern without end", "add e.g. length=30s")
    return Stretch(pattern, pattern.extent, part_name)


def _split(text: str) -> tuple[str, dict[str, str]]:
    name, _, rest = text.strip().partition(":")
    name = name.strip()
    if name not in KNOWN:
        known = ", ".join(KNOWN)
        raise BadInputError("pattern", name, "unknown", f"write one of: {known}")
    options: dict[str, str] = {}
    for entry in _COMMA.split(rest) if rest.strip() else ():
        key, *values = (side.strip() for side in _EQUALS.split(entry, maxsplit=1))
        if not key or not values or not values[0]:
            raise BadInputError(f"{name} option", entry.strip(), "not key=value", "write e.g. period=30s")
        key = KNOWN[name].aliases.get(key, key)
        if key in options:
            raise BadInputError(f"{name} {key}", values[0], "given twice", "give it once")
        options[key] = values[0].strip('"')
    return name, options


def _build(name: str, options: dict[str, str]) -> Pattern:
    wanted = {entry.name: entry for entry in fields(KNOWN[name]) if entry.init}  # type: ignore[arg-type]
    for key in options:
        if key not in wanted:
            near = get_close_matches(key, wanted, n=1)
            hint = f"did you mean {near[0]}?" if near else f"{name} takes: {', '.join(wanted)}"
            raise BadInputError(f"{name} option", key, "unknown", hint)
    for key, entry in wanted.items():
        if key not in options and entry.default is MISSING:
            raise BadInputError(f"{name} {key}", None, "missing", f"write {name}:{key}=...")
    read = {key: wanted[key].metadata["read"](value, f"{name} {key}") for key, value in options.items()}
    return KNOWN[name](**read)
