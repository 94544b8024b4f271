"""Sums that carry their rounding error, so that the order of adding does not show in the result.

A sum is two floats: what was added, and the errors of each addition (Ogita, Rump, Oishi: "Accurate Sum and Dot
Product", 2005). Their total is as exact as if computed with 106 bits and rounded once. So the plain and the incremental
form of a kernel, which add in different orders, agree to the last bit, unless bits beyond the 106th decide how the
result is rounded: for random values about one window in billions.
"""

from __future__ import annotations

from typing import Any

# Splits 53 bits into 26 and 26.
_HALF_BITS = 134217729.0
# A difference of sums below this share of them is rounding: 2**-85.
_RESOLUTION = 2.6e-26


def two_sum(a: Any, b: Any) -> Any:
    """The sum, and what rounding took from it (Knuth).

    >>> two_sum(1.0, 1e-20)
    (1.0, 1e-20)
    """
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def two_product(a: Any, b: Any) -> Any:
    """The product, and what rounding took from it (Dekker).

    >>> two_product(0.1, 10.0)
    (1.0, 5.551115123125783e-17)
    """
    product = a * b
    scaled = _HALF_BITS * a
    a_high = scaled - (scaled - a)
    a_low = a - a_high
    scaled = _HALF_BITS * b
    b_high = scaled - (scaled - b)
    b_low = b - b_high
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def add(a: Any, b: Any) -> Any:
    """Two sums joined.

    >>> add(add((1.0, 0.0), (1e-20, 0.0)), (-1.0, 0.0))
    (0.0, 1e-20)
    """
    total, error = two_sum(a[0], b[0])
    return total, a[1] + b[1] + error


def rounded(total: Any) -> Any:
    """A sum as one number; where it is infinite or NaN, its error says nothing.

    >>> rounded((1.0, 1e-20)), rounded((float("inf"), float("nan")))
    (1.0, inf)
    """
    value = total[0] + total[1]
    return value if value == value else total[0]


def cross(rows: Any, products: Any, a: Any, b: Any) -> Any:
    """`rows Σab - Σa Σb` of three sums, which is rows² times the covariance; 0 where only rounding is left.

    >>> cross(2, (5.0, 0.0), (3.0, 0.0), (3.0, 0.0))
    1.0
    """
    a_high, a_low = two_sum(a[0], a[1])
    b_high, b_low = two_sum(b[0], b[1])
    high, low = two_product(1.0 * rows, products[0])
    other_high, other_low = two_product(a_high, b_high)
    difference, error = two_sum(high, -other_high)
    error += (low + rows * products[1]) - (other_low + (a_high * b_low + a_low * b_high))
    result = difference + error
    return 0.0 * result if abs(result) < _RESOLUTION * abs(high) else result
