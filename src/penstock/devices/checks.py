"""What a kernel is given and what it returns: checked before it runs where that can be."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.devices.kernel import Kernel
from penstock.errors import BadInputError

# A column's type; everything else is converted before.
COLUMN_DTYPES = ("float64", "int64")
_ARGUMENTS = (bool, int, float, np.generic, np.ndarray)


def check(kernel: Kernel, dtypes: Sequence[str], args: Sequence[Any]) -> None:
    """Refuse columns and arguments that this kernel cannot take on any device.

    >>> from penstock.devices.kernel import kernel
    >>> check(kernel("m double", name="m")(lambda price, scale: 0.0), ("float64", "float64"), (1.0,))
    Traceback (most recent call last):
        ...
    penstock.errors.BadInputError: kernel = 'm': takes (price, scale), and is given 2 columns and 1 argument; ...
    """
    if not dtypes:
        raise BadInputError("columns", "", f"kernel {kernel.name} gets no rows", "name at least one column")
    for dtype in dtypes:
        if dtype not in COLUMN_DTYPES:
            raise BadInputError("dtypes", dtype, "not a type of columns", f"convert to {' or '.join(COLUMN_DTYPES)}")
    for value in args if kernel.compiled else ():
        if not isinstance(value, _ARGUMENTS):
            reason = f"a compiled kernel takes numbers and arrays, kernel {kernel.name} gets a {type(value).__name__}"
            raise BadInputError("args", value, reason, "pass numbers, or write compiled=False")
    _check_arity(kernel, len(dtypes), len(args))


def check_compiled(kernel: Kernel, device: str) -> None:
    """Refuse a kernel that is not for compilers."""
    if not kernel.compiled:
        reason = f"kernel {kernel.name} has compiled=False"
        raise BadInputError("device", device, reason, "run it on numpy, or leave compiled=False out")


def check_count(kernel: Kernel, found: Any) -> Sequence[Any]:
    """The values that a kernel returned, one an output."""
    values = found if isinstance(found, tuple | list) else (found,)
    if len(values) != len(kernel.outputs):
        reason = f"returns {_counted(len(values), 'value')}, and declares '{kernel.output_ddl}'"
        raise BadInputError("kernel", kernel.name, reason, "return one value an output")
    return values


def check_returned(kernel: Kernel, returned: Any) -> None:
    """Refuse a kernel whose type of result, as Numba has it, does not fit its outputs."""
    from numba import types

    several = isinstance(returned, types.BaseTuple)
    found = check_count(kernel, tuple(returned) if several else returned)
    if several and len(found) == 1:
        raise BadInputError("kernel", kernel.name, "returns a tuple of one value", "return the value itself")
    for output, kind in zip(kernel.outputs, found, strict=True):
        if not isinstance(kind, types.Integer | types.Float | types.Boolean):
            what = "a number or None" if isinstance(kind, types.Optional) else str(kind)
            remedy = "return a number always, e.g. math.nan"
            raise BadInputError("kernel", kernel.name, f"returns {what} for '{output.name} {output.ddl}'", remedy)
        if isinstance(kind, types.Float) and output.dtype.startswith("int"):
            reason = f"returns a fraction ({kind}) for '{output.name} {output.ddl}'"
            raise BadInputError("kernel", kernel.name, reason, "return int(...), or declare the output double")


def _check_arity(kernel: Kernel, columns: int, args: int) -> None:
    try:
        signature = inspect.signature(kernel.function)
    except (TypeError, ValueError):  # a function of C without one
        return
    given = [_counted(columns, "column"), _counted(args, "argument"), *(["scratch memory"] if kernel.scratch else [])]
    try:
        signature.bind(*range(columns + args + bool(kernel.scratch)))
    except TypeError:
        reason = f"takes {signature}, and is given {', '.join(given[:-1])} and {given[-1]}"
        raise BadInputError("kernel", kernel.name, reason, "give what it takes, in this order") from None


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
