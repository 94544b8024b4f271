"""The command `list`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from penstock.apps import registry as apps
from penstock.cli.terminal.tables import console_here, names_table
from penstock.control import registry as controllers
from penstock.devices.registry import why_not_here
from penstock.errors import BadInputError
from penstock.patterns.registry import catalogue
from penstock.units import format_duration


def _devices(measured: bool = False) -> dict[str, str]:
    return {
        name: f"not here: {why_not}" if why_not else f"here{_cost_of(name) if measured else ''}"
        for name, why_not in why_not_here().items()
    }


def _cost_of(device: str) -> str:
    """What a regression costs there, in a line."""
    from penstock import kernels
    from penstock.devices.measure import measure

    found = measure(kernels.linear_regression, ("float64", "float64"), (), device)
    copied = f", {format_duration(found.transfer_s_per_million_rows)} to copy a million rows"
    costs = f"a call {format_duration(found.overhead_s)}, then {found.rows_per_s / 1e6:.1f} million rows/s"
    return f"; a regression: {costs}{copied if found.transfer_s_per_million_rows else ''}"


_LISTS = {"controllers": controllers.describe, "patterns": catalogue, "apps": apps.describe, "devices": _devices}


def list_command(
    what: Annotated[str, typer.Argument(metavar="controllers|patterns|apps|devices", help="What to name.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    measured: Annotated[bool, typer.Option("--measure", help="Of devices: what a regression costs on each.")] = False,
) -> None:
    """Name the controllers, patterns, applications or devices, with a line on each."""
    if what not in _LISTS:
        raise BadInputError("list", what, "no such list", f"write one of {', '.join(_LISTS)}")
    lines = _devices(measured) if what == "devices" else _LISTS[what]()
    if as_json and what == "devices":
        found = why_not_here().items()
        typer.echo(json.dumps([{"name": name, "present": not why, "why_not": why} for name, why in found]))
    elif as_json:
        typer.echo(json.dumps(lines, ensure_ascii=False))
    else:
        console = console_here()
        console.print(names_table(lines))
        if what == "controllers":
            console.print("\nSettings (--set KEY=VALUE; 'live' is the default on a running query):")
            console.print(names_table({name: controllers.settings_of(name) for name in lines}))
            console.print("\nSettings of every controller:")
            console.print(names_table(controllers.COMMON))
