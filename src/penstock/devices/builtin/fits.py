"""Kernels that fit something to the points of a window: a parabola, or the centres of clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.devices.kernel import Kernel, kernel
from penstock.errors import BadInputError

# Rows that a parabola needs.
_THREE = 3
# Of a centre: its place (x, y), and the sums of x, y and 1 over its points.
_CENTRE_VALUES = 5
# A sum of squares below this share of what it is the rest of is rounding.
_RESOLUTION = 1e-24


def polynomial_regression_of(x: Any, y: Any) -> Any:
    """The parabola `y = c0 + c1 x + c2 x²` by least squares; NaN of fewer than three different x.

    By orthogonal polynomials (Forsythe 1957), with u = x - mean x: `p1 = u`, `p2 = u² - (Σu³/Σu²) u - Σu²/n`, and the
    coefficient of each is `Σ y p / Σ p²`.

    >>> at = np.arange(5.0)
    >>> [round(float(value), 9) for value in polynomial_regression_of(at, 1 + 2 * at + 3 * at * at)]
    [1.0, 2.0, 3.0]
    """
    rows = x.shape[0]
    if rows < _THREE:
        return np.nan, np.nan, np.nan
    mean_x = 0.0
    mean_y = 0.0
    for row in range(rows):
        mean_x += x[row]
        mean_y += y[row]
    mean_x /= rows
    mean_y /= rows
    u2 = 0.0
    u3 = 0.0
    u4 = 0.0
    for row in range(rows):
        u = x[row] - mean_x
        u2 += u * u
        u3 += u * u * u
        u4 += u * u * u * u
    if not u2 > 0.0:
        return np.nan, np.nan, np.nan
    bend = u3 / u2
    level = u2 / rows
    y1 = 0.0
    y2 = 0.0
    p2 = 0.0
    for row in range(rows):
        u = x[row] - mean_x
        p = u * u - bend * u - level
        y1 += (y[row] - mean_y) * u
        y2 += (y[row] - mean_y) * p
        p2 += p * p
    if not p2 > _RESOLUTION * u4:
        return np.nan, np.nan, np.nan
    c2 = y2 / p2
    slope = y1 / u2 - c2 * bend
    return mean_y - c2 * level - slope * mean_x + c2 * mean_x * mean_x, slope - 2.0 * c2 * mean_x, c2


def kmeans(clusters: int = 4, iterations: int = 5) -> Kernel:
    """A kernel of columns x and y: the centres of clusters by k-means, and the mean squared distance to them.

    Lloyd's algorithm from points evenly spread over the window. A point as near to two centres goes to the lower
    number, and a centre without points stays. The distance is to the centres before their last move. A point with a
    NaN goes to centre 0, which becomes NaN, and makes the distance infinite.

    >>> pair = kmeans(clusters=2)
    >>> pair.output_ddl
    'x0 double, y0 double, x1 double, y1 double, spread double'
    >>> [float(value) for value in pair(np.array([0.0, 1.0, 9.0, 10.0]), np.zeros(4), np.empty(10))]
    [0.5, 0.0, 9.5, 0.0, 0.25]
    """
    if clusters < 1:
        raise BadInputError("clusters", clusters, "there is nothing to find", "write 1 or more")
    if iterations < 1:
        raise BadInputError("iterations", iterations, "no centre would move", "write 1 or more")
    places = _gather([_CENTRE_VALUES * centre + axis for centre in range(clusters) for axis in range(2)])

    def kmeans_of(x: Any, y: Any, scratch: Any) -> Any:
        rows = x.shape[0]
        for centre in range(clusters):
            chosen = (2 * centre + 1) * rows // (2 * clusters)
            scratch[_CENTRE_VALUES * centre] = x[chosen] if rows else np.nan
            scratch[_CENTRE_VALUES * centre + 1] = y[chosen] if rows else np.nan
        spread = 0.0
        for _ in range(iterations):
            spread = _move(x, y, clusters, scratch)
        mean_spread = spread / rows if rows else np.nan
        return (*places(scratch), mean_spread)

    ddl = ", ".join(f"x{centre} double, y{centre} double" for centre in range(clusters)) + ", spread double"
    return kernel(ddl, scratch=_CENTRE_VALUES * clusters, name="kmeans")(kmeans_of)


def _move(x: Any, y: Any, clusters: Any, scratch: Any) -> Any:
    """Move each centre to the middle of the points that are nearest to it; the sum of their squared distances."""
    for at in range(clusters):
        for k in range(2, _CENTRE_VALUES):
            scratch[_CENTRE_VALUES * at + k] = 0.0
    spread = 0.0
    for row in range(x.shape[0]):
        nearest = 0
        least = np.inf
        for centre in range(clusters):
            dx = x[row] - scratch[_CENTRE_VALUES * centre]
            dy = y[row] - scratch[_CENTRE_VALUES * centre + 1]
            square = dx * dx + dy * dy
            if square < least:
                least = square
                nearest = centre
        spread += least
        scratch[_CENTRE_VALUES * nearest + 2] += x[row]
        scratch[_CENTRE_VALUES * nearest + 3] += y[row]
        scratch[_CENTRE_VALUES * nearest + 4] += 1.0
    for at in range(clusters):
        count = scratch[_CENTRE_VALUES * at + 4]
        if count > 0.0:
            scratch[_CENTRE_VALUES * at] = scratch[_CENTRE_VALUES * at + 2] / count
            scratch[_CENTRE_VALUES * at + 1] = scratch[_CENTRE_VALUES * at + 3] / count
    return spread


def _gather(places: list[int]) -> Callable[[Any], Any]:
    """A function that returns these places of an array as a tuple: Numba makes no tuple of a length from a loop.

    >>> _gather([0, 2])([5.0, 6.0, 7.0])
    (5.0, 7.0)
    """
    first, rest = places[0], places[1:]
    if not rest:
        return lambda values: (values[first],)
    others = _gather(rest)
    return lambda values: (values[first], *others(values))


polynomial_regression = kernel("c0 double, c1 double, c2 double", name="polynomial_regression")(
    polynomial_regression_of
)
