"""The applications that are installed: entry points of the group `penstock.apps`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import cast

from penstock.apps.protocol import App, ConfigurableApp, ReplayingApp
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


def configured(app: App, size_class: str, options: Mapping[str, str]) -> App:
    """An application with these options; refused where it has no such option.

    >>> configured(create("military"), "test", {"window": "10k/25"})
    Traceback (most recent call last):
        ...
    penstock.errors.BadInputError: window = '10k/25': military has no such option; leave it out
    """
    known: Mapping[str, str] = getattr(app, "options", {})
    for name, value in options.items():
        if name not in known:
            remedy = f"its options are {', '.join(known)}" if known else "leave it out"
            raise BadInputError(name, value, f"{app.name} has no such option", remedy)
    return cast(ConfigurableApp, app).configured(size_class, options) if known else app


def replaying(app: App, data: Path) -> ReplayingApp:
    """An application over the items of a file; refused where it only makes items of its own."""
    if not hasattr(app, "replaying"):
        raise BadInputError("data", str(data), f"{app.name} makes its own items and replays no file", "leave it out")
    return cast(ReplayingApp, app).replaying(data)


def describe() -> dict[str, str]:
    """One line about each installed application."""
    return {name: create(name).description for name in names()}
