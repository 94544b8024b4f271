"""The command `fit-plant`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli.terminal.tables import console_here, names_table
from penstock.errors import BadInputError
from penstock.units import format_count, format_duration


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
