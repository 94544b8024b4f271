"""The page around a report: one file with its style, its script and plotly inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from penstock.distribution import penstock_version
from penstock.report.chart import Chart, plotly_js
from penstock.report.markup import Html, element, join

# The browser itself is told to load nothing, so a report is as private as the journal it was made from.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"


@dataclass(frozen=True)
class Section:
    """A headed part of a page: a sentence on what is seen, then charts and tables."""

    name: str
    title: str
    about: str
    body: Sequence[Html | Chart]


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
        head = element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            element("title", f"{self.title} · {self.subtitle}"),
            element("style", _resource("style.css")),
        )
        body = element("body", self._top(), element("main", join(map(_section, self.sections))), _foot())
        return f'<!doctype html>\n<html lang="en">{head}{body}</html>\n'

    def _top(self) -> Html:
        links = join(element("a", section.title, href=f"#{section.name}") for section in self.sections)
        return element(
            "header",
            element("p", self.kind, class_="kind"),
            element("h1", self.title),
            element("p", self.subtitle, class_="subtitle"),
            join(element("p", notice, class_="notice", role="alert") for notice in self.notices),
            join(element("p", sentence, class_="lead") for sentence in self.sentences),
            element("dl", join(map(_number, self.numbers)), class_="numbers") if self.numbers else "",
            element("nav", links, aria_label="Sections"),
            element("noscript", element("p", "The charts need JavaScript; the numbers and tables do not.")),
        )


def _number(number: Number) -> Html:
    return element(
        "div",
        element("dt", number.label),
        element("dd", number.value, class_="value"),
        element("dd", number.meaning, class_="meaning"),
        class_="strong" if number.strong else None,
    )


def _section(section: Section) -> Html:
    body = join(part.render() if isinstance(part, Chart) else part for part in section.body)
    about = element("p", section.about, class_="about") if section.about else ""
    return element("section", element("h2", section.title), about, body, id=section.name)


def _foot() -> Html:
    scripts = element("script", Html(plotly_js())), element("script", _resource("page.js"))
    made = f"Made by penstock {penstock_version()}. This file is whole: it loads nothing from anywhere."
    return join([element("footer", element("p", made)), *scripts])


def _resource(name: str) -> Html:
    return Html(resources.files("penstock.report").joinpath(name).read_text(encoding="utf-8"))
