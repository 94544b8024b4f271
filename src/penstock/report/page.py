"""The page around a report: one file with its style, its script and plotly inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from penstock.distribution import penstock_version
from penstock.errors import MissingExtraError
from penstock.report.chart import graph_objects, plotly_js
from penstock.report.parts import Part

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True)
class Section:
    """A headed part of a page: a sentence on what is seen, then charts and tables."""

    name: str
    title: str
    about: str
    body: Sequence[Part]


@dataclass(frozen=True)
class Number:
    """One of the large numbers at the top, with what it means in a few words."""

    label: str
    value: str
    meaning: str
    strong: bool = False


@dataclass(frozen=True)
class Page:
    """What a report says: its head, what the reader must know first, and its sections."""

    kind: str
    title: str
    subtitle: str
    sentences: Sequence[str]
    numbers: Sequence[Number]
    notices: Sequence[str]
    sections: Sequence[Section]

    def render(self) -> str:
        """The whole file."""
        return (
            templates()
            .get_template("page.html")
            .render(
                page=self,
                version=penstock_version(),
                style=_resource("style.css"),
                scripts=(plotly_js(), _resource("page.js")),
            )
        )


@cache
def templates() -> Environment:
    """The templates of pages; all that they are given is escaped."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ModuleNotFoundError as error:
        raise MissingExtraError("jinja2", "report") from error
    found = Environment(
        loader=PackageLoader("penstock.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    return found


def check_packages() -> None:
    """Refuse to begin what would end in a page that cannot be made."""
    graph_objects()
    templates()


def _resource(name: str) -> str:
    return resources.files("penstock.report").joinpath(name).read_text(encoding="utf-8")
