"""The command `run`."""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from penstock.bench.run import RunSpec, RunState, Tick, Work, prepare, run
from penstock.cli.terminal.tables import console_here, summary_table
from penstock.cli.terminal.views import SilentView, view_of
from penstock.cli.terminal.watch import INTERRUPTED, stderr_kept, stdout_to_stderr, watch
from penstock.control.registry import DEFAULT
from penstock.errors import BadInputError
from penstock.journal import read
from penstock.report import picture
from penstock.slo import Slo
from penstock.units import parse_count

WRONG_OUTPUT = 1
_OPTIONS = ("size", "slo")


def run_command(
    app: Annotated[str, typer.Argument(help="The application; `penstock list apps` names them.")],
    size_class: Annotated[str, typer.Option("--class", help="How much work: test, small, medium or large.")] = "small",
    slo: Annotated[
        str, typer.Option(help="The objective: '1 s ± 10%', '<= 2 s', 'p99 <= 2 s', '>= 50k/s', '1 s & >= 20k/s'.")
    ] = "1 s ± 10%",
    controller: Annotated[str, typer.Option(help="Who decides; `penstock list controllers` names them.")] = DEFAULT,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the controller; repeatable.")
    ] = None,
    arrivals: Annotated[
        str | None,
        typer.Option(
            help="saturated, or a pattern of items a second: 'wave:min=1k,max=5k,period=30s'; the application's own "
            "unless given."
        ),
    ] = None,
    cost: Annotated[str, typer.Option(help="thesis, or a pattern over the item index.")] = "thesis",
    seed: Annotated[int, typer.Option(help="Makes other items of the same kind.")] = 1,
    window: Annotated[
        str | None,
        typer.Option(metavar="LENGTH/SLIDE", help="Of windowed applications: rows of a window and its slide, 10k/25."),
    ] = None,
    keys: Annotated[
        str | None, typer.Option(metavar="N", help="Of windowed applications: windows of each of so many keys.")
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(help="Of windowed applications: auto, numpy, numba, numba-parallel or cuda computes windows."),
    ] = None,
    chunk_rows: Annotated[
        str | None,
        typer.Option(metavar="N", help="Of the suite: items that go through a stage together, inside a worker."),
    ] = None,
    work: Annotated[
        str | None, typer.Option(metavar="cpu|wait", help="Of the application synthetic: what its stages do.")
    ] = None,
    decompress: Annotated[
        bool, typer.Option("--decompress", help="Of the application bzip2: the other way round.")
    ] = False,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", metavar="NAME=VALUE", help="Of the application: see penstock list apps."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Replay the items of this file instead of made ones.")
    ] = None,
    trigger: Annotated[
        str | None, typer.Option(metavar="INTERVAL", help="Start batches at fixed intervals only, e.g. '10 s'.")
    ] = None,
    size: Annotated[str | None, typer.Option(metavar="N", help="The first batch size, e.g. 2k.")] = None,
    master: Annotated[str, typer.Option(help="Where Spark runs.")] = "local[2]",
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Keep journal, summary and output here.")] = None,
    png: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the run into this file.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as one JSON object, nothing else.")
    ] = False,
) -> None:
    """Run an application on Spark under a controller, and say how well the objective was kept."""
    options = {"window": window, "keys": keys, "device": device, "chunk-rows": chunk_rows, "work": work}
    if decompress:
        options["decompress"] = "yes"
    spec = RunSpec(
        app=app,
        size_class=size_class,
        slo=slo,
        controller=controller,
        settings=parse_settings(settings or []),
        options={
            **parse_settings(option or [], "option"),
            **{name: text for name, text in options.items() if text is not None},
        },
        arrivals=arrivals,
        cost=cost,
        seed=seed,
        size=None if size is None else parse_count(size, "size"),
        master=master,
        trigger=trigger,
        data=None if data is None else str(data),
    )
    prepare(spec)
    if png is not None:
        picture.check_named(png)
    folder = out or Path(tempfile.mkdtemp(prefix="penstock-run-"))
    summary = _run(spec, folder, png, as_json)
    if out is None:
        # A run that failed leaves its folder: the error names it.
        shutil.rmtree(folder, ignore_errors=True)
    if as_json:
        typer.echo(json.dumps(summary, ensure_ascii=False))
    else:
        console = console_here()
        console.print(summary_table([summary]))
        if bad_rows := summary.get("bad_rows"):
            said = f"{bad_rows} lines of {data} are no rows and were left out; {summary['first_bad_row']}"
            console.print(said, markup=False, highlight=False, soft_wrap=True)
        kept = [out / "journal.jsonl", out / "summary.json"] if out else []
        # Stopped before its first batch, a run has no journal and no picture.
        print_paths(console, [path for path in (*kept, *([png] if png else [])) if path.exists()])
    exit_as([summary], summary["interrupted"])


def _run(spec: RunSpec, folder: Path, png: Path | None, as_json: bool) -> dict[str, Any]:

    def work(tick: Tick, stop: threading.Event) -> dict[str, Any]:
        return run(spec, folder, tick, stop)

    if as_json:
        with stdout_to_stderr():
            summary = watch(work, SilentView())
    else:
        summary = watch_on(console_here(), spec, work)
    if png is not None and summary["batches"]:
        picture.draw(read(folder / "journal.jsonl"), Slo.parse(spec.slo), png)
    return summary


def parse_settings(texts: Sequence[str], flag: str = "set") -> dict[str, str]:
    """The settings of repeated `--set KEY=VALUE`.

    >>> parse_settings(["step=10%", "sample=5"])
    {'step': '10%', 'sample': '5'}
    """
    settings: dict[str, str] = {}
    for text in texts:
        key, equals, value = (piece.strip() for piece in text.partition("="))
        if not (key and equals and value):
            example = "--set step=10%" if flag == "set" else "--option denoise=median"
            raise BadInputError(flag, text, "not KEY=VALUE", f"write e.g. {example}")
        if key in settings:
            raise BadInputError(flag, text, f"{key} is given twice", "give it once")
        if flag == "set" and key in _OPTIONS:
            raise BadInputError(flag, text, f"{key} is no setting but an option", f"write --{key} {value}")
        settings[key] = value
    return settings


def watch_on(console: Console, spec: RunSpec, work: Work) -> dict[str, Any]:
    """Do a run and show it on a console."""
    with stderr_kept() as send:

        def quiet(tick: Tick, stop: threading.Event) -> dict[str, Any]:
            def told(state: RunState) -> None:
                if console.is_terminal:
                    send(state.journal.with_name("spark.log"))
                tick(state)

            return work(told, stop)

        return watch(quiet, view_of(spec, console))


def print_paths(console: Console, paths: Sequence[Path]) -> None:
    """One path a line, whole, so that it can be copied."""
    for path in paths:
        console.print(str(path), markup=False, highlight=False, soft_wrap=True)


def exit_as(summaries: Sequence[dict[str, Any]], stopped: bool) -> None:
    """Leave with the code of what happened: cut short by the user, wrong output, or all well."""
    if stopped:
        raise typer.Exit(INTERRUPTED)
    if any(summary["digest_ok"] is False for summary in summaries):
        raise typer.Exit(WRONG_OUTPUT)
