"""The command `reproduce`: a published evaluation, run again in virtual time or on Spark."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from penstock.bench.run import RunSpec, Work
from penstock.cli.run import WRONG_OUTPUT, watch_on
from penstock.cli.terminal.bar import Bar
from penstock.cli.terminal.tables import console_here
from penstock.cli.terminal.views import SilentView
from penstock.cli.terminal.watch import INTERRUPTED, stdout_to_stderr, watch
from penstock.errors import BadInputError
from penstock.reproduce.finding import NOT, REPRODUCED, UNKNOWN, UNTESTABLE, Outcome
from penstock.reproduce.lmstream import page as lmstream_page
from penstock.reproduce.lmstream import reproduce as lmstream
from penstock.reproduce.lmstream.paper_runs import PaperRuns, quick_runs
from penstock.reproduce.lmstream.tables import beaten
from penstock.reproduce.page import replace_section
from penstock.reproduce.table import Table
from penstock.reproduce.thesis.grid import Grid, quick_grid
from penstock.reproduce.thesis.page import results_section, write_page
from penstock.reproduce.thesis.reproduce import Reproduction, reproduce

PAPERS = ("thesis", "lmstream", "gasser")
_COLOURS = {REPRODUCED: "green", NOT: "red", UNKNOWN: "yellow", UNTESTABLE: "blue"}
_NAMES = ("threshold", "algorithm", "metric", "query", "run", "percent of the time", "case", "goal", "where")


def reproduce_command(
    paper: Annotated[str, typer.Argument(metavar="thesis|lmstream|gasser", help="Which published evaluation.")],
    runs: Annotated[
        int | None, typer.Option(help="thesis: runs of each configuration. Default: 10, with --quick 2.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A first look: thesis in about a minute, the others in some minutes.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where results are kept; a stopped run goes on from them.")
    ] = None,
    page: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the page of the documentation.")] = None,
    results: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also put the tables into this page, between its markers."),
    ] = None,
    flink: Annotated[
        bool, typer.Option("--flink", help="gasser: also PyFlink, in an environment of its own that is made once.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, nothing else.")] = False,
) -> None:
    """Run a published evaluation again: its tables, figures and findings, theirs beside ours.

    The thesis in virtual time; LMStream on Spark, in about an hour; Gasser on Spark, in about two.
    """
    if paper not in PAPERS:
        raise BadInputError("reproduce", paper, "no such evaluation", f"write one of {', '.join(PAPERS)}")
    if runs is not None and paper != "thesis":
        raise BadInputError("runs", runs, f"{paper} is run once", "leave it out")
    if runs is not None and runs < 1:
        raise BadInputError("runs", runs, "nothing to run", "give 1 or more, e.g. 10")
    for option, file in (("page", page), ("results", results)):
        if file is not None and quick:
            raise BadInputError(option, str(file), "the page is about the whole grid", "leave out --quick")
    folder = out or Path("runs") / f"reproduce-{paper}{'-quick' if quick else ''}"
    if paper == "gasser":
        if results is not None:
            raise BadInputError("results", str(results), "gasser has a page of its own", "write --page docs/gasser.md")
        _gasser(folder, quick, flink, page, as_json)
    elif paper == "lmstream":
        _lmstream(folder, quick, page, results, as_json)
    else:
        _thesis(folder, runs, quick, page, results, as_json)


def _thesis(
    folder: Path, runs: int | None, quick: bool, page: Path | None, results: Path | None, as_json: bool
) -> None:
    grid = quick_grid() if quick else Grid()
    grid = grid if runs is None else replace(grid, runs=runs)
    try:
        with Bar() as bar:
            found = reproduce(grid, folder, bar.runs, bar.figure)
    except KeyboardInterrupt:
        raise _stopped(folder) from None
    if page is not None:
        write_page(found, page)
    if results is not None:
        replace_section(results, "thesis", results_section(found))
    if as_json:
        typer.echo(json.dumps({**found.to_json(), "quick": quick}, ensure_ascii=False))
        return
    console = console_here()
    if quick:
        _warn(console, f"A thinned grid with {found.scores.runs} runs each: for a first look, not for conclusions.")
    _show(console, found.tables, [(finding.claim, outcome) for finding, outcome in found.found])
    _say(console, f"{_count_thesis(found)}; all of it in {folder}")
    _name_written(console, page, results)


def _lmstream(folder: Path, quick: bool, page: Path | None, results: Path | None, as_json: bool) -> None:
    plan = quick_runs() if quick else PaperRuns()
    console = console_here()

    def shown(spec: RunSpec, work: Work) -> dict[str, Any]:
        return watch(work, SilentView()) if as_json else watch_on(console, spec, work)

    def say(text: str) -> None:
        if as_json:
            print(text, file=sys.stderr, flush=True)
        else:
            _say(console, text)

    if as_json:
        with stdout_to_stderr():
            found = lmstream.reproduce(plan, folder, shown, say)
    else:
        found = lmstream.reproduce(plan, folder, shown, say)
    if found is None:
        raise _stopped(folder)
    if found.good and page is not None:
        lmstream_page.write_page(found, page)
    if found.good and results is not None:
        replace_section(results, lmstream_page.SECTION, lmstream_page.results_section(found))
    if as_json:
        typer.echo(json.dumps({**found.to_json(), "quick": quick}, ensure_ascii=False))
    else:
        console.print()
        if quick:
            short = f"A short stream at {plan.speed:g} times its speed, the first run on a cold Spark"
            _warn(console, f"{short}: for a first look, not for conclusions.")
        _show(console, found.tables, [(finding.claim, outcome) for finding, outcome in found.found])
        if said := beaten(found.scores):
            _say(console, said)
        kept = len(found.ran.summaries) - found.ran.computed
        _say(console, f"{len(found.ran.summaries)} runs ({kept} kept from before) in {found.seconds:.0f} s; {folder}")
        if found.good:
            _name_written(console, page, results)
    for failure in found.ran.failures:
        print(f"failed: {failure}", file=sys.stderr)
    if found.ran.wrong:
        print(f"WRONG output: {', '.join(found.ran.wrong)}; these runs do not count", file=sys.stderr)
    if not found.good:
        print("nothing was written into any page", file=sys.stderr)
        raise typer.Exit(WRONG_OUTPUT)


def _gasser(folder: Path, quick: bool, flink: bool, page: Path | None, as_json: bool) -> None:
    # Here, since it needs Spark and Numba, which the other papers may do without.
    from penstock.bench.measures.windows.cases import FULL, QUICK
    from penstock.reproduce.gasser import page as gasser_page
    from penstock.reproduce.gasser.reproduce import reproduce as reproduce_gasser

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    try:
        with stdout_to_stderr():
            found = reproduce_gasser(QUICK if quick else FULL, folder, say, flink=flink)
    except KeyboardInterrupt:
        raise _stopped(folder) from None
    if page is not None:
        gasser_page.write_page(found, page)
    if as_json:
        typer.echo(json.dumps({**found.to_json(), "quick": quick}, ensure_ascii=False))
        return
    console = console_here()
    if quick:
        _warn(
            console, "A few short measurements on a Spark that is hardly warm: for a first look, not for conclusions."
        )
    _show(console, found.tables, [(finding.claim, outcome) for finding, outcome in found.found])
    _say(console, f"\n{found.verdict}")
    _say(console, f"{found.measurements} measurements in {found.seconds:.0f} s; {folder}")
    _name_written(console, page)


def _stopped(folder: Path) -> typer.Exit:
    print(f"stopped; what is finished is in {folder}, the same command goes on from there", file=sys.stderr)
    return typer.Exit(INTERRUPTED)


def _show(console: Console, tables: Sequence[Table], found: Sequence[tuple[str, Outcome]]) -> None:
    for table in tables:
        console.print(_table(table))
        console.print()
    for claim, outcome in found:
        colour = _COLOURS[outcome.state]
        console.print(f"[{colour}]{outcome.state:<14}[/] [bold]{escape(claim)}[/] {escape(outcome.sentence)}")
    counts = Counter(outcome.state for _, outcome in found)
    _say(console, "\n" + ", ".join(f"{counts[state]} {state}" for state in _COLOURS))


def _count_thesis(found: Reproduction) -> str:
    kept = found.cells - found.computed
    said = f"{found.cells:,} runs ({found.computed:,} computed now, {kept:,} kept from before)"
    return f"{said} in {found.seconds:.0f} s"


def _warn(console: Console, text: str) -> None:
    console.print(f"{text}\n", style="yellow")


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _name_written(console: Console, *files: Path | None) -> None:
    for file in files:
        if file is not None:
            _say(console, str(file))


def _table(table: Table) -> RichTable:
    # The thesis numbers its tables, and their titles do not.
    title = f"Table {table.name}: {table.title}" if table.name.startswith("5.") else table.title
    shown = RichTable(title=title, title_justify="left", box=None, pad_edge=False)
    for name in table.head:
        shown.add_column(name, justify="left" if name in _NAMES else "right")
    for row in table.texts():
        shown.add_row(*row)
    return shown
