"""The kernel's functions, compiled by Numba: the same source, run on arrays."""

from __future__ import annotations

from functools import lru_cache
from types import FunctionType, SimpleNamespace
from typing import Any

from penstock.errors import MissingExtraError
from penstock.sim import kernel


@lru_cache
def compiled_kernel() -> Any:
    """The functions of `penstock.sim.kernel` and all that they call, compiled at their first call in this process.

    Nothing is cached on disk: Numba would not notice that a formula in another file has changed.
    """
    try:
        from numba import njit
    except ModuleNotFoundError as error:
        raise MissingExtraError("numba", "spark") from error
    space: dict[str, Any] = dict(vars(kernel))
    for name, function in vars(kernel).items():
        if isinstance(function, FunctionType):
            home = space if function.__module__ == kernel.__name__ else _home(function, njit)
            space[name] = njit(FunctionType(function.__code__, home, name, function.__defaults__))
    return SimpleNamespace(**space)


def _home(function: FunctionType, njit: Any) -> dict[str, Any]:
    """The globals of a formula, with the formulas that it calls compiled too."""
    space = dict(function.__globals__)
    for name in function.__code__.co_names:
        if isinstance(called := space.get(name), FunctionType):
            space[name] = njit(FunctionType(called.__code__, _home(called, njit), name, called.__defaults__))
    return space
