"""What a page shows beside charts: tables, names with values, pictures. The template of each makes the HTML.

A part holds text and numbers, never markup: Jinja2 escapes all of it, so no text of a journal can become markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol


class Part(Protocol):
    """Anything that a section can hold."""

    template: ClassVar[str]


@dataclass(frozen=True)
class Cell:
    """A cell of a table that is more than text: with a look of the style sheet, a link, or small text below."""

    text: str
    look: str = ""
    link: str = ""
    below: str = ""


@dataclass(frozen=True)
class Table:
    """Columns in `words` hold text and all others numbers; `scroll` keeps a long table short, `narrow` a small one.

    A cell is text, a number, a `Cell` or a list of them; `row_attributes` are attributes of the rows in HTML.
    """

    template: ClassVar[str] = "table.html"

    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    label: str
    words: Sequence[int] = (0,)
    scroll: bool = False
    narrow: bool = False
    name: str | None = None
    row_attributes: Sequence[Mapping[str, object]] = ()


@dataclass(frozen=True)
class Pairs:
    """Names with their values."""

    template: ClassVar[str] = "pairs.html"

    fields: Sequence[tuple[str, str]]
    label: str


@dataclass(frozen=True)
class Columns:
    """Parts beside each other, each with a title."""

    template: ClassVar[str] = "columns.html"

    parts: Sequence[tuple[str, Part]]


@dataclass(frozen=True)
class Image:
    """A picture, inside the page, and what it shows."""

    template: ClassVar[str] = "image.html"

    source: str
    about: str
