"""The command `replay`: another controller on the batches of a run that is over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.bench.replay import UNKNOWN, Replay, ReplayedStep, replay
from penstock.cli.run import parse_settings
from penstock.cli.terminal.tables import console_here
from penstock.control.registry import parse_spec
from penstock.control.sample_value import measure_name
from penstock.errors import BadInputError
from penstock.size import format_size
from penstock.slo import Slo

_ENDS = 20


def replay_command(
    run: Annotated[Path, typer.Argument(metavar="RUN_DIR", help="The folder of a run, or its journal.")],
    controller: Annotated[str, typer.Option(metavar="SPEC", help="Who decides now: a name, or pmbaf:step=10%.")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the controller; repeatable.")
    ] = None,
    show_all: Annotated[bool, typer.Option("--all", help="Every batch, not only the first and last 20.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what another controller would have decided on each batch of a run; no Spark is needed."""
    name, given = parse_spec(controller)
    for key, value in parse_settings(settings or []).items():
        if key in given:
            raise BadInputError("set", f"{key}={value}", f"{key} is given twice", "give it once")
        given[key] = value
    found = replay(run, name, given)
    if as_json:
        typer.echo(json.dumps(found.to_json(), ensure_ascii=False))
    else:
        _show(console_here(), found, show_all)


def _show(console: Console, found: Replay, show_all: bool) -> None:
    console.print(steps_table(found, show_all))
    lines = [
        f"Same direction in {found.agreement:.1%} of {len(found.steps)} steps; "
        f"median size x {found.median_ratio:.3g} of what was decided then.",
        f"What this shows: {found.known}.",
        f"What it cannot show: {UNKNOWN}.",
        *(f"Note: {note}." for note in found.notes),
    ]
    console.print()
    for line in lines:
        console.print(line, markup=False, highlight=False)


def steps_table(found: Replay, show_all: bool) -> Table:
    """One line a batch; of a long run the first and the last, unless all are wanted."""
    title = f"{found.controller} on a run at {found.slo}, first size {format_size(found.first_size)}"
    # Titles and reasons are text from elsewhere: never markup.
    table = Table(title=Text(title), title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("batch", measure_name(found.slo), "size", "decided then", "would decide", "difference"):
        table.add_column(heading, justify="right")
    table.add_column("reason", no_wrap=True, overflow="ellipsis")
    steps = list(found.steps)
    hidden = 0 if show_all else max(len(steps) - 2 * _ENDS, 0)
    for index, step in enumerate(steps):
        if hidden and index == _ENDS:
            table.add_row(*[""] * 6, Text(f"... {hidden} batches more (--all shows them)", style="dim"))
        if not hidden or index < _ENDS or index >= len(steps) - _ENDS:
            table.add_row(*_cells(step, found.slo), Text(step.reason))
    return table


def _cells(step: ReplayedStep, slo: Slo) -> list[str]:
    sizes = [format_size(size) for size in (step.size, step.taken, step.would)]
    return [
        str(step.batch_id),
        slo.format_value(float(f"{step.value:.3g}")),
        *sizes,
        f"{step.would / step.taken - 1:+.1%}",
    ]
