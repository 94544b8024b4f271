"""The command `outage`."""

from __future__ import annotations

import json
import shlex
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from penstock.bench.outage.drain import PLAIN, OutageSpec, outage
from penstock.cli.run import WRONG_OUTPUT
from penstock.cli.terminal.tables import console_here
from penstock.cli.terminal.watch import stdout_to_stderr
from penstock.control.registry import DEFAULT
from penstock.reproduce.page import replace_section
from penstock.reproduce.results.outage import outage_section
from penstock.units import parse_count, parse_duration_s


def outage_command(
    records: Annotated[str, typer.Option(metavar="N", help="How many records wait when the query comes back.")] = "1M",
    arrivals: Annotated[
        str, typer.Option(help="What goes on arriving meanwhile, in records a second.")
    ] = "constant:rate=500/s",
    slo: Annotated[str, typer.Option(help="The objective of a batch.")] = "5 s ± 10%",
    controllers: Annotated[str, typer.Option(help="Who drains; plain is Spark alone.")] = f"plain,{DEFAULT}",
    rounds: Annotated[int, typer.Option(help="How often each of them does.")] = 3,
    after: Annotated[str, typer.Option(metavar="TIME", help="How long to go on once it has caught up.")] = "15s",
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Keep the journals here.")] = None,
    results: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a section into this page.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, nothing else.")] = False,
) -> None:
    """A backlog on a real Kafka broker, drained by plain Spark and by Penstock: first batch, time, latency, lag."""
    spec = OutageSpec(
        records=round(parse_count(records, "records")),
        arrivals=arrivals,
        slo=slo,
        contenders=tuple(name.strip() for name in controllers.split(",") if name.strip()) or (PLAIN,),
        rounds=rounds,
        after_s=parse_duration_s(after, "after"),
    )
    console = console_here()
    with tempfile.TemporaryDirectory(prefix="penstock-outage-") as folder, stdout_to_stderr():
        found = outage(spec, out or Path(folder), lambda line: typer.echo(f"penstock: {line}", err=True))
    if results is not None:
        name = f"outage-{spec.slo}" if spec.records else f"arrivals-{arrivals.partition(':')[0]}"
        replace_section(results, name, outage_section(found, _command(spec, controllers, after)))
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False))
    else:
        console.print(_table(found))
    if not all(row["counted_once"] for row in found["contenders"]):
        raise typer.Exit(WRONG_OUTPUT)


def _command(spec: OutageSpec, controllers: str, after: str) -> str:
    """What to type to get the same again."""
    options = {"records": spec.records, "arrivals": spec.arrivals, "slo": spec.slo, "controllers": controllers}
    options |= {"rounds": spec.rounds, "after": after}
    return shlex.join(["penstock", "outage", *(word for k, v in options.items() for word in (f"--{k}", str(v)))])


def _table(found: dict[str, Any]) -> Table:
    records, arrivals = found["spec"]["records"], found["spec"]["arrivals"]
    what = f"{records:,} records after an outage" if records else f"arrivals {arrivals}"
    title = f"{what}, {found['spec']['slo']}"
    table = Table(title=title, title_justify="left")
    heads: tuple[str, ...] = (
        "",
        "first batch",
        "largest",
        "drain",
        "to plain",
        "caught up",
        "mean batch",
        "longest batch",
    )
    heads += ("mean e2e", "longest e2e", "I-SLH", "once")
    for head in heads:
        table.add_column(head, justify="left" if head == "" else "right")
    for row in found["contenders"]:
        table.add_row(
            row["contender"],
            f"{row['first_batch']:,}",
            f"{row['largest_batch']:,}",
            _seconds(row["drain_s"]),
            "–" if row["drain_ratio"] is None else f"{row['drain_ratio']:.2f}",
            _seconds(row["caught_up_s"]),
            _seconds(row["processing_mean_s"]),
            _seconds(row["processing_max_s"]),
            _seconds(row["end_to_end_mean_s"]),
            _seconds(row["lag_max_s"]),
            f"{row['i_slh']:.0f}%",
            "yes" if row["counted_once"] else "NO",
        )
    return table


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f} s"
