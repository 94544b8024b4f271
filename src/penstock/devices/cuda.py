"""The device `cuda`: one thread a window on an NVIDIA GPU; a plain copy of the columns there and of the outputs back.

Exceptions are not seen on a GPU: the outputs of a window that raised are NaN or 0, and it is not marked as failed. So
`auto` does not run a kernel there whose code raises. A GPU may round once for a multiplication and an addition
together, so that last bits may differ from a CPU's. Copying only new rows, and copying while computing, are not built.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from functools import lru_cache
from types import FunctionType
from typing import Any

import numpy as np

from penstock.devices.checks import check, check_compiled
from penstock.devices.compiled import numba_missing
from penstock.devices.device import (
    Array,
    Program,
    Results,
    Rows,
    allocate,
    read_only,
    remembered,
    scratch_values,
    types_of,
)
from penstock.devices.kernel import Kernel
from penstock.devices.loops import Shape, cuda_loop
from penstock.devices.messages import refused
from penstock.devices.targets import for_target, source_space

# Threads of a block: four warps, which every GPU takes; windows are independent, so nothing depends on it.
BLOCK_THREADS = 128
# Scratch memory on the GPU at once, in bytes: windows beyond it run in a further launch.
SCRATCH_BYTES = 256 * 2**20
_FLOAT64_BYTES = 8


class Cuda:
    """Runs each window of a call on a thread of its own."""

    name = "cuda"

    def missing(self) -> str | None:
        """Numba, the driver of NVIDIA, or what joins them."""
        return numba_missing() or _gpu_missing()

    def load(self, kernel: Kernel, dtypes: tuple[str, ...], args: tuple[Any, ...]) -> Program:
        """The program; it is compiled at its first call for the GPU that is there."""
        check_compiled(kernel, self.name)
        check(kernel, dtypes, args)
        key = (kernel.fingerprint, self.name, dtypes, types_of(args))
        return _Program(kernel, dtypes, args, remembered(key, lambda: _loop(kernel, len(dtypes), len(args))))

    def send(self, column: Array) -> bool:
        """Copy it to the GPU, and wait until it is there."""
        from numba import cuda

        cuda.to_device(column)
        cuda.synchronize()
        return True


def _loop(kernel: Kernel, columns: int, args: int) -> Any:
    from numba import cuda

    def on_device(function: FunctionType) -> Any:
        return cuda.jit(device=True)(function)

    space = source_space(cuda=cuda, f=for_target(kernel.function, on_device))
    text = cuda_loop(Shape(columns, args, len(kernel.outputs), kernel.scratch))
    exec(compile(text, "<penstock-cuda-kernel>", "exec"), space)
    return cuda.jit(space["loop"])


class _Program:
    def __init__(self, kernel: Kernel, dtypes: tuple[str, ...], args: tuple[Any, ...], loop: Any) -> None:
        self._kernel, self._dtypes, self._args, self._loop = kernel, dtypes, args, loop

    def __call__(self, columns: Sequence[Array], lo: Rows, hi: Rows) -> Results:
        from numba import cuda

        results = allocate(self._kernel, len(lo))
        ready = [read_only(column, dtype) for column, dtype in zip(columns, self._dtypes, strict=True)]
        given = [cuda.to_device(column) for column in ready]
        given += [cuda.to_device(value) if isinstance(value, np.ndarray) else value for value in self._args]
        values = max(1, scratch_values(self._kernel, lo, hi))
        step = max(1, min(len(lo), SCRATCH_BYTES // (_FLOAT64_BYTES * values)))
        scratch = cuda.device_array((step if self._kernel.scratch else 1, values))
        for first in range(0, len(lo), step):
            some = slice(first, first + step)
            # What a window that raised leaves untouched is NaN, or 0.
            blank = [np.nan if output.dtype.kind == "f" else 0 for output in results.outputs]
            found = [
                cuda.to_device(np.full(len(lo[some]), value, output.dtype))
                for value, output in zip(blank, results.outputs, strict=True)
            ]
            blocks = -(-len(lo[some]) // BLOCK_THREADS)
            self._launch(blocks, (*given, cuda.to_device(lo[some]), cuda.to_device(hi[some]), scratch, *found))
            for output, part in zip(results.outputs, found, strict=True):
                output[some] = part.copy_to_host()
        return results

    def _launch(self, blocks: int, arguments: tuple[Any, ...]) -> None:
        from numba.core.errors import NumbaError

        try:
            self._loop[blocks, BLOCK_THREADS](*arguments)
        except NumbaError as error:
            raise refused(self._kernel, error) from None


@lru_cache
def _gpu_missing() -> str | None:
    if os.environ.get("NUMBA_ENABLE_CUDASIM", "0") != "0":
        return None
    try:
        from numba import cuda

        usable = bool(cuda.is_available())
    except Exception:  # drivers and wheels of CUDA fail in many ways
        usable = False
    if usable:
        return None
    if shutil.which("nvidia-smi") is None:
        return "no NVIDIA driver"
    return "Numba cannot use the GPU: pip install numba-cuda and a CUDA toolkit"
