"""The command `inputs`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from penstock.apps import registry as apps
from penstock.apps.protocol import PreparingApp
from penstock.cli.terminal.bar import Bar
from penstock.errors import BadInputError


def inputs_command(
    app: Annotated[str, typer.Argument(help="An application of the suite: see penstock list apps.")],
    size_class: Annotated[str, typer.Argument(metavar="CLASS", help="test, small, medium, large or huge.")] = "test",
    seed: Annotated[int, typer.Option(help="Makes another input of the same kind.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Make what the items of an application are made of, and keep it for later runs."""
    found = apps.create(app)
    if size_class not in found.classes:
        raise BadInputError("class", size_class, "no such size class", f"choose one of: {', '.join(found.classes)}")
    if not isinstance(found, PreparingApp):
        raise BadInputError("app", app, "it needs no input", "choose an application of the suite")
    with Bar() as bar:
        path = found.make_input(seed, bar.runs)
    items = found.classes[size_class]
    if as_json:
        size = path.stat().st_size if path is not None else 0
        typer.echo(
            json.dumps({"app": app, "class": size_class, "seed": seed, "path": path and str(path), "bytes": size})
        )
    elif path is None:
        typer.echo(f"{app} makes its items as it needs them ({items}); nothing is kept")
    else:
        typer.echo(f"{path}, {path.stat().st_size / 1e6:.1f} MB; a run of class {size_class} has {items}")
