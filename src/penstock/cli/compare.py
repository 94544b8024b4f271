"""The command `compare`: controllers against each other, on Spark or in virtual time."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.apps import registry as apps
from penstock.bench.compare.runs import compare_runs, wrong_outputs
from penstock.bench.compare.spec import CompareSpec, everything, split_controllers
from penstock.bench.run import RunSpec, Work
from penstock.cli.run import WRONG_OUTPUT, watch_on
from penstock.cli.terminal.bar import Bar
from penstock.cli.terminal.comparison import comparison_table
from penstock.cli.terminal.tables import console_here
from penstock.cli.terminal.views import SilentView
from penstock.cli.terminal.watch import INTERRUPTED, stdout_to_stderr, watch
from penstock.control import registry
from penstock.errors import BadInputError
from penstock.score.comparison import write
from penstock.sim.run import DEFAULT_SLO, LIVE_SLO
from penstock.units import parse_count, parse_duration_s

RUNS = 3
SEEDS = 10
NOISE = "1x"


def compare_command(
    app: Annotated[str | None, typer.Argument(help="The application to run on Spark; or give --plant.")] = None,
    plant: Annotated[
        str | None,
        typer.Option(metavar="thesis|spark|FILE", help="Compare in virtual time, on this plant or a fitted one."),
    ] = None,
    controllers: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Separated by commas, settings after colons. On Spark also plain, fixed:auto and oracle; "
            "in virtual time also NAME:best, and the oracles are always there. Default: all.",
        ),
    ] = None,
    slo: Annotated[
        str | None,
        typer.Option(help="The objective: '1 s ± 10%', '<= 2 s', 'p99 <= 2 s', '>= 50k/s', '1 s & >= 20k/s'."),
    ] = None,
    arrivals: Annotated[
        str | None, typer.Option(help="saturated, or a pattern of items a second; by default the app's own.")
    ] = None,
    cost: Annotated[str, typer.Option(help="thesis, or a pattern over the item index.")] = "thesis",
    size_class: Annotated[
        str | None, typer.Option("--class", help="On Spark: test, small, medium or large. Default: small.")
    ] = None,
    runs: Annotated[int | None, typer.Option(help="On Spark: runs of each controller. Default: 3.")] = None,
    budget: Annotated[
        str | None, typer.Option(metavar="TIME", help="On Spark: be done within this time, e.g. 60min.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="On Spark: makes other items of the same kind. Default: 1.")] = None,
    master: Annotated[str | None, typer.Option(help="Where Spark runs. Default: local[2].")] = None,
    seeds: Annotated[int | None, typer.Option(help="Virtual: runs of each controller. Default: 10.")] = None,
    delay: Annotated[int | None, typer.Option(help="Virtual: batches by which samples come late. Default: 0.")] = None,
    noise: Annotated[
        str | None, typer.Option(metavar="N", help="Virtual: times the noise of the plant, e.g. 2x. Default: 1x.")
    ] = None,
    items: Annotated[str | None, typer.Option(metavar="N", help="Virtual: the number of items, e.g. 200k.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the comparison here; on Spark, go on with one.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the comparison as one JSON object, nothing else.")
    ] = False,
) -> None:
    """Compare controllers: interleaved runs of an application on Spark, or of a plant in virtual time."""
    if (app is None) == (plant is None):
        given = "nothing" if app is None else f"{app} and --plant {plant}"
        reason = "compare runs an application on Spark or a plant in virtual time"
        raise BadInputError("compare", given, reason, "give one of them: APP or --plant")
    spark_only = {"class": size_class, "runs": runs, "budget": budget, "seed": seed, "master": master}
    virtual_only = {"seeds": seeds, "delay": delay, "noise": noise, "items": items}
    if plant is not None:
        _refuse_given(spark_only, "means nothing in virtual time")
        _compare_plant(
            plant,
            slo=slo or DEFAULT_SLO.get(plant, LIVE_SLO),
            controllers=list(split_controllers(controllers)) if controllers is not None else registry.names(),
            seeds=SEEDS if seeds is None else seeds,
            delay=delay or 0,
            noise=parse_times(NOISE if noise is None else noise),
            arrivals=arrivals or "saturated",
            cost=cost,
            items=None if items is None else whole("items", items),
            out=out,
            as_json=as_json,
        )
        return
    _refuse_given(virtual_only, "is for a plant in virtual time")
    spec = CompareSpec(
        str(app),
        split_controllers(controllers) if controllers is not None else everything(),
        size_class=size_class or "small",
        slo=slo or LIVE_SLO,
        arrivals=arrivals or apps.create(str(app)).default_arrivals,
        cost=cost,
        seed=1 if seed is None else seed,
        master=master or "local[2]",
    )
    compare_app(
        spec,
        runs=RUNS if runs is None else runs,
        budget_s=None if budget is None else parse_duration_s(budget, "budget"),
        out=out,
        as_json=as_json,
    )


def compare_app(spec: CompareSpec, runs: int, budget_s: float | None, out: Path | None, as_json: bool) -> None:
    """Compare controllers on Spark, show it, and end with the exit code that tells how it went."""
    folder = out or Path("runs") / spec.folder_name
    console = console_here()
    command = command_of(spec, runs, budget_s, out)

    def shown(run_spec: RunSpec, work: Work) -> dict[str, Any]:
        return watch(work, SilentView()) if as_json else watch_on(console, run_spec, work)

    def say(text: str) -> None:
        if as_json:
            print(text, file=sys.stderr, flush=True)
        else:
            console.print(text, markup=False, highlight=False, soft_wrap=True)

    if as_json:
        with stdout_to_stderr():
            found = compare_runs(spec, runs, folder, shown, say, budget_s=budget_s, command=command)
        typer.echo(json.dumps(found.comparison, ensure_ascii=False))
    else:
        found = compare_runs(spec, runs, folder, shown, say, budget_s=budget_s, command=command)
        console.print()
        console.print(comparison_table(found.comparison))
        say(f"\n{folder / 'comparison.json'}; to see it: penstock report {shlex.quote(str(folder))}")
    if found.stopped:
        print(f"stopped; what is finished is kept, to go on: {command}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)
    if not any(row["runs"] for row in found.comparison["rows"]) and found.comparison["about"].get("failures"):
        print("every run failed; the comparison names why", file=sys.stderr)
        raise typer.Exit(WRONG_OUTPUT)
    if wrong := wrong_outputs(found.comparison):
        print(f"WRONG output: {', '.join(wrong)}; these runs do not count", file=sys.stderr)
        raise typer.Exit(WRONG_OUTPUT)


def command_of(spec: CompareSpec, runs: int, budget_s: float | None, out: Path | None) -> str:
    """The command line that makes this comparison.

    >>> command_of(CompareSpec("military", ("pid", "oracle"), "test"), 1, 90.0, None)
    "penstock compare military --class test --slo '1 s ± 10%' --controllers pid,oracle --runs 1 --budget 90s"
    """
    words = ["penstock", "compare", spec.app, "--class", spec.size_class, "--slo", spec.slo]
    words += ["--controllers", ",".join(spec.controllers), "--runs", str(runs)]
    usual = CompareSpec(spec.app, ())
    for name in ("arrivals", "cost", "seed", "master"):
        if getattr(spec, name) != getattr(usual, name):
            words += [f"--{name}", str(getattr(spec, name))]
    words += [] if budget_s is None else ["--budget", f"{budget_s:g}s"]
    words += [] if out is None else ["--out", str(out)]
    return shlex.join(words)


def whole(field: str, text: str) -> int:
    """A number of things, as people write it.

    >>> whole("items", "1M")
    1000000
    """
    count = parse_count(text, field)
    if count != int(count):
        raise BadInputError(field, text, "not a whole number", "write e.g. 1000000 or 1M")
    return int(count)


def parse_times(text: str) -> float:
    """A factor, with or without an x.

    >>> parse_times("2x"), parse_times("0.5")
    (2.0, 0.5)
    """
    factor = parse_count(re.sub(r"\s*[x×]$", "", text.strip()), "noise")
    if factor < 0:
        raise BadInputError("noise", text, "noise cannot be negative", "write e.g. 2x, or 0 for none")
    return factor


def _compare_plant(plant: str, *, out: Path | None, as_json: bool, **options: Any) -> None:
    from penstock.bench.compare.virtual import compare_plant

    console = console_here()
    if out is not None:
        _make_folder(out)
    with Bar() as bar:
        found = compare_plant(plant, **options, progress=bar.runs)
    found["about"]["command"] = " ".join(["penstock", *map(shlex.quote, sys.argv[1:])])
    if out is not None:
        write(out, found)
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False))
        return
    console.print(comparison_table(found))
    if out is not None:
        console.print(f"\n{out / 'comparison.json'}; to see it: penstock report {out}", markup=False, soft_wrap=True)


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"cannot be a folder ({error.strerror})"
        raise BadInputError("out", str(out), reason, "give a new folder, or one you own") from error


def _refuse_given(options: Mapping[str, object], why: str) -> None:
    for name, value in options.items():
        if value is not None:
            raise BadInputError(f"--{name}", value, why, "leave it out")
