"""Loops and the functions that they call, compiled by Numba for a CPU, from the cache on disk where they are there."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from penstock.devices import disk_cache
from penstock.devices.checks import check_returned
from penstock.devices.device import argument
from penstock.devices.kernel import Kernel
from penstock.devices.messages import refused
from penstock.devices.targets import for_target, source_space


def njit(function: FunctionType, parallel: bool = False) -> Any:
    """Numba's compiler as all kernels use it: NumPy's arithmetic, and the interpreter's lock is free meanwhile."""
    import numba

    return numba.njit(nogil=True, error_model="numpy", parallel=parallel)(function)


def array(dtype: str, dimensions: int = 1, readonly: bool = False) -> Any:
    """Numba's type of an array."""
    import numba

    return numba.types.Array(numba.from_dtype(np.dtype(dtype)), dimensions, "C", readonly=readonly)


def given_types(kernel: Kernel, dtypes: tuple[str, ...], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Numba's types of columns and arguments."""
    import numba

    try:
        return (*(array(dtype, readonly=True) for dtype in dtypes), *(numba.typeof(argument(value)) for value in args))
    except (ValueError, OverflowError, TypeError) as error:
        raise refused(kernel, error) from None


def compile_loop(
    text: str,
    kernel: Kernel,
    functions: dict[str, Any],
    signature: tuple[Any, ...],
    parallel: bool = False,
    check: Callable[[Any], None] | None = None,
) -> Any:
    """The function `loop` of a source text, which calls these functions of a kernel, compiled for one signature.

    Where it does not compile, that is a `BadInputError` with the kernel's line. `check` gets the compiled function `f`
    first; what was compiled before, in any process, is not checked again.
    """
    name = disk_cache.file_name(text, kernel.fingerprint, str(signature), str(parallel))
    calls = {each: for_target(function, njit) for each, function in functions.items()}
    if check is not None and not disk_cache.is_kept(name):
        check(calls["f"])
    try:
        return _build(text, name, calls, signature, parallel, cached=True)
    except Exception:  # a damaged file, a full disk: the cache is a convenience, and the compiler tells its own errors
        disk_cache.drop(name)
    try:
        return _build(text, name, calls, signature, parallel, cached=False)
    except Exception as error:  # Numba has many kinds
        raise refused(kernel, error) from None


def check_result(kernel: Kernel, given: tuple[Any, ...], function: Any) -> None:
    """Refuse a kernel that does not compile by itself, or returns what its outputs cannot hold."""
    signature = (*given, *((array("float64"),) if kernel.scratch else ()))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function.compile(signature)
    except Exception as error:  # Numba has many kinds
        raise refused(kernel, error) from None
    check_returned(kernel, function.overloads[signature].signature.return_type)


def _build(
    text: str, name: str, calls: dict[str, Any], signature: tuple[Any, ...], parallel: bool, cached: bool
) -> Any:
    import numba

    space = source_space(prange=numba.prange, **calls)
    exec(compile(text, name, "exec"), space)
    if "guarded" in space:
        space["guarded"] = njit(space["guarded"])
    loop = njit(space["loop"], parallel=parallel)
    cached = cached and disk_cache.keep(loop)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loop.compile(signature)
    loop.disable_compile()
    if cached:
        disk_cache.touch(name)
    return loop
