"""What a kernel costs on a device: measured on some windows, before all of them are run there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.devices.cost import Cost
from penstock.devices.device import Array, Program, Rows
from penstock.devices.kernel import Kernel
from penstock.devices.registry import device as device_named
from penstock.errors import BadInputError

# Interpreted, a window of more rows than this takes milliseconds, and no compiled device is slower.
MOST_ROWS = 1_000
# A call of this length is long enough to tell a rate from an overhead.
ENOUGH_S = 0.002
_GROWTH = 16
_REPEATS = 3
_TWO_CALLS = 2
_ROWS, _SLIDE, _SEED = 65_536, 64, 1
# Faster than this is not to be believed.
_FASTEST_ROW_S = 1e-12
_MILLION = 1_000_000

Clock = Callable[[], float]


@dataclass(frozen=True)
class Measured:
    """A kernel on a device: seconds of a call with no rows, rows a second, and seconds to copy a million rows there."""

    device: str
    overhead_s: float
    rows_per_s: float
    transfer_s_per_million_rows: float

    def __post_init__(self) -> None:
        if not (self.overhead_s >= 0 and self.rows_per_s > 0 and self.transfer_s_per_million_rows >= 0):
            raise BadInputError("measured", self, "a cost below 0", "give 0 or more, and rows a second above 0")

    def break_even_rows(self, other: Measured) -> float | None:
        """The work, Σ(hi - lo), from which this device beats the other; None where it never does.

        >>> Measured("cuda", 1e-3, 1e9, 0.001).break_even_rows(Measured("numba", 0.0, 1e7, 0.0))
        10101.0...
        """
        gain_s = 1 / other.rows_per_s - 1 / self.rows_per_s
        later_s = self.overhead_s - other.overhead_s
        if later_s <= 0:
            return 0.0 if gain_s >= 0 else None
        return later_s / gain_s if gain_s > 0 else None


def timed(
    program: Program, columns: Sequence[Array], lo: Rows, hi: Rows, clock: Clock = time.perf_counter
) -> Iterator[tuple[int, float]]:
    """Run the first 1, 16, 256, ... windows: (work, seconds) of each call.

    The last call tells the rate, or there are no more windows. The first comes twice: it pays for what is done once.
    """
    calls: list[tuple[int, float]] = []
    for count in [1, *(_GROWTH**k for k in range(len(lo).bit_length()))]:
        if count > len(lo) or rate_is_told(calls):
            return
        starts, ends = lo[:count], hi[:count]
        began_s = clock()
        program(columns, starts, ends)
        seconds = clock() - began_s
        calls.append((int((ends - starts).sum()), seconds))
        yield calls[-1]


def rate_is_told(calls: Sequence[tuple[int, float]]) -> bool:
    """Whether calls of growing work, the first one apart, tell a rate from an overhead: 2 ms, and twice the shortest.

    >>> rate_is_told([(10, 1.0), (10, 0.003), (40, 0.004)]), rate_is_told([(10, 1.0), (10, 0.003), (40, 0.006)])
    (False, True)
    """
    return len(calls) > _TWO_CALLS and calls[-1][1] >= max(ENOUGH_S, 2 * calls[1][1])


def measure(kernel: Kernel, dtypes: tuple[str, ...], args: tuple[Any, ...], device: str) -> Measured:
    """Measure a kernel on a device, on windows of 1,000 random rows between 0 and 100.

    >>> from penstock import kernels
    >>> measure(kernels.sum, ("float64",), (), "numpy").transfer_s_per_million_rows
    0.0
    """
    here = device_named(device)
    program = here.load(kernel, dtypes, args)
    rng = np.random.default_rng(_SEED)
    columns = [rng.uniform(0, 100, _ROWS).astype(dtype) for dtype in dtypes]
    lo = np.arange(0, _ROWS - MOST_ROWS, _SLIDE)
    cost = Cost()
    for _ in range(_REPEATS):
        for index, (work, seconds) in enumerate(timed(program, columns, lo, lo + MOST_ROWS)):
            if index:
                cost.learn(work, seconds)
    copied = here.send(columns[0])
    began_s = time.perf_counter()
    here.send(columns[0])
    copy_s = time.perf_counter() - began_s if copied else 0.0
    return Measured(device, cost.line.overhead_s, 1 / max(cost.line.row_s, _FASTEST_ROW_S), copy_s * _MILLION / _ROWS)
