"""How long a unit of work takes on one core of this machine; measured once a process, and carried to all workers.

Of many short measurements the smallest CPU time of the thread counts: whatever else ran only adds to the others.
"""

from __future__ import annotations

import time
from functools import lru_cache

import numpy as np

MEASURE_S = 0.3
# About 1 ms: long beside the clock's resolution, short beside a time slice.
_UNITS = 100


@lru_cache(maxsize=1)
def unit_ns() -> float:
    """Nanoseconds of CPU that a unit takes."""
    from penstock.apps.synthetic.kernel import worked

    value, units = np.ones(1, np.uint64), np.full(1, _UNITS, np.int64)
    worked(value, units)  # compiles
    least, stop_s = float("inf"), time.monotonic() + MEASURE_S
    while time.monotonic() < stop_s:
        began_ns = time.thread_time_ns()
        worked(value, units)
        least = min(least, float(time.thread_time_ns() - began_ns))
    # A clock that did not move at all is no reason to divide by zero.
    return max(least, 1.0) / _UNITS
