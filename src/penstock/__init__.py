"""Penstock keeps a Spark Structured Streaming query within its service level objective.

What needs Spark is imported at first use: `import penstock` alone imports neither Spark nor numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.sample import BatchSample, Decision
from penstock.slo import Slo

if TYPE_CHECKING:
    from penstock.spark.attach import attach
    from penstock.spark.attach_all import attach_all
    from penstock.spark.reader import gated
    from penstock.spark.session import configure
    from penstock.spark.source.workload import read_workload

__all__ = ["BatchSample", "Decision", "Slo", "attach", "attach_all", "configure", "gated", "read_workload"]

_LAZY = {
    "attach": "penstock.spark.attach",
    "attach_all": "penstock.spark.attach_all",
    "configure": "penstock.spark.session",
    "gated": "penstock.spark.reader",
    "read_workload": "penstock.spark.source.workload",
    "in_order": "penstock.spark.windows.api",
    "windows": "penstock.spark.windows.api",
    "kernel": "penstock.devices.kernel",
    "kernels": "penstock.kernels",
}


def __getattr__(name: str) -> Any:
    """Import what needs Spark when it is asked for."""
    if name not in _LAZY:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    from importlib import import_module

    from penstock.errors import MissingExtraError

    try:
        return getattr(import_module(_LAZY[name]), name)
    except ModuleNotFoundError as error:
        if error.name in ("pyspark", "pyarrow", "pandas"):
            raise MissingExtraError(error.name, "spark") from error
        raise
