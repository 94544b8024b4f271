"""What a function is, apart from where it stands: the name of its compiled form in memory and on disk.

A worker gets a function by value, with no file to name it by. The fingerprint covers the bytecode and all that it
refers to: constants, defaults, closure, globals, and the same of every function that it calls. It travels with the
kernel, so that it need only be equal from one start of the driver to the next: where it is not, a kernel is compiled
once more. Modules count with their own file, and with the values that are read from them; what these import is not
looked at (as in Numba's own cache).
"""

from __future__ import annotations

import dis
import hashlib
import io
import pickle
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

# What devices know by name: functions of these are neither looked into nor compiled by us.
LIBRARIES = ("builtins", "math", "cmath", "numpy", "numba", "scipy")


def fingerprint(functions: Sequence[Callable[..., Any] | None], text: str = "") -> str:
    """A digest of functions and of a text.

    >>> double, twice = (lambda x: 2 * x), (lambda x: 2 * x)
    >>> fingerprint([double]) == fingerprint([twice]) != fingerprint([lambda x: 3 * x])
    True
    """
    content = io.BytesIO()
    try:
        _Content(content).dump((text, *functions))
    except Exception:  # anything can go wrong in the pickling of a user's object: such a function is like no other
        content.write(uuid.uuid4().bytes)
    return hashlib.sha256(content.getvalue()).hexdigest()[:32]


def plain(value: Any) -> FunctionType | None:
    """The Python function of a function, of one that Numba compiled, or of a kernel; None of anything else."""
    value = getattr(value, "py_func", value)
    return value if isinstance(value, FunctionType) and not _of_library(value.__module__) else None


def references(function: FunctionType) -> dict[str, Any]:
    """The globals that a function uses."""
    names = _loaded(function.__code__, "LOAD_GLOBAL")
    return {name: function.__globals__[name] for name in sorted(names) if name in function.__globals__}


def _loaded(code: CodeType, *ways: str) -> set[str]:
    """The names that code loads in these ways; that of functions inside it too."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    names = {each.argval for each in dis.get_instructions(code) if each.opname in ways}
    return names.union(*(_loaded(each, *ways) for each in inner))


def _read_from(module: ModuleType, names: set[str]) -> dict[str, Any]:
    """The values of a module, and of those that it names, that code may read: compiled code has them as constants."""
    found = {name: getattr(module, name) for name in sorted(names) if hasattr(module, name)}
    inside = {name: value for name, value in found.items() if isinstance(value, ModuleType)}
    values = {name: value for name, value in found.items() if not callable(value) and name not in inside}
    return values | {
        f"{name}.{inner}": each
        for name, value in inside.items()
        if not _of_library(value.__name__)
        for inner, each in _read_from(value, names - {name}).items()
    }


def closure(function: FunctionType) -> dict[str, Any]:
    """The variables of the functions around it."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells}


class _Content(pickle.Pickler):
    """Writes functions by what they do, and everything else as pickle does."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        # No memo: whether two equal values are one object says nothing.
        self.fast = True
        self._met: dict[FunctionType, int] = {}

    def reducer_override(self, value: Any) -> Any:
        function = plain(value)
        if function in self._met:
            return int, (self._met[function],)
        if function is not None:
            self._met[function] = len(self._met)
            defaults = (function.__defaults__, function.__kwdefaults__)
            named, attributes = references(function), _loaded(function.__code__, "LOAD_ATTR", "LOAD_METHOD")
            modules = [
                each for each in named.values() if isinstance(each, ModuleType) and not _of_library(each.__name__)
            ]
            read = [_read_from(module, attributes) for module in modules]
            return tuple, ((function.__code__, *defaults, closure(function), named, read),)
        if isinstance(value, CodeType):
            names = (value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars)
            return tuple, ((value.co_code, value.co_argcount, value.co_flags, names, value.co_consts),)
        if isinstance(value, ModuleType):
            file = None if _of_library(value.__name__) else getattr(value, "__file__", None)
            return tuple, ((value.__name__, Path(file).read_bytes() if file else b""),)
        return NotImplemented


def _of_library(module: str | None) -> bool:
    return (module or "").partition(".")[0] in LIBRARIES
