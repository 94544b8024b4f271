"""The patterns that can be named in text. A new one is one file beside this one and one line in `KNOWN`."""

from __future__ import annotations

from penstock.patterns.base import Pattern
from penstock.patterns.binary import Binary
from penstock.patterns.constant import Constant
from penstock.patterns.datasets import Datasets
from penstock.patterns.function import Function
from penstock.patterns.poisson import Poisson
from penstock.patterns.ramp import Decreasing, Increasing
from penstock.patterns.sequence import Sequence
from penstock.patterns.spike import Spike
from penstock.patterns.trace import Trace
from penstock.patterns.walk import RandomWalk
from penstock.patterns.wave import Wave

KNOWN: dict[str, type[Pattern]] = {
    pattern.name: pattern
    for pattern in (
        Constant,
        Increasing,
        Decreasing,
        Wave,
        Binary,
        Spike,
        RandomWalk,
        Trace,
        Function,
        Datasets,
        Poisson,
    )
}


def catalogue() -> dict[str, str]:
    """One line on every pattern, by name.

    >>> catalogue()["wave"]
    'a sine that starts halfway, rising: min, max, period'
    """
    patterns: list[type[Pattern]] = [*KNOWN.values(), Sequence]
    return {pattern.name: pattern.summary for pattern in patterns}
