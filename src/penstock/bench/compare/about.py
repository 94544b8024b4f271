"""Where, when and how a comparison was made."""

from __future__ import annotations

import datetime
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from penstock.bench.compare.spec import CompareSpec
from penstock.distribution import penstock_version


def about_runs(
    spec: CompareSpec, runs: int, command: str, seconds: float, budget_s: float | None = None
) -> dict[str, Any]:
    """About a comparison on Spark; `seconds` are those of all its runs, also of earlier starts."""
    return {
        "app": spec.app,
        "class": spec.size_class,
        "slo": spec.slo,
        "arrivals": spec.arrivals,
        "cost": spec.cost,
        "seed": spec.seed,
        "master": spec.master,
        "runs": runs,
        "command": command,
        "seconds": round(seconds, 1),
        "budget_s": budget_s,
        **about_here(),
    }


def about_here() -> dict[str, Any]:
    """Date, machine and versions."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.system()}",
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "spark": _version("pyspark"),
        "penstock": penstock_version(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
