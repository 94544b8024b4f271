"""The applications that are installed: entry points of the group `penstock.apps`."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import cast

from penstock.apps.protocol import App
from penstock.errors import BadInputError

GROUP = "penstock.apps"


def names() -> list[str]:
    """The names of the installed applications.

    >>> "military" in names()
    True
    """
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def create(name: str) -> App:
    """An application by its name.

    >>> create("military").name
    'military'
    """
    for entry in entry_points(group=GROUP, name=name):
        return cast(App, entry.load()())
    raise BadInputError("app", name, "no such application is installed", f"choose one of: {', '.join(names())}")


def describe() -> dict[str, str]:
    """One line about each installed application."""
    return {name: create(name).description for name in names()}
