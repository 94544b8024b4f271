"""The applications that are installed: entry points of the group `penstock.apps`."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from typing import cast

from penstock.apps.protocol import App, ReplayingApp
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

    >>> create("military").name, create("lr1s").stateful
    ('military', True)
    """
    for entry in entry_points(group=GROUP, name=name):
        return cast(App, entry.load()())
    raise BadInputError("app", name, "no such application is installed", f"choose one of: {', '.join(names())}")


def replaying(app: App, data: Path) -> ReplayingApp:
    """An application over the items of a file; refused where it only makes items of its own."""
    if not hasattr(app, "replaying"):
        raise BadInputError("data", str(data), f"{app.name} makes its own items and replays no file", "leave it out")
    return cast(ReplayingApp, app).replaying(data)


def describe() -> dict[str, str]:
    """One line about each installed application."""
    return {name: create(name).description for name in names()}
