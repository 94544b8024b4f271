"""The generated part of the page docs/lmstream.md, and the section of the page of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.bench.compare.about import about_here
from penstock.reproduce.finding import Found
from penstock.reproduce.lmstream.paper_runs import DEVIATION, VARIANTS
from penstock.reproduce.lmstream.reproduce import Reproduction
from penstock.reproduce.lmstream.rules import EDGE
from penstock.reproduce.lmstream.tables import beaten
from penstock.reproduce.page import (
    copy_figures,
    count_findings,
    findings_details,
    findings_table,
    replace_section,
    show_figures,
)
from penstock.reproduce.table import Table

SECTION = "lmstream"
IMAGES = "images"
COMMAND = "penstock reproduce lmstream --page docs/lmstream.md --results docs/results.md"

_INTRO = """## What was run

Made by `{command}` on {date}: {runs} runs of {stream_s:.0f} s of stream each, one of each kind, in one Spark session,
{minutes:.0f} minutes in all; {machine}, Python {python}, Spark {spark}, no GPU. Constant traffic is a dataset of 1000
rows every second; random traffic has a normal number of rows with that mean and a deviation of {deviation}, which is
ours, as the paper gives none. The runs of a query follow each other, each query beginning with another of them.

| run | what it is |
| --- | --- |
{variants}

The output of every run was checked, row for row, against an answer computed without Spark: all of them are equal, so no
result depends on how the stream was cut into batches.{left_out}
"""

_SAID = {
    "figures-6-7": """Latency is that of datasets, from arrival to the end of the batch; throughput is bytes over the
time of processing, as the paper counts it, with the batches without data in which Spark closes windows. At a steady
traffic whoever keeps up delivers the same.""",
    "figures-8-9": """"Latency of a batch" is the mean over batches of the latency of their oldest dataset.""",
    "IV": """Buffering is the time in which no batch ran, from the first batch to the end of the last one with data;
processing has the batches without data in it. "Construct micro-batch" is all of Penstock's own work (monitor,
controller, gate, journal); it goes on beside the commit of a batch, so it is in the processing too. Mapping operators
to devices and its optimisation are not built yet.""",
    "bounds": """The bound of a sliding query is its slide. A tumbling query has none, and LMStream then aims at its own
mean; the bound here is the baseline's trigger, the only time that the paper gives such a query. "Busy" is the share of
time in which a batch ran: the rest is what this traffic leaves free.""",
}

_FIGURES = {
    "6": "Mean latency of datasets as bars, the longest as ticks, the bound of each query as a line.",
    "7": "Throughput as the paper counts it: bytes over the time of processing.",
    "8": "LR1S under random traffic: maximum latency and data of each batch.",
    "9": "LR1T under random traffic: maximum latency and data of each batch.",
}


def write_page(found: Reproduction, path: Path) -> None:
    """Put the results into the page between its markers, and copy the figures that it shows beside it."""
    copy_figures(found.figures, path.parent / IMAGES)
    replace_section(path, SECTION, page(found))


def page(found: Reproduction) -> str:
    """All results as Markdown."""
    return "\n".join(
        [
            _intro(found),
            _findings(found.found),
            *(f"## {table.title}\n\n{_said(found, table)}\n\n{table.markdown()}\n" for table in found.tables),
            "## Figures\n",
            show_figures(_shown(found.figures), IMAGES),
            findings_details(found.found),
        ]
    )


def results_section(found: Reproduction) -> str:
    """The table of figures 6 and 7, of the bounds, and the count of findings, for a page of results of everything."""
    about = about_here()
    text = f"## LMStream's dynamic batching on Spark\n\n{count_findings(found.found)} "
    text += "[lmstream.md](lmstream.md) says what was run and how it compares.\n"
    text += f"Made by `{COMMAND}` on {about['date']}: {about['machine']}, no GPU, "
    text += f"{found.scores.plan.stream_s:.0f} s of stream, one run each.\n"
    shown = [table for table in found.tables if table.name in ("figures-6-7", "bounds")]
    return text + "".join(f"\n### {table.title}\n\n{_said(found, table)}\n\n{table.markdown()}\n" for table in shown)


def _intro(found: Reproduction) -> str:
    about: Mapping[str, Any] = about_here()
    plan, ran = found.scores.plan, found.ran
    left_out = ""
    if ran.left_out:
        left_out = f"\nLeft out, as all runs are to end within the hour: {', '.join(ran.left_out)}."
    return _INTRO.format(
        command=COMMAND,
        runs=len(ran.summaries),
        stream_s=plan.stream_s,
        minutes=found.seconds / 60,
        deviation=DEVIATION,
        variants="\n".join(f"| `{variant}` | {VARIANTS[variant]} |" for variant in plan.variants),
        left_out=left_out,
        **{key: about[key] for key in ("date", "machine", "python", "spark")},
    )


def _said(found: Reproduction, table: Table) -> str:
    more = beaten(found.scores) if table.name == "bounds" else ""
    return f"{_SAID[table.name]}\n\n{more}".rstrip()


def _findings(found: Found) -> str:
    lines = [
        "## Findings\n",
        f"{count_findings(found)} The rules were written before these runs were made, after a look at four short ones.",
        f"There is one run of each kind: a ratio that comes nearer than {EDGE:g} to the line of its rule is one that",
        "the runs cannot tell.\n",
        findings_table(found),
    ]
    return "\n".join(lines)


def _shown(figures: Sequence[Path]) -> list[tuple[Path, str]]:
    return [(path, _FIGURES[path.stem.split("-")[1]]) for path in figures]
