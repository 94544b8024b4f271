"""What a finding of a paper is, what our runs say on it, and how rows of numbers become its state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar

State = Literal["reproduced", "not reproduced", "cannot tell", "not testable here"]
REPRODUCED: State = "reproduced"
NOT: State = "not reproduced"
UNKNOWN: State = "cannot tell"
UNTESTABLE: State = "not testable here"

Scores = TypeVar("Scores")


class NoDataError(Exception):
    """The runs lack what a finding needs: the one reason for which looking at it ends in "cannot tell"."""


@dataclass(frozen=True)
class Outcome:
    """What the numbers say: a state, a sentence with our numbers, and ours and theirs as data."""

    state: State
    sentence: str
    numbers: Mapping[str, Any]
    published: Mapping[str, Any]


@dataclass(frozen=True)
class Finding(Generic[Scores]):
    """A finding of a paper, what it takes to count as reproduced, and the function that looks.

    `why` is written by hand, after looking into the runs: why it came out otherwise here, or what to make of it.
    """

    name: str
    section: str
    claim: str
    rule: str
    look: Callable[[Scores], Outcome]
    why: str = ""


Found: TypeAlias = Sequence[tuple[Finding[Any], Outcome]]
"""Findings, each with its outcome."""


def untestable(why: str) -> Callable[[Any], Outcome]:
    """For a finding that needs what is not here, e.g. a GPU: it is listed, and nothing is claimed of it."""
    return lambda scores: Outcome(UNTESTABLE, why, {}, {})


def look(finding: Finding[Scores], scores: Scores) -> Outcome:
    """What the runs say on a finding; without those that it needs they cannot tell. Any other error is a bug."""
    try:
        return finding.look(scores)
    except NoDataError as error:
        return Outcome(UNKNOWN, f"The runs do not have it ({error}).", {}, {})


def vote(orders: Sequence[bool | None], share: float = 0.5) -> State:
    """Whether more than a share of the rows agree; None is a row that cannot tell, and may go either way.

    >>> vote([True, True, False]), vote([False, False, True]), vote([True, None, False])
    ('reproduced', 'not reproduced', 'cannot tell')
    """
    if not orders:
        return UNKNOWN
    needed = share * len(orders)
    if sum(order is True for order in orders) > needed:
        return REPRODUCED
    return NOT if sum(order is not False for order in orders) <= needed else UNKNOWN


def all_of(orders: Sequence[bool | None]) -> State:
    """Whether every row agrees.

    >>> all_of([True, True]), all_of([True, None]), all_of([True, None, False])
    ('reproduced', 'cannot tell', 'not reproduced')
    """
    if any(order is False for order in orders):
        return NOT
    return REPRODUCED if orders and all(orders) else UNKNOWN


def order_of(state: State) -> bool | None:
    """A state as one row of a vote."""
    return {REPRODUCED: True, NOT: False}.get(state)


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


def rounded(values: Mapping[str, float], digits: int = 2) -> dict[str, float]:
    """For data: more decimals than the runs support are noise."""
    return {name: round(value, digits) for name, value in values.items()}
