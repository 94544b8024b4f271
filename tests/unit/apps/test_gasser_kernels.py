"""What Q1 and Q2 compute, against NumPy's own least squares and a k-means written with arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.apps.gasser.app import GasserApp
from penstock.apps.gasser.kernels import DRONES, FORECAST, ITERATIONS, PLACE_DRONES, drones, forecast
from penstock.apps.gasser.queries import Q1, Q2
from penstock.devices.builtin.fits import kmeans
from penstock.devices.registry import device

SCRATCH = int(PLACE_DRONES.scratch)


def stream(query: Any, rows: int, seed: int = 1) -> list[np.ndarray]:
    columns = GasserApp(query).workload("small", seed).columns(0, rows)
    return [np.asarray(columns[name]) for name in query.columns]


@pytest.mark.parametrize("rows", [4, 5, 17, 1000, 10_000])
def test_the_predicted_price_is_that_of_polyfit(rows: int) -> None:
    (price,) = stream(Q1, 20_000)
    for begin in range(0, 10_000, 2_500):
        window = price[begin : begin + rows]
        # Centred and scaled: over raw row numbers the powers of a cubic lose most of their digits.
        at = (2 * np.arange(rows + 1) - (rows - 1)) / rows
        expected = np.polyval(np.polyfit(at[:-1], window, 3), at[-1])
        assert forecast(window)[0] == pytest.approx(expected, abs=1e-6 * window.mean())


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_too_few_rows_for_a_cubic_predict_the_last_price(rows: int) -> None:
    assert forecast(np.array([3.0, 1.0, 2.0])[:rows])[0] == [3.0, 1.0, 2.0][rows - 1]


def test_a_candlestick_is_first_highest_lowest_last() -> None:
    (price,) = stream(Q1, 3_000, seed=5)
    assert forecast(price)[1:] == (price[0], price.max(), price.min(), price[-1])


@pytest.mark.parametrize("rows", [4, 100, 1000])
@pytest.mark.parametrize("seed", [1, 2])
def test_drones_go_where_a_plain_k_means_puts_them(rows: int, seed: int) -> None:
    x, y = (column[:rows] for column in stream(Q2, rows, seed))
    points = np.stack([x, y], axis=1)
    centres = points[[(2 * drone + 1) * rows // (2 * DRONES) for drone in range(DRONES)]]
    for _ in range(ITERATIONS):
        squares = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        nearest = squares.argmin(axis=1)
        centres = np.array(
            [
                points[nearest == drone].mean(axis=0) if (nearest == drone).any() else centres[drone]
                for drone in range(DRONES)
            ]
        )
    *found, spread = drones(x, y, np.zeros(SCRATCH))
    assert np.allclose(np.reshape(found, (DRONES, 2)), centres)
    assert spread == pytest.approx(squares.min(axis=1).mean())


def test_a_drone_that_nobody_is_near_stays_where_it_was() -> None:
    x = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 9.0])
    *found, _ = drones(x, np.zeros(8), np.zeros(SCRATCH))
    assert found == [0.0, 0.0] * 3 + [9.0, 0.0]


@pytest.mark.parametrize(("query", "kernel"), [(Q1, FORECAST), (Q2, PLACE_DRONES)], ids=["q1", "q2"])
def test_every_device_here_gives_the_same_bits(query: Any, kernel: Any) -> None:
    """So that a digest of rounded outputs can never depend on the device: no last bit differs."""
    columns = stream(query, 1_300)
    lo = np.arange(0, 300, 25, dtype=np.int64)
    results = [
        device(name).load(kernel, ("float64",) * len(columns), ())(columns, lo, lo + 1000)
        for name in ("numpy", "numba", "numba-parallel")
    ]
    scratch = [np.zeros(SCRATCH)] * (query is Q2)
    plain = np.array([kernel.function(*(c[at : at + 1000] for c in columns), *scratch) for at in lo.tolist()]).T
    for result in results:
        assert np.array(result.outputs).tobytes() == np.ascontiguousarray(plain).tobytes()


def test_the_built_in_k_means_is_a_second_way_to_the_same_bits() -> None:
    """Q2 keeps a function of its own: the reference compiles it alone, without the devices that it checks."""
    columns, lo = stream(Q2, 1_300), np.arange(0, 300, 25, dtype=np.int64)
    own, built_in = (
        device("numba").load(kernel, ("float64", "float64"), ())(columns, lo, lo + 1000).outputs
        for kernel in (PLACE_DRONES, kmeans(DRONES, ITERATIONS))
    )
    assert np.array(own).tobytes() == np.array(built_in).tobytes()
