"""The name to install by: the package index knows another project as `penstock`, so only the import is called that."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

DISTRIBUTION = "penstock-spark"


def install_command(extra: str) -> str:
    """What to type to get an optional part.

    >>> install_command("spark")
    "pip install 'penstock-spark[spark]'"
    """
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def penstock_version() -> str:
    """The version that runs, or "unknown" where it was not installed but only put on the path."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"
