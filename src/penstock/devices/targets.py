"""One user function, compiled for a target together with all the functions that it calls.

Helpers may be plain functions, functions that Numba has compiled already, or other kernels: each is compiled anew for
the target, so that one source runs on every device. The copies name this module as theirs: compiled code is cached on
disk with the module's name, and a worker may not be able to import the user's.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

from penstock.devices.fingerprint import closure, plain, references

Compile = Callable[[FunctionType], Any]


def for_target(function: Callable[..., Any], compile_one: Compile) -> Any:
    """The function as `compile_one` makes it, and so are those that it calls.

    >>> def half(x):
    ...     return x / 2
    >>> for_target(lambda x: half(x) + 1, lambda function: function)(4.0)
    3.0
    """
    return _rebuilt(function, compile_one, {})


def source_space(**names: Any) -> dict[str, Any]:
    """The globals of a function that is made here."""
    return {"__name__": __name__, **names}


def _rebuilt(value: Any, compile_one: Compile, done: dict[FunctionType, Any]) -> Any:
    function = plain(value)
    if function is None:
        return value
    if function not in done:
        space, inside = source_space(), closure(function)
        cells = {name: CellType() for name in inside}
        copy = FunctionType(function.__code__, space, function.__name__, function.__defaults__, tuple(cells.values()))
        copy.__kwdefaults__ = function.__kwdefaults__
        done[function] = compile_one(copy)
        # Names are filled in afterwards: a function may call itself.
        space.update((name, _rebuilt(each, compile_one, done)) for name, each in references(function).items())
        for name, cell in cells.items():
            cell.cell_contents = _rebuilt(inside[name], compile_one, done)
    return done[function]
