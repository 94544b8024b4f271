"""What Q1 and Q2 compute over a window, as plain functions of NumPy arrays in the Numba subset.

Loops and scalars only, in one fixed order: nothing is allocated, and the same bits come out interpreted and compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.devices.kernel import kernel

FORECAST_DDL = "predicted double, open double, high double, low double, close double"
# Camera drones to place.
DRONES = 4
# Lloyd's iterations; a window's answer is used, not polished.
ITERATIONS = 5
# Rows that a cubic needs.
_CUBIC_ROWS = 4
# Of a drone: its place (x, y), and the sums of x, y and 1 over its readings.
_DRONE_VALUES = 5
DRONES_DDL = ", ".join(f"x{drone} double, y{drone} double" for drone in range(DRONES)) + ", spread double"


def forecast(price: Any) -> Any:
    """The price that a cubic through the window predicts for the next row, and the window's candlestick.

    Least squares of `p(u) = c0 + c1 u + c2 u² + c3 u³` over n rows at `u_t = (2 t - (n - 1)) / n`, evaluated at t = n.
    The u_t lie evenly around 0, so odd power sums vanish and the normal equations fall into two of 2 x 2:
    `[S0 S2; S2 S4] (c0, c2) = (Σ y, Σ u² y)` and `[S2 S4; S4 S6] (c1, c3) = (Σ u y, Σ u³ y)`, y the price less the
    first one. A window of fewer than 4 rows predicts its last price. The candle is first, highest, lowest, last.

    >>> predicted, *candle = forecast(np.arange(8.0) ** 3)
    >>> round(float(predicted), 6), [float(value) for value in candle]
    (512.0, [0.0, 343.0, 0.0, 343.0])
    """
    rows = price.shape[0]
    first = price[0]
    last = price[rows - 1]
    scale = 1.0 / rows
    high = first
    low = first
    s2 = 0.0
    s4 = 0.0
    s6 = 0.0
    y0 = 0.0
    y1 = 0.0
    y2 = 0.0
    y3 = 0.0
    for row in range(rows):
        value = price[row]
        if value > high:
            high = value
        if value < low:
            low = value
        u = (2.0 * row - (rows - 1.0)) * scale
        square = u * u
        y = value - first
        s2 += square
        s4 += square * square
        s6 += square * square * square
        y0 += y
        y1 += u * y
        y2 += square * y
        y3 += square * u * y
    if rows < _CUBIC_ROWS:
        return last, first, high, low, last
    even = rows * s4 - s2 * s2
    c0 = (s4 * y0 - s2 * y2) / even
    c2 = (rows * y2 - s2 * y0) / even
    odd = s2 * s6 - s4 * s4
    c1 = (s6 * y1 - s4 * y3) / odd
    c3 = (s2 * y3 - s4 * y1) / odd
    u = (rows + 1.0) * scale
    return first + (c0 + u * (c1 + u * (c2 + u * c3))), first, high, low, last


def drones(x: Any, y: Any, scratch: Any) -> Any:
    """Where to place the camera drones: k-means over the positions in the window, and the mean squared distance.

    Lloyd's algorithm, 4 centres, 5 iterations, from readings evenly spread over the window; a reading as near to two
    centres goes to the lower number, and a centre without readings stays. Positions are whole millimetres, so that
    sums are exact. The distance is to the centres before their last move, as k-means has it at hand.

    >>> at = np.array([0.0, 100.0, 0.0, 100.0] * 4)
    >>> [float(value) for value in drones(at, np.repeat([0.0, 50.0], 8), np.zeros(20))]
    [100.0, 0.0, 0.0, 0.0, 100.0, 50.0, 0.0, 50.0, 0.0]
    """
    rows = x.shape[0]
    for drone in range(DRONES):
        chosen = (2 * drone + 1) * rows // (2 * DRONES)
        scratch[_DRONE_VALUES * drone] = x[chosen]
        scratch[_DRONE_VALUES * drone + 1] = y[chosen]
    spread = 0.0
    for _ in range(ITERATIONS):
        spread = 0.0
        for drone in range(DRONES):
            scratch[_DRONE_VALUES * drone + 2] = 0.0
            scratch[_DRONE_VALUES * drone + 3] = 0.0
            scratch[_DRONE_VALUES * drone + 4] = 0.0
        for row in range(rows):
            nearest = 0
            least = np.inf
            for drone in range(DRONES):
                dx = x[row] - scratch[_DRONE_VALUES * drone]
                dy = y[row] - scratch[_DRONE_VALUES * drone + 1]
                square = dx * dx + dy * dy
                if square < least:
                    least = square
                    nearest = drone
            spread += least
            scratch[_DRONE_VALUES * nearest + 2] += x[row]
            scratch[_DRONE_VALUES * nearest + 3] += y[row]
            scratch[_DRONE_VALUES * nearest + 4] += 1.0
        for drone in range(DRONES):
            count = scratch[_DRONE_VALUES * drone + 4]
            if count > 0.0:
                scratch[_DRONE_VALUES * drone] = scratch[_DRONE_VALUES * drone + 2] / count
                scratch[_DRONE_VALUES * drone + 1] = scratch[_DRONE_VALUES * drone + 3] / count
    return (
        scratch[0],
        scratch[1],
        scratch[5],
        scratch[6],
        scratch[10],
        scratch[11],
        scratch[15],
        scratch[16],
        spread / rows,
    )


# Under names of their own: a worker finds the plain functions by theirs.
FORECAST = kernel(FORECAST_DDL)(forecast)
PLACE_DRONES = kernel(DRONES_DDL, scratch=DRONES * _DRONE_VALUES)(drones)
