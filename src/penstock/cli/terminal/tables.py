"""Results as tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.bench.doctor.machine import Check
from penstock.report import words
from penstock.report.board import percent
from penstock.slo import Kind, Slo
from penstock.units import format_count, format_duration

_FILE_WIDTH = 200

Summary = Mapping[str, Any]
DIGEST = {True: "correct", False: "WRONG", None: "not checked"}


def console_here() -> Console:
    """The console on stdout; where that is no terminal, lines are not broken at a width that nobody has."""
    console = Console()
    return console if console.is_terminal else Console(width=_FILE_WIDTH)


def summary_table(summaries: Sequence[Summary]) -> RenderableType:
    """What was kept, in a sentence a run, then all measures."""
    sentences = [Text(_sentence(summary, named=len(summaries) > 1), style="bold") for summary in summaries]
    return Group(*sentences, Text(), measures_table(summaries))


def measures_table(summaries: Sequence[Summary]) -> Table:
    """One column a run, one line a measure; what people ask first is on top."""
    table = Table(
        title=f"SLO {summaries[0]['slo']}", title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0)
    )
    table.add_column("")
    for summary in summaries:
        table.add_column(_name(summary), justify="right" if len(summaries) > 1 else "left")
    table.add_column("", style="dim")
    for name, cells, meaning in _lines(summaries):
        table.add_row(name, *cells, meaning)
    return table


def _name(summary: Summary) -> str:
    return str(summary["spec"].get("label") or summary["spec"]["controller"])


def _sentence(summary: Summary, named: bool) -> str:
    who = f"{_name(summary)}: " if named else ""
    if not summary["met"]["counted"]:
        return f"{who}No batch was counted."
    return f"{who}{words.kept(summary['met'], Slo.parse(summary['slo']))}."


def _lines(summaries: Sequence[Summary]) -> Iterable[tuple[str, list[str], str]]:
    parts = list(dict.fromkeys(part for summary in summaries for part in summary["patterns"]))
    first = " first" if any(each.get("also") for each in summaries) else ""
    hold = any(Slo.parse(each["slo"]).kind is Kind.HOLD for each in summaries)
    yield "met", [percent(each["met_percent"]) for each in summaries], "batches that met the objective"
    yield "longest batch", [_duration(each["batch_latency_s"]["max"]) for each in summaries], ""
    yield from _objectives(summaries)
    for rank in ("p50", "p95", "p99"):
        yield f"latency {rank}", [_duration(each["latency_s"][rank]) for each in summaries], "over items"
    yield "throughput", [_rate(each["throughput_per_s"]) for each in summaries], "items a second of wall time"
    yield "batches", [str(each["batches"]) for each in summaries], "that count: no warm-up, none that failed"
    yield "items", [format_count(each["items"]) for each in summaries], ""
    yield "output", [DIGEST[each["digest_ok"]] for each in summaries], "digest of a whole run"
    within = f"batches within the{first} {'band: too fast is a miss' if hold else 'bound'}"
    yield "B-SLH", [percent(each["b_slh"]) for each in summaries], within
    yield "I-SLH", [percent(each["i_slh"]) for each in summaries], "items in such batches"
    for part in parts:
        yield f"  {part}", [percent(each["patterns"].get(part, {}).get("i_slh")) for each in summaries], "I-SLH there"
    yield "MAD-D", [percent(each["mad_d"]) for each in summaries], "mean distance from the target"
    yield "SD-D", [percent(each["sd_d"]) for each in summaries], "root mean square distance"
    yield "control", [_control(each["control"]) for each in summaries], "time spent deciding, a batch"


def _objectives(summaries: Sequence[Summary]) -> Iterable[tuple[str, list[str], str]]:
    """The bounded percentile and the second objective, where the SLO has them."""
    if any(each.get("percentile") for each in summaries):
        name = next(each["percentile"]["name"] for each in summaries if each.get("percentile"))
        yield f"{name} of batches", [_kept(each.get("percentile")) for each in summaries], "the one that is bounded"
    second = [each.get("also") for each in summaries]
    if known := [each for each in second if each]:
        yield "also B-SLH", [percent(each and each["b_slh"]) for each in second], f"batches with {known[0]['slo']}"
        yield "also I-SLH", [percent(each and each["i_slh"]) for each in second], "items in such batches"
        yield "both B-SLH", [percent(each and each["both"]["b_slh"]) for each in second], "batches that met both"


def _kept(percentile: Mapping[str, Any] | None) -> str:
    if percentile is None or percentile["kept"] is None:
        return "-"
    return f"{_duration(percentile['value_s'])} ({'kept' if percentile['kept'] else 'NOT kept'})"


def names_table(lines: Mapping[str, str]) -> Table:
    """Names with a line on each."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for name, line in lines.items():
        table.add_row(name, line)
    return table


def checks_table(checks: Sequence[Check]) -> Table:
    """What doctor found."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for check in checks:
        state = "[green]ok[/]" if check.ok else "[bold red]missing[/]" if check.needed else "[yellow]absent[/]"
        table.add_row(state, check.name, check.version or "-", check.advice.replace("[", r"\["))
    return table


def _duration(value: float | None) -> str:
    return "-" if value is None else format_duration(float(f"{value:.3g}"))


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{format_count(float(f'{value:.3g}'))}/s"


def _control(control: Mapping[str, float | None]) -> str:
    mean_ms, share = control["mean_ms"], control["share_percent"]
    return "-" if mean_ms is None or share is None else f"{mean_ms:.1f} ms ({share:.2f}%)"
