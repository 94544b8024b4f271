"""Batch sizes: the range they stay in, and how a reason shows them."""

from __future__ import annotations

from penstock.errors import BadInputError

SMALLEST = 1.0
# The papers give no ceiling. Past this one a float no longer counts single items.
LARGEST = 2.0**53
# A smaller change is a rounding error.
_SAME = 1e-9


def clamp(size: float, low: float = SMALLEST, high: float = LARGEST) -> float:
    """The nearest size within the range.

    >>> clamp(-3.0), clamp(120.5), clamp(float("inf")) == LARGEST
    (1.0, 120.5, True)
    """
    return min(max(size, low), high)


def check_size(field: str, size: float) -> float:
    """The size itself, or an error if no batch can have it."""
    if not SMALLEST <= size <= LARGEST:
        raise BadInputError(field, size, "a batch admits at least 1, and a finite amount", "write e.g. 1000")
    return float(size)


def format_size(size: float) -> str:
    """A size with as many digits as a reader needs.

    >>> format_size(1340.2), format_size(16.67), format_size(1.0)
    ('1,340', '16.7', '1')
    """
    return f"{size:,.0f}" if size >= 100 else f"{size:.3g}"


def format_limit(size: float) -> str:
    """A size as the first words of a reason.

    >>> format_limit(1340.2), format_limit(LARGEST)
    ('size 1,340', 'no limit')
    """
    return f"size {format_size(size)}" if size < LARGEST else "no limit"


def format_change(before: float, after: float) -> str:
    """What happens to a size, as the first words of a reason.

    >>> format_change(1200, 1340), format_change(1000, 1003.3), format_change(100, 350), format_change(50, 50)
    ('size 1,340 (+12%)', 'size 1,003 (+0.33%)', 'size 350 (+250%)', 'size stays at 50')
    """
    if abs(after / before - 1) < _SAME:
        return f"size stays at {format_size(after)}"
    percent = 100 * (after / before - 1)
    shown = f"{percent:+,.0f}" if abs(percent) >= 10 else f"{percent:+.2g}"
    return f"{format_limit(after)} ({shown}%)"
