"""The commands of virtual time: `simulate` and `fit-plant`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli.compare import parse_times, whole
from penstock.cli.run import parse_settings
from penstock.cli.terminal.tables import console_here, names_table, summary_table
from penstock.control.registry import DEFAULT
from penstock.errors import BadInputError
from penstock.units import format_count, format_duration, parse_count


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


def fit_plant_command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN_DIR...", help="Folders or journals of real runs.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The fitted plant.")] = Path("plant.json"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the fitted file, nothing else.")] = False,
) -> None:
    """Fit a plant to the journals of real runs: fixed cost, cost of items, noise and stalls."""
    from penstock.sim.fit import fit_plant, write_plant

    if out.suffix != ".json":
        raise BadInputError("out", str(out), "not a .json file", "write e.g. --out plant.json")
    fitted = fit_plant(runs)
    write_plant(fitted, out)
    if as_json:
        typer.echo(json.dumps(fitted, ensure_ascii=False))
        return
    console = console_here()
    console.print(names_table(_lines(fitted)))
    console.print(f"{out}; use it with: penstock simulate --plant {out}", markup=False, highlight=False, soft_wrap=True)


def _lines(fitted: dict[str, Any]) -> dict[str, str]:
    plant = fitted["plant"]
    return {
        "a batch": format_duration(float(f"{plant['a_batch_s']:.3g}")),
        "1,000 items": format_duration(float(f"{1e3 * plant['an_item_s']:.3g}")),
        "1M of cost": format_duration(float(f"{1e6 * plant['volume_s']:.3g}")),
        "cost of an item": f"{format_count(plant['low_cost'])} to {format_count(round(plant['high_cost']))}",
        "noise": f"{100 * plant['noise']:.1f}%, of which {100 * plant['memory']:.0f}% lasts to the next batch",
        "stalls": f"{100 * plant['stall_share']:.1f}% of batches, {100 * plant['stall']:.0f}% longer",
        "fitted to": f"{fitted['batches']} batches of {len(fitted['runs'])} runs; "
        f"explains {100 * fitted['explained']:.1f}% of the variance of log time",
    }
