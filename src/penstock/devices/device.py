"""What a device is: it loads a kernel, and the program that it gives runs many windows in one call."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.devices.kernel import ROWS, Kernel

Array = NDArray[Any]
Rows = NDArray[np.int64]
T = TypeVar("T")

# Programs and what was learned of them, kept in a process: some 100 kB each, more than any one query has.
MOST_REMEMBERED = 64
_remembered: OrderedDict[Hashable, Any] = OrderedDict()
# One compilation at a time: Numba holds a lock of its own, and two threads often want the same kernel.
_lock = threading.RLock()


class Results(NamedTuple):
    """One array an output, in the order of windows; `failed[i]`: window i raised, and its outputs are NaN or 0."""

    outputs: list[Array]
    failed: NDArray[np.bool_]


class Program(Protocol):
    """A kernel that is ready to run: window i is rows lo[i]:hi[i] of every column.

    A window that raises is marked, so that an exception of a program is never the kernel's, but the device's.
    """

    def __call__(self, columns: Sequence[Array], lo: Rows, hi: Rows) -> Results:
        """The outputs of all windows."""
        ...


class Device(Protocol):
    """Something that runs kernels."""

    name: str

    def missing(self) -> str | None:
        """Why it cannot be used here, or None."""
        ...

    def load(self, kernel: Kernel, dtypes: tuple[str, ...], args: tuple[Any, ...]) -> Program:
        """Compile a kernel for columns of these types and for these arguments, or take it from a cache."""
        ...

    def send(self, column: Array) -> bool:
        """Copy a column to where the device computes, to measure that; False where it is there already."""
        ...


def remembered(key: Hashable, load: Callable[[], T]) -> T:
    """What was loaded in this process for this key, else what `load` gives; the one not used for longest is dropped.

    >>> remembered("a key", lambda: 1), remembered("a key", lambda: 2)
    (1, 1)
    """
    with _lock:
        if key in _remembered:
            _remembered.move_to_end(key)
        else:
            _remembered[key] = load()
            while len(_remembered) > MOST_REMEMBERED:
                _remembered.popitem(last=False)
        found: T = _remembered[key]
        return found


def types_of(args: Sequence[Any]) -> tuple[str, ...]:
    """The types of arguments, by which programs differ.

    >>> types_of((1, 2.0, np.zeros(3)))
    ('int', 'float', 'float64 1')
    """
    return tuple(f"{v.dtype} {v.ndim}" if isinstance(v, np.ndarray) else type(v).__name__ for v in args)


def allocate(kernel: Kernel, windows: int) -> Results:
    """Memory for the results of so many windows."""
    return Results([np.empty(windows, output.dtype) for output in kernel.outputs], np.zeros(windows, np.bool_))


def blank(results: Results) -> Results:
    """The results, with NaN, or 0 for integers, in windows that failed."""
    if results.failed.any():
        for output in results.outputs:
            output[results.failed] = np.nan if output.dtype.kind == "f" else 0
    return results


def scratch_values(kernel: Kernel, lo: Rows, hi: Rows) -> int:
    """How many float64 values the largest window may use."""
    return int((hi - lo).max(initial=0)) if kernel.scratch == ROWS else int(kernel.scratch)


def read_only(column: Array, dtype: str) -> Array:
    """The column as every device takes it: contiguous, aligned, read-only; copied only where it must be."""
    column = np.require(column, dtype, ["C", "A"])
    if column.flags.writeable:
        column = column.view()
        column.flags.writeable = False
    return column


def argument(value: Any) -> Any:
    """An argument as compiled programs take it."""
    return read_only(value, str(value.dtype)) if isinstance(value, np.ndarray) else value
