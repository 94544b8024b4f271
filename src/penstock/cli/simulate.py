"""The command `simulate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.compare import parse_times, whole
from penstock.cli.run import parse_settings
from penstock.cli.terminal.tables import console_here, summary_table
from penstock.control.registry import DEFAULT
from penstock.units import parse_count


def simulate_command(
    plant: Annotated[str, typer.Option(help="thesis, spark, or a file from `penstock fit-plant`.")] = "thesis",
    controller: Annotated[
        str, typer.Option(help="Who decides; also oracle, oracle-causal and oracle-reported.")
    ] = DEFAULT,
    slo: Annotated[
        str | None, typer.Option(help="The objective. Default: '3 ms ± 5%' on thesis, '1 s ± 10%' elsewhere.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the controller; repeatable.")
    ] = None,
    items: Annotated[str | None, typer.Option(metavar="N", help="How many items, e.g. 1M.")] = None,
    seed: Annotated[int, typer.Option(help="Makes other noise.")] = 1,
    delay: Annotated[int, typer.Option(help="How many batches later a latency is known.")] = 0,
    noise: Annotated[str, typer.Option(metavar="2x", help="So many times the plant's noise.")] = "1x",
    arrivals: Annotated[
        str, typer.Option(help="saturated, or a pattern of items a second: 'wave:min=1k,max=5k,period=30s'.")
    ] = "saturated",
    cost: Annotated[str, typer.Option(help="thesis, or a pattern over the item index.")] = "thesis",
    size: Annotated[str | None, typer.Option(metavar="N", help="The first batch size, e.g. 2k.")] = None,
    admit: Annotated[str, typer.Option(help="What a size counts: rows, or the declared cost of items.")] = "rows",
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Keep journal and summary here.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as one JSON object, nothing else.")
    ] = False,
) -> None:
    """Run a controller against a modelled machine in virtual time; the same seed gives the same run."""
    from penstock.bench.simulate import simulate_run
    from penstock.sim.run import DEFAULT_SLO, LIVE_SLO, SimSpec

    spec = SimSpec(
        plant=plant,
        controller=controller,
        settings=parse_settings(settings or []),
        slo=slo or DEFAULT_SLO.get(plant, LIVE_SLO),
        items=None if items is None else whole("items", items),
        seed=seed,
        delay=delay,
        noise=parse_times(noise),
        arrivals=arrivals,
        cost=cost,
        size=None if size is None else parse_count(size, "size"),
        admit=admit,
    )
    if as_json:
        typer.echo(json.dumps(simulate_run(spec, out), ensure_ascii=False))
        return
    console = console_here()
    with console.status("simulating"):
        summary = simulate_run(spec, out)
    console.print(summary_table([summary]))
    if out is not None:
        console.print(f"{out}; see it with: penstock report {out}", markup=False, highlight=False, soft_wrap=True)
