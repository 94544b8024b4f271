"""The one way to run a kernel: on the device that was named, or on the one that is cheapest for each call."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.devices import registry
from penstock.devices.checks import check
from penstock.devices.chooser import Choice, Chooser
from penstock.devices.device import Array, Program, Results, Rows, remembered, types_of
from penstock.devices.interpreted import run_window
from penstock.devices.kernel import Kernel
from penstock.devices.measure import MOST_ROWS, Clock, rate_is_told, timed
from penstock.errors import BadInputError, KernelError

AUTO = "auto"
FAIL, NULL = "fail", "null"
# Compiled devices are measured first: they are the likely winners, and the first to measure runs the first call.
_PREFERRED = ("numba", "numba-parallel", "cuda", "numpy")
# A device whose rate is not told yet is measured again at so many times the work.
_MEASURE_AGAIN = 4


@dataclass(frozen=True)
class Ran:
    """How a call ran: where, for how long, with how much work (rows summed over windows), and why there."""

    device: str
    seconds: float
    work: int
    reason: str

    def __post_init__(self) -> None:
        if self.seconds < 0 or self.work < 0:
            raise BadInputError("ran", (self.seconds, self.work), "a time or a work below 0", "give 0 or more")


class Auto:
    """Runs a kernel over windows.

    :arg dtypes: The type of each column, float64 or int64.
    :arg errors: "fail" raises a `KernelError` where a window raised; "null" marks the window.
    :arg devices: Those to choose from; else all that are here. With one, that one is used, and its faults are raised.

    >>> import numpy as np
    >>> from penstock import kernels
    >>> auto = Auto(kernels.sum, ("int64",), devices=("numpy",))
    >>> results, ran = auto.run([np.arange(10)], np.array([0, 5]), np.array([5, 10]))
    >>> results.outputs[0].tolist(), ran.device, ran.work
    ([10.0, 35.0], 'numpy', 10)
    """

    def __init__(
        self,
        kernel: Kernel,
        dtypes: tuple[str, ...],
        args: tuple[Any, ...] = (),
        errors: str = FAIL,
        devices: Sequence[str] | None = None,
        clock: Clock = time.perf_counter,
    ) -> None:
        check(kernel, dtypes, args)
        if errors not in (FAIL, NULL):
            raise BadInputError("errors", errors, "not a way of failing", f"write {FAIL} or {NULL}")
        if devices is None:
            devices = [name for name in _PREFERRED if name in registry.available()] if kernel.compiled else ["numpy"]
            if kernel.raises and len(devices) > 1:
                # On a GPU nobody sees an exception.
                devices = [name for name in devices if name != "cuda"]
        self._devices = {name: registry.device(name) for name in devices}
        self._kernel, self._dtypes, self._args, self._errors, self._clock = kernel, dtypes, args, errors, clock
        self._programs: dict[str, Program] = {}
        # A worker makes this object anew for every task: what was learned stays in the process.
        learned = ("learned", kernel.fingerprint, dtypes, types_of(args), tuple(devices))
        self._chooser, self._measured = remembered(learned, lambda: (Chooser(devices), dict[str, int]()))

    @property
    def devices(self) -> list[str]:
        """Those that have not failed."""
        return self._chooser.devices

    def load(self) -> None:
        """Compile for all devices, so that no batch has to wait for a compiler.

        What is wrong with the kernel on the device that is named, or on the likeliest, is a `BadInputError`.
        """
        for number, name in enumerate(self._chooser.devices):
            try:
                self._program(name)
            except Exception as error:
                if number == 0 and isinstance(error, BadInputError):
                    raise
                self._chooser.failed(name, error)

    def run(self, columns: Sequence[Array], lo: Rows, hi: Rows) -> tuple[Results, Ran]:
        """The results of all windows, window i being rows lo[i]:hi[i] of every column; and how they were made."""
        work = int((hi - lo).sum())
        if not len(lo):
            # It takes no time, and so tells nothing of a device.
            name = self._chooser.devices[0]
            return self._program(name)(columns, lo, hi), Ran(name, 0.0, 0, "there is no window")
        if len(self._chooser.devices) > 1:
            self._measure_one(columns, lo, hi, work)
        while True:
            choice = self._choice(work)
            try:
                program = self._program(choice.device)
                began_s = self._clock()
                results = program(columns, lo, hi)
                seconds = self._clock() - began_s
            except Exception as error:  # windows that raise are marked: this is a fault of the device
                self._chooser.failed(choice.device, error)
                continue
            self._chooser.ran(choice.device, work, seconds)
            self._measured[choice.device] = max(work, self._measured.get(choice.device, 0))
            if self._errors == FAIL and results.failed.any():
                self._raise(columns, lo, hi, int(results.failed.argmax()))
            return results, Ran(choice.device, seconds, work, choice.reason)

    def _choice(self, work: int) -> Choice:
        if len(self._chooser.devices) == 1:
            only = self._chooser.devices[0]
            return Choice(only, "the only one" if len(self._devices) > 1 else "as asked")
        return self._chooser.choose(work)

    def _program(self, name: str) -> Program:
        if name not in self._programs:
            self._programs[name] = self._devices[name].load(self._kernel, self._dtypes, self._args)
        return self._programs[name]

    def _measure_one(self, columns: Sequence[Array], lo: Rows, hi: Rows, work: int) -> None:
        """Measure a device on some windows of this call, where it was not yet, or too small to tell its rate."""
        for name in self._chooser.devices:
            interpreted = name == "numpy" and int((hi - lo).max()) > MOST_ROWS
            if interpreted or work <= _MEASURE_AGAIN * self._measured.get(name, 0):
                continue
            try:
                calls = list(timed(self._program(name), columns, lo, hi, self._clock))
            except Exception as error:
                self._chooser.failed(name, error)
                continue
            self._measured[name] = sys.maxsize if rate_is_told(calls) else work
            for some_work, seconds in calls:
                self._chooser.ran(name, some_work, seconds)
            return

    def _raise(self, columns: Sequence[Array], lo: Rows, hi: Rows, window: int) -> None:
        """Run a window that raised once more, in Python, so that its exception and its lines are told."""
        name = self._kernel.name
        try:
            run_window(self._kernel, self._dtypes, self._args, columns, int(lo[window]), int(hi[window]))
        except Exception as error:
            raise KernelError(f"kernel {name} raised {error!r} for window {window} of the call") from error
        raise KernelError(f"kernel {name} raised for window {window} of the call, and not again in Python")


def runner(
    kernel: Kernel, dtypes: tuple[str, ...], args: tuple[Any, ...] = (), errors: str = FAIL, device: str = AUTO
) -> Auto:
    """What runs a kernel on one device, or on the cheapest.

    >>> from penstock import kernels
    >>> runner(kernels.mean, ("float64",), device="gpu")
    Traceback (most recent call last):
        ...
    penstock.errors.BadInputError: device = 'gpu': no such device; choose one of: auto, numpy, numba, ...
    """
    return Auto(kernel, dtypes, args, errors, None if device == AUTO else (device,))
