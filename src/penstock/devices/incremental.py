"""Kernels with an aggregate over windows that share rows: each row is lifted at most twice, however many share it.

Two stacks, laid over the column (Tangwongsan, Hirzel, Schneider: "Low-Latency Sliding-Window Aggregation in Worst-Case
Constant Time", 2017, where it is the base). A place `middle` cuts the window: for every row before it the accumulator
of all rows from there to `middle` is kept, and one accumulator of all rows from `middle` to the window's end:

    window [lo, hi) = combine(suffix[lo], back)
    suffix[j] = combine(lift(j), suffix[j + 1]),  back' = combine(back, lift(end))

When `lo` passes `middle`, that goes to `hi`, and the suffixes are made anew. At most two combines a row and one a
window. Nothing is ever subtracted, so that minima and infinities are no harder than sums.

An accumulator's rounding depends on where `middle` was, and so on where the call began. Aggregates whose combine is
exact (minimum, maximum) give the same bits as the plain function, sums with a carried error nearly always
(`builtin.exact`), and plain floating sums do not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.devices.compiler import array, compile_loop
from penstock.devices.device import Results, Rows
from penstock.devices.kernel import Kernel
from penstock.devices.loops import Shape, incremental_loop

# Windows that together have so many times the rows that they cover. A row costs two lifts and two combines instead of
# one step of the plain function a window: measured, it pays from 8 on for a minimum, from 4 on for a regression.
LEAST_OVERLAP = 8


def pays(lo: Rows, hi: Rows) -> bool:
    """Whether windows only move forward, none is empty, and they share enough rows.

    >>> starts = np.arange(0, 100, 5)
    >>> pays(starts, starts + 100), pays(starts, starts + 10), pays(starts[::-1], starts[::-1] + 100)
    (True, False, False)
    """
    rows = hi - lo
    return bool(
        rows.sum() >= LEAST_OVERLAP * (hi[-1] - lo[0])
        and rows.min() > 0
        and (lo[1:] >= lo[:-1]).all()
        and (hi[1:] >= hi[:-1]).all()
    )


class Incremental:
    """The compiled loop of a kernel's aggregate."""

    def __init__(self, kernel: Kernel, shape: Shape, given: tuple[Any, ...], outputs: list[Any]) -> None:
        parts = kernel.aggregate
        assert parts is not None
        self._width = parts.width
        rows = array("int64", readonly=True)
        functions = {"lift": parts.lift, "combine": parts.combine, "lower": parts.lower}
        signature = (*given, rows, rows, array("float64", 2), *outputs)
        self._loop = compile_loop(incremental_loop(shape, parts.width), kernel, functions, signature)

    def __call__(self, given: tuple[Any, ...], results: Results) -> bool:
        """Fill in the outputs; False where a row or a window raised, and the plain function has to find which."""
        *_, lo, hi = given
        suffix = np.empty((int((hi - lo).max()) + 1, self._width))
        try:
            self._loop(*given, suffix, *results.outputs)
        except Exception:  # the kernel's own: any kind
            return False
        return True
