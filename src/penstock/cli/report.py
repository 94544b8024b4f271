"""The command `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.report.write import write_report


def report_command(
    path: Annotated[
        Path, typer.Argument(metavar="RUN_DIR|COMPARISON", help="The folder of a run or of a comparison, or its file.")
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the page goes; report.html in that folder by default.")
    ] = None,
) -> None:
    """Make one HTML page of a run or a comparison, which opens without a network."""
    typer.echo(str(write_report(path, out)))
