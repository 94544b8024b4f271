"""The command `list`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from penstock.apps import registry as apps
from penstock.cli.terminal.tables import console_here, names_table
from penstock.control import registry as controllers
from penstock.errors import BadInputError
from penstock.patterns.registry import catalogue

_LISTS = {"controllers": controllers.describe, "patterns": catalogue, "apps": apps.describe}


def list_command(
    what: Annotated[str, typer.Argument(metavar="controllers|patterns|apps", help="What to name.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Name the controllers, patterns or applications, with a line on each."""
    if what not in _LISTS:
        raise BadInputError("list", what, "no such list", f"write one of {', '.join(_LISTS)}")
    lines = _LISTS[what]()
    if as_json:
        typer.echo(json.dumps(lines, ensure_ascii=False))
    else:
        console = console_here()
        console.print(names_table(lines))
        if what == "controllers":
            console.print("\nSettings (--set KEY=VALUE; 'live' is the default on a running query):")
            console.print(names_table({name: controllers.settings_of(name) for name in lines}))
            console.print("\nSettings of every controller:")
            console.print(names_table(controllers.COMMON))
