"""Findings of a paper and what our runs say on each: their states, and how pages and data show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

State = Literal["reproduced", "not reproduced", "cannot tell"]
REPRODUCED: State = "reproduced"
NOT: State = "not reproduced"
UNKNOWN: State = "cannot tell"
_MARKS: Mapping[State, str] = {REPRODUCED: "reproduced", NOT: "**not reproduced**", UNKNOWN: "*cannot tell*"}


class NoDataError(Exception):
    """The runs lack what a finding needs: the one reason for which looking at it ends in "cannot tell"."""


@dataclass(frozen=True)
class Outcome:
    """What the numbers say: a state, a sentence with our numbers, and ours and theirs as data."""

    state: State
    sentence: str
    numbers: Mapping[str, Any]
    published: Mapping[str, Any]


class Claim(Protocol):
    """What a page shows of a finding.

    `why` is written by hand, after looking into the runs: why it came out otherwise here, or what to make of it.
    """

    @property
    def name(self) -> str:
        """Its name, for machines."""
        ...

    @property
    def section(self) -> str:
        """Where the paper says it."""
        ...

    @property
    def claim(self) -> str:
        """What it says, in our words."""
        ...

    @property
    def rule(self) -> str:
        """What it takes to count as reproduced."""
        ...

    @property
    def why(self) -> str:
        """What to make of it."""
        ...


Found: TypeAlias = Sequence[tuple[Claim, Outcome]]


def count(found: Found) -> str:
    """How many of each state, in a sentence."""
    counts = Counter(outcome.state for _, outcome in found)
    text = f"Of {len(found)} findings {counts[REPRODUCED]} are reproduced and {counts[NOT]} are not; "
    return text + f"for {counts[UNKNOWN]} the runs cannot tell."


def table(found: Found) -> str:
    """A row a finding, as Markdown."""
    lines = ["| finding | where | state |", "| --- | --- | --- |"]
    lines += [f"| {finding.claim} | {finding.section} | {_MARKS[outcome.state]} |" for finding, outcome in found]
    return "\n".join(lines) + "\n"


def details(found: Found) -> str:
    """Every finding with its numbers, its rule and its reason, as Markdown."""
    lines = ["## The findings one by one"]
    for finding, outcome in found:
        lines.append(f"\n### {finding.claim.rstrip('.')}\n")
        lines.append(f"{outcome.state.capitalize()} ({finding.section}). {outcome.sentence}\n")
        lines.append(f"Rule: {finding.rule}")
        if finding.why:
            lines.append(f"\n{finding.why}")
    return "\n".join(lines) + "\n"


def to_json(found: Found) -> list[dict[str, Any]]:
    """For machines."""
    return [
        {
            "name": finding.name,
            "section": finding.section,
            "claim": finding.claim,
            "rule": finding.rule,
            "state": outcome.state,
            "sentence": outcome.sentence,
            "numbers": dict(outcome.numbers),
            "published": dict(outcome.published),
        }
        for finding, outcome in found
    ]
