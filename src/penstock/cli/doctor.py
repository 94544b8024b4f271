"""The command `doctor`."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from penstock.bench.doctor.kafka_trial import trial
from penstock.bench.doctor.kafka_visit import visit
from penstock.bench.doctor.machine import Check, examine, healthy
from penstock.cli.terminal.tables import checks_table, console_here
from penstock.cli.terminal.watch import stderr_kept, stdout_to_stderr
from penstock.errors import BadInputError

UNHEALTHY = 1


def doctor_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
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
        checks += _kafka_checks(kafka, bootstrap, topic)
    if as_json:
        typer.echo(json.dumps({"ok": healthy(checks), "checks": [asdict(check) for check in checks]}))
    else:
        console_here().print(checks_table(checks))
    if not healthy(checks):
        raise typer.Exit(UNHEALTHY)


def _kafka_checks(here: bool, bootstrap: str | None, topic: str | None) -> list[Check]:
    """Kafka on this machine, and a broker of the user's; what is being done goes to stderr, line by line."""
    with (
        os.fdopen(os.dup(2), "w", buffering=1) as terminal,
        tempfile.TemporaryDirectory(prefix="penstock-doctor-") as folder,
        stdout_to_stderr(),
        stderr_kept() as send,
    ):

        def say(line: str) -> None:
            print("penstock:", line, file=terminal)

        # What Spark and Java have to say is for nobody: a check that fails says why.
        send(Path(folder) / "stderr.log")
        mine = trial(say) if here else ()
        yours = visit(bootstrap, topic, say) if bootstrap is not None else ()
        return list(chain(mine, yours))
