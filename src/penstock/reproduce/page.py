"""Pages in Markdown: sections that are made anew, tables, figures and findings."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.errors import BadInputError
from penstock.reproduce.finding import NOT, REPRODUCED, UNKNOWN, UNTESTABLE, Found, State

PAGE = Path("docs/results.md")
_MARKS: Mapping[State, str] = {
    REPRODUCED: "reproduced",
    NOT: "**not reproduced**",
    UNKNOWN: "*cannot tell*",
    UNTESTABLE: "*not testable here*",
}


def replace_section(path: Path, name: str, text: str) -> None:
    """Put a section into a page between its markers, and nothing else; a page that lacks them gets it at its end."""
    begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
    section = f"{begin}\n{text.strip()}\n{end}"
    page = path.read_text() if path.exists() else ""
    if begin not in page:
        path.write_text(f"{page.rstrip()}\n\n{section}\n".lstrip("\n"))
        return
    before, _, rest = page.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise BadInputError("page", str(path), f"{begin} has no end", f"write {end} after the section")
    path.write_text(before + section + after)


def copy_figures(figures: Iterable[Path], folder: Path) -> None:
    """Copy figures to the folder that a page shows them from."""
    folder.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        shutil.copyfile(figure, folder / figure.name)


def show_figures(shown: Iterable[tuple[Path, str]], folder: str) -> str:
    """Figures with what they show, as Markdown; `folder` as seen from the page."""
    return "\n".join(f"![{said}]({folder}/{path.name})\n\n{said}\n" for path, said in shown)


def count_findings(found: Found) -> str:
    """How many of each state, in a sentence."""
    counts = Counter(outcome.state for _, outcome in found)
    text = f"Of {len(found)} findings {counts[REPRODUCED]} are reproduced and {counts[NOT]} are not; "
    text += f"for {counts[UNKNOWN]} the runs cannot tell."
    return f"{text} {counts[UNTESTABLE]} cannot be tested here." if counts[UNTESTABLE] else text


def findings_table(found: Found) -> str:
    """A row a finding, as Markdown."""
    lines = ["| finding | where | state |", "| --- | --- | --- |"]
    lines += [f"| {finding.claim} | {finding.section} | {_MARKS[outcome.state]} |" for finding, outcome in found]
    return "\n".join(lines) + "\n"


def findings_details(found: Found) -> str:
    """Every finding with its numbers, its rule and its reason, as Markdown."""
    lines = ["## The findings one by one"]
    for finding, outcome in found:
        lines.append(f"\n### {finding.claim.rstrip('.')}\n")
        lines.append(f"{outcome.state.capitalize()} ({finding.section}). {outcome.sentence}\n")
        lines.append(f"Rule: {finding.rule}")
        if finding.why:
            lines.append(f"\n{finding.why}")
    return "\n".join(lines) + "\n"


def spread(interval: Mapping[str, Any] | None) -> str:
    """A mean with its interval in brackets, as far as there is one."""
    if interval is None or interval["low"] is None or interval["high"] is None:
        return mean(interval)
    return f"{interval['mean']:.1f} ({interval['low']:.1f} to {interval['high']:.1f})"


def mean(interval: Mapping[str, Any] | None, digits: int = 1) -> str:
    """A mean alone."""
    return "-" if interval is None else number(interval["mean"], digits)


def number(value: float | None, digits: int = 1) -> str:
    """A number, or a dash where there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
