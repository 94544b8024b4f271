"""The command `penstock`: parses and prints; everything else is done below."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from penstock.cli.compare import compare_command
from penstock.cli.demo import demo_command
from penstock.cli.doctor import doctor_command
from penstock.cli.fit_plant import fit_plant_command
from penstock.cli.inputs import inputs_command
from penstock.cli.list import list_command
from penstock.cli.outage import outage_command
from penstock.cli.replay import replay_command
from penstock.cli.report import report_command
from penstock.cli.reproduce import reproduce_command
from penstock.cli.run import run_command
from penstock.cli.simulate import simulate_command
from penstock.distribution import penstock_version
from penstock.errors import MissingExtraError, PenstockError

BAD_INPUT = 2
_EXTRAS = {
    "pyspark": "spark",
    "pyarrow": "spark",
    "pandas": "spark",
    "numba": "spark",
    "matplotlib": "report",
    "plotly": "report",
    "jinja2": "report",
}

app = typer.Typer(
    help="Keeps a Spark Structured Streaming query within its latency or throughput objective.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("run")(run_command)
app.command("simulate")(simulate_command)
app.command("fit-plant")(fit_plant_command)
app.command("compare")(compare_command)
app.command("demo")(demo_command)
app.command("report")(report_command)
app.command("reproduce")(reproduce_command)
app.command("replay")(replay_command)
app.command("outage")(outage_command)
app.command("inputs")(inputs_command)
app.command("list")(list_command)
app.command("doctor")(doctor_command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; what went wrong on purpose is one line on stderr and exit code 2."""
    try:
        app(args=None if arguments is None else list(arguments))
    except PenstockError as error:
        _refuse(error)
    except ModuleNotFoundError as error:
        if error.name not in _EXTRAS:
            raise
        _refuse(MissingExtraError(error.name, _EXTRAS[error.name]))


def _refuse(error: PenstockError) -> None:
    print("penstock:", " ".join(str(error).split()), file=sys.stderr)
    sys.exit(BAD_INPUT)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"penstock {penstock_version()}")
        raise typer.Exit


@app.callback()
def options(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Keeps a Spark Structured Streaming query within its latency or throughput objective."""


if __name__ == "__main__":
    main()
