"""The command `penstock`: parses and prints; everything else is done below."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from penstock.apps import registry as apps
from penstock.bench.doctor.machine import examine, healthy
from penstock.cli.compare import compare_command
from penstock.cli.demo import demo_command
from penstock.cli.doctor import kafka_checks
from penstock.cli.outage import outage_command
from penstock.cli.replay import replay_command
from penstock.cli.report import report_command
from penstock.cli.reproduce import reproduce_command
from penstock.cli.run import run_command
from penstock.cli.simulate import fit_plant_command, simulate_command
from penstock.cli.terminal.tables import checks_table, console_here, names_table
from penstock.control import registry as controllers
from penstock.distribution import penstock_version
from penstock.errors import BadInputError, MissingExtraError, PenstockError
from penstock.patterns.registry import catalogue

BAD_INPUT = 2
UNHEALTHY = 1
_EXTRAS = {
    "pyspark": "spark",
    "pyarrow": "spark",
    "pandas": "spark",
    "numba": "spark",
    "matplotlib": "report",
    "plotly": "report",
}
_LISTS = {"controllers": controllers.describe, "patterns": catalogue, "apps": apps.describe}
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

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


@app.command("list")
def list_command(
    what: Annotated[str, typer.Argument(metavar="controllers|patterns|apps", help="What to name.")],
    as_json: AsJson = False,
) -> None:
    """Name the controllers, patterns or applications, with a line on each."""
    if what not in _LISTS:
        raise BadInputError("list", what, "no such list", f"write one of {', '.join(_LISTS)}")
    lines = _LISTS[what]()
    if as_json:
        typer.echo(json.dumps(lines, ensure_ascii=False))
    else:
        console = console_here()
        console.print(names_table(lines))
        if what == "controllers":
            console.print("\nSettings (--set KEY=VALUE; 'live' is the default on a running query):")
            console.print(names_table({name: controllers.settings_of(name) for name in lines}))
            console.print("\nSettings of every controller:")
            console.print(names_table(controllers.COMMON))


@app.command("doctor")
def doctor_command(
    as_json: AsJson = False,
    kafka: Annotated[
        bool, typer.Option("--kafka", help="Also try Kafka: a broker on loopback, a topic, a gated query.")
    ] = False,
    bootstrap: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Also look at this Kafka broker of yours.")
    ] = None,
    topic: Annotated[str | None, typer.Option(help="A topic of that broker.")] = None,
) -> None:
    """Look for Python, Java, Spark, packages and a GPU, and say what to do about what is missing."""
    if topic is not None and bootstrap is None:
        raise BadInputError("topic", topic, "of which broker?", "add --bootstrap HOST:PORT")
    checks = examine()
    if kafka or bootstrap is not None:
        checks += kafka_checks(kafka, bootstrap, topic)
    if as_json:
        typer.echo(json.dumps({"ok": healthy(checks), "checks": [asdict(check) for check in checks]}))
    else:
        console_here().print(checks_table(checks))
    if not healthy(checks):
        raise typer.Exit(UNHEALTHY)
