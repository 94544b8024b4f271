"""The device `numpy`: the function itself, called for one window after the other. It is always there."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.devices.checks import check, check_count
from penstock.devices.device import Array, Program, Results, Rows, allocate, argument, blank, read_only, scratch_values
from penstock.devices.kernel import ROWS, Kernel
from penstock.errors import BadInputError

log = logging.getLogger("penstock")

_told: set[str] = set()


class Interpreted:
    """Runs any Python function on NumPy arrays, also those that no compiler takes."""

    name = "numpy"

    def missing(self) -> str | None:
        """Nothing is."""
        return None

    def load(self, kernel: Kernel, dtypes: tuple[str, ...], args: tuple[Any, ...]) -> Program:
        """The program; there is nothing to compile."""
        check(kernel, dtypes, args)
        if not kernel.compiled and kernel.name not in _told:
            _told.add(kernel.name)
            log.warning("kernel %s is not compiled: it runs window by window in Python, which is slower", kernel.name)
        return _Program(kernel, dtypes, args)

    def send(self, column: Array) -> bool:
        """It is there already."""
        return False


class _Program:
    def __init__(
        self,
        kernel: Kernel,
        dtypes: tuple[str, ...],
        args: tuple[Any, ...],
        catch: tuple[type[Exception], ...] = (Exception,),
    ) -> None:
        self._kernel, self._dtypes, self._catch = kernel, dtypes, catch
        self._args = tuple(_scalar(argument(value)) for value in args) if kernel.compiled else args

    def __call__(self, columns: Sequence[Array], lo: Rows, hi: Rows) -> Results:
        results = allocate(self._kernel, len(lo))
        ready = [read_only(column, dtype) for column, dtype in zip(columns, self._dtypes, strict=True)]
        scratch = np.zeros(scratch_values(self._kernel, lo, hi))
        # Division by zero is inf or NaN, as in compiled kernels, and not worth a line each.
        with np.errstate(all="ignore"):
            for window, (start, end) in enumerate(zip(lo.tolist(), hi.tolist(), strict=True)):
                try:
                    values = self._window([column[start:end] for column in ready], scratch)
                    for output, value in zip(results.outputs, values, strict=True):
                        output[window] = value
                except BadInputError:
                    raise
                except self._catch:
                    results.failed[window] = True
        return blank(results)

    def _window(self, columns: list[Array], scratch: Array) -> Sequence[Any]:
        by_rows = self._kernel.scratch == ROWS
        memory = (scratch[: len(columns[0])] if by_rows else scratch,) if self._kernel.scratch else ()
        return check_count(self._kernel, self._kernel.function(*columns, *self._args, *memory))


def run_window(
    kernel: Kernel, dtypes: tuple[str, ...], args: tuple[Any, ...], columns: Sequence[Array], start: int, end: int
) -> None:
    """Call the function for one window, so that what it raises comes out."""
    _Program(kernel, dtypes, args, catch=())(columns, np.array([start]), np.array([end]))


def _scalar(value: Any) -> Any:
    """A number as NumPy has it, so that arithmetic is that of compiled kernels: 1.0 / 0.0 is inf."""
    return np.asarray(value)[()] if isinstance(value, int | float) else value
