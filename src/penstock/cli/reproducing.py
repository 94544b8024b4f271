"""The command `reproduce`: a published evaluation, run again in virtual time."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table as RichTable

from penstock.bench.results_page import replace_section
from penstock.bench.thesis.finding import NOT, REPRODUCED, UNKNOWN
from penstock.bench.thesis.grid import Grid, quick_grid
from penstock.bench.thesis.page import results_section, write_page
from penstock.bench.thesis.reproduce import Reproduction, reproduce
from penstock.bench.thesis.tables import Table
from penstock.cli.bar import Bar
from penstock.cli.tables import console_here
from penstock.cli.watch import INTERRUPTED
from penstock.errors import BadInputError

PAPERS = ("thesis",)
_COLOURS = {REPRODUCED: "green", NOT: "red", UNKNOWN: "yellow"}


def reproduce_command(
    paper: Annotated[str, typer.Argument(metavar="thesis", help="Which published evaluation.")],
    runs: Annotated[int | None, typer.Option(help="Runs of each configuration. Default: 10, with --quick 2.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A thinned grid, in about a minute.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where results are kept; a stopped run goes on from them.")
    ] = None,
    page: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the page of the documentation.")] = None,
    results: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also put the tables into this page, between its markers."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, nothing else.")] = False,
) -> None:
    """Run a published evaluation again in virtual time: its tables, figures and findings, theirs beside ours."""
    if paper not in PAPERS:
        raise BadInputError("reproduce", paper, "no such evaluation", f"write one of {', '.join(PAPERS)}")
    if runs is not None and runs < 1:
        raise BadInputError("runs", runs, "nothing to run", "give 1 or more, e.g. 10")
    for option, file in (("page", page), ("results", results)):
        if file is not None and quick:
            raise BadInputError(option, str(file), "the page is about the whole grid", "leave out --quick")
    grid = quick_grid() if quick else Grid()
    grid = grid if runs is None else replace(grid, runs=runs)
    folder = out or Path("runs") / ("reproduce-thesis-quick" if quick else "reproduce-thesis")
    try:
        with Bar() as bar:
            found = reproduce(grid, folder, bar.runs, bar.figure)
    except KeyboardInterrupt:
        print(f"stopped; what is finished is in {folder}, the same command goes on from there", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    if page is not None:
        write_page(found, page)
    if results is not None:
        replace_section(results, "thesis", results_section(found))
    if as_json:
        typer.echo(json.dumps({**found.to_json(), "quick": quick}, ensure_ascii=False))
    else:
        _show(found, folder, quick, [file for file in (page, results) if file is not None])


def _show(found: Reproduction, folder: Path, quick: bool, written: Sequence[Path]) -> None:
    console = console_here()
    if quick:
        runs = found.scores.runs
        console.print(f"A thinned grid with {runs} runs each: for a first look, not for conclusions.\n", style="yellow")
    for table in found.tables:
        console.print(_table(table))
        console.print()
    for finding, outcome in found.found:
        colour = _COLOURS[outcome.state]
        console.print(f"[{colour}]{outcome.state:<14}[/] [bold]{escape(finding.claim)}[/] {escape(outcome.sentence)}")
    counts = Counter(outcome.state for _, outcome in found.found)
    console.print("\n" + ", ".join(f"{counts[state]} {state}" for state in _COLOURS), highlight=False)
    kept = found.cells - found.computed
    said = f"{found.cells:,} runs ({found.computed:,} computed now, {kept:,} kept from before) in {found.seconds:.0f} s"
    console.print(f"{said}; all of it in {folder}", markup=False, highlight=False, soft_wrap=True)
    for file in written:
        console.print(str(file), markup=False, highlight=False, soft_wrap=True)


def _table(table: Table) -> RichTable:
    shown = RichTable(title=f"Table {table.name}: {table.title}", title_justify="left", box=None, pad_edge=False)
    for name in table.head:
        shown.add_column(name, justify="left" if name in ("threshold", "algorithm", "metric") else "right")
    for row in table.texts():
        shown.add_row(*row)
    return shown
