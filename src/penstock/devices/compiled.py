"""The devices `numba` and `numba-parallel`: the loop over windows compiled for the CPU, on one thread or on all.

Arithmetic is NumPy's: a division by zero gives inf or NaN. An index out of bounds is not noticed, as always in Numba.
Kernels of loops and scalars give the bits that `numpy` gives. `sum`, `mean` and the like of whole arrays may differ in
the last ones (NumPy adds in pairs, Numba from left to right), and so may `exp`, `log` and the like.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from penstock.devices.checks import check, check_compiled
from penstock.devices.compiler import array, check_result, compile_loop, given_types
from penstock.devices.device import (
    Array,
    Program,
    Results,
    Rows,
    allocate,
    argument,
    blank,
    read_only,
    remembered,
    scratch_values,
    types_of,
)
from penstock.devices.incremental import Incremental, pays
from penstock.devices.kernel import Kernel
from penstock.devices.loops import Shape, window_loop
from penstock.distribution import install_command

# Not all of Numba's threading layers stand two parallel loops at once, and two would share the same cores.
_one_parallel_loop = threading.Lock()
# Numbers between the scratch memory of two threads, 128 bytes: they would slow each other down in one cache line.
_APART = 16


class Compiled:
    """Runs the windows of a call on one thread, or spread over all threads that Numba has."""

    def __init__(self, parallel: bool) -> None:
        self.parallel = parallel
        self.name = "numba-parallel" if parallel else "numba"

    def missing(self) -> str | None:
        """Only Numba can be."""
        return numba_missing()

    def load(self, kernel: Kernel, dtypes: tuple[str, ...], args: tuple[Any, ...]) -> Program:
        """The compiled program, from memory, from disk, or from the compiler (about a second)."""
        check_compiled(kernel, self.name)
        check(kernel, dtypes, args)
        key = (kernel.fingerprint, self.name, dtypes, types_of(args))
        loop, incremental = remembered(key, lambda: self._loops(kernel, dtypes, args))
        return _Program(kernel, dtypes, args, self.parallel, loop, incremental)

    def send(self, column: Array) -> bool:
        """It is there already."""
        return False

    def _loops(self, kernel: Kernel, dtypes: tuple[str, ...], args: tuple[Any, ...]) -> tuple[Any, Any]:
        shape = Shape(len(dtypes), len(args), len(kernel.outputs), kernel.scratch)
        given, rows = given_types(kernel, dtypes, args), array("int64", readonly=True)
        outputs = [array(output.dtype) for output in kernel.outputs]
        signature = (*given, rows, rows, array("int64"), array("float64", 2), *outputs, array("bool"))
        text, functions = window_loop(shape), {"f": kernel.function}
        loop = compile_loop(text, kernel, functions, signature, self.parallel, partial(check_result, kernel, given))
        once = kernel.aggregate is not None and not self.parallel
        return loop, Incremental(kernel, shape, given, outputs) if once else None


class _Program:
    def __init__(
        self,
        kernel: Kernel,
        dtypes: tuple[str, ...],
        args: tuple[Any, ...],
        parallel: bool,
        loop: Any,
        incremental: Incremental | None,
    ) -> None:
        self._kernel, self._dtypes, self._args = kernel, dtypes, tuple(map(argument, args))
        self._parallel, self._loop, self._incremental = parallel, loop, incremental

    def __call__(self, columns: Sequence[Array], lo: Rows, hi: Rows) -> Results:
        results = allocate(self._kernel, len(lo))
        if not len(lo):
            return results
        ready = [read_only(column, dtype) for column, dtype in zip(columns, self._dtypes, strict=True)]
        given = (*ready, *self._args, read_only(lo, "int64"), read_only(hi, "int64"))
        if self._incremental is not None and pays(lo, hi) and self._incremental(given, results):
            return results
        parts = _parts(lo, hi) if self._parallel else np.array([0, len(lo)], np.int64)
        scratch = np.empty((len(parts) - 1, scratch_values(self._kernel, lo, hi) + _APART))
        if self._parallel:
            with _one_parallel_loop:
                self._loop(*given, parts, scratch, *results.outputs, results.failed)
        else:
            self._loop(*given, parts, scratch, *results.outputs, results.failed)
        return blank(results)


def numba_missing() -> str | None:
    """Why Numba cannot be used here, or None."""
    if importlib.util.find_spec("numba") is None:
        return f"numba is not installed; run: {install_command('spark')}"
    return None


def _parts(lo: Rows, hi: Rows) -> Rows:
    """Where the windows of each thread start: every thread gets about as many rows."""
    from numba import get_num_threads

    rows = np.cumsum(hi - lo + 1)
    threads = min(int(get_num_threads()), len(lo))
    cuts = np.searchsorted(rows, np.arange(1, threads) * (int(rows[-1]) / threads))
    return np.concatenate(([0], cuts, [len(lo)])).astype(np.int64)
