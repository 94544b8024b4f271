"""How ratios of single runs become the rows of a finding.

There is one run of each kind, and no interval around it. So no ratio is placed more exactly than `EDGE` on either side
of a line: nearer to it, the runs cannot tell.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.reproduce.finding import NoDataError
from penstock.reproduce.lmstream.scores import Measured

EDGE = 0.05
_FEWEST = 3


def below(ratio: float, line: float) -> bool | None:
    """Whether a ratio is below a line; None where it is too near.

    >>> below(0.6, 0.75), below(0.9, 0.75), below(0.72, 0.75)
    (True, False, None)
    """
    return None if abs(ratio - line) < EDGE else ratio < line


def above(ratio: float, line: float) -> bool | None:
    """Whether a ratio is above a line; None where it is too near.

    >>> above(1.2, 1.0), above(0.9, 1.0), above(1.04, 1.0)
    (True, False, None)
    """
    order = below(ratio, line)
    return None if order is None else not order


def between(ratio: float, low: float, high: float) -> bool | None:
    """Whether a ratio is between two lines; None where it is too near to one of them.

    >>> between(1.0, 0.8, 1.25), between(2.0, 0.8, 1.25), between(1.22, 0.8, 1.25)
    (True, False, None)
    """
    orders = (above(ratio, low), below(ratio, high))
    if False in orders:
        return False
    return True if all(orders) else None


def growth(run: Measured) -> float:
    """The longest latencies of the last third of batches as a multiple of those of the first third.

    The first batch and the last are left out: the one takes what came while the query started, the other what is left.
    """
    values = run.timeline.latency_s[1:-1]
    third = len(values) // 3
    if third < _FEWEST:
        raise NoDataError(f"only {len(run.timeline.latency_s)} batches")
    return (sum(values[-third:]) / third) / (sum(values[:third]) / third)


def listed(values: Mapping[str, float], form: str = "{:.2f}") -> str:
    """Numbers by query in a sentence.

    >>> listed({"lr1s": 0.5, "cm1t": 1.25}), listed({"lr1s": 97.0}, "{:.0f}%")
    ('LR1S 0.50, CM1T 1.25', 'LR1S 97%')
    """
    return ", ".join(f"{query.upper()} {form.format(value)}" for query, value in values.items())
