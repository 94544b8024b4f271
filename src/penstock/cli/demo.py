"""The command `demo`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from penstock.bench.demo import race
from penstock.bench.demo.hold import demonstrate_hold
from penstock.bench.demo.race_result import FIXED, NAMES, PENSTOCK, PLAIN, RaceResult, notes, seconds, sentence, to_json
from penstock.bench.run import RunSpec, Work
from penstock.cli.run import exit_as, print_paths, watch_on
from penstock.cli.terminal.tables import DIGEST, console_here, measures_table, summary_table
from penstock.cli.terminal.views import LineView
from penstock.cli.terminal.watch import INTERRUPTED, stdout_to_stderr, watch
from penstock.errors import BadInputError
from penstock.slo import Slo


def demo_command(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where journals, summaries, picture and report go.")] = Path(
        "demo"
    ),
    hold: Annotated[
        bool, typer.Option("--hold", help="Hold 1 s ± 10% instead, adaptive beside a fixed size; two minutes.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the contenders as one JSON object, nothing else.")
    ] = False,
) -> None:
    """Drain a backlog three ways: plain Spark, a careful fixed size, Penstock at `p95 <= 1 s`; takes three minutes."""
    if hold and as_json:
        raise BadInputError("json", "--hold", "only the three contenders have a JSON form", "leave out one of the two")
    try:
        if hold:
            _hold(out)
        elif as_json:
            _as_json(out)
        else:
            _race(out)
    except KeyboardInterrupt:
        # Between two runs, when nobody listens for it: nothing is under way, and nothing half-made was named.
        raise typer.Exit(INTERRUPTED) from None


def _race(out: Path) -> None:
    console = console_here()
    found = race.demonstrate(out, lambda spec, work: _shown(console, spec, work))
    if not found.stopped:
        console.print()
        console.print(sentence(found.results), style="bold", highlight=False)
        console.print()
        console.print(contenders_table(found.results))
        for note in notes(found.results):
            console.print(note, style="yellow", highlight=False)
        console.print()
        console.print(measures_table([found.summaries[name] for name in NAMES]))
        console.print("\nThe picture, and the report to open in a browser:")
        print_paths(console, [path for path in (found.picture, found.report) if path])
    exit_as(list(found.summaries.values()), found.stopped)


def _as_json(out: Path) -> None:
    console = Console(stderr=True)
    with stdout_to_stderr():
        found = race.demonstrate(out, lambda spec, work: _lines(console, spec, work))
    typer.echo(json.dumps(to_json(found.results), ensure_ascii=False))
    exit_as(list(found.summaries.values()), found.stopped)


def _hold(out: Path) -> None:
    console = console_here()
    found = demonstrate_hold(out, lambda spec, work: watch_on(console, spec, work))
    console.print()
    console.print(summary_table(found.summaries))
    print_paths(console, found.pictures)
    if found.report is not None:
        console.print("\nOpen the report in a browser:")
        print_paths(console, [found.report])
    exit_as(found.summaries, found.stopped)


def contenders_table(results: Mapping[str, RaceResult]) -> Table:
    """The three, one line each, in what people ask first."""
    bound_s = results[PLAIN].bound_s
    plain_s = results[PLAIN].drain_s
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("")
    for head in (f"batches within {seconds(bound_s)}", "longest batch", "drained in", "to plain", "output"):
        table.add_column(head, justify="right")
    for name in NAMES:
        result = results[name]
        ratio = f"{result.drain_s / plain_s:.2f}x" if result.drain_s and plain_s else "-"
        share = "" if result.within_percent is None else f" ({result.within_percent:.1f}%)"
        table.add_row(
            NAMES[name],
            f"{result.within:,} of {result.batches:,}{share}",
            seconds(result.longest_s),
            result.drained,
            ratio,
            DIGEST[result.output_ok],
        )
    return table


def _shown(console: Console, spec: RunSpec, work: Work) -> dict[str, Any]:
    console.print(_heading(spec), style="bold", highlight=False)
    return watch_on(console, spec, work)


def _lines(console: Console, spec: RunSpec, work: Work) -> dict[str, Any]:
    console.print(_heading(spec), highlight=False)
    return watch(work, LineView(Slo.parse(spec.slo), console))


def _heading(spec: RunSpec) -> str:
    """Who comes next.

    >>> _heading(race.contender(race.SPEC, "fixed", 1712.0))
    'fixed size: 1,712 items a batch, chosen for the heaviest items'
    """
    name = spec.label or PENSTOCK
    how = {
        PLAIN: "no limit, so one batch of the whole backlog; no result until it ends",
        FIXED: f"{spec.size or 0:,.0f} items a batch, chosen for the heaviest items",
        PENSTOCK: f"told {spec.slo}",
    }
    return f"{NAMES[name]}: {how[name]}"
