"""The page docs/gasser.md: generated between its markers, but for the reasons that stand beside findings."""

from __future__ import annotations

from pathlib import Path

from penstock.bench.measures.windows.peers import WHAT
from penstock.bench.measures.windows.results import TIE
from penstock.reproduce.finding import Found
from penstock.reproduce.gasser.reproduce import Reproduction
from penstock.reproduce.page import (
    copy_figures,
    count_findings,
    findings_details,
    findings_table,
    replace_section,
    show_figures,
)

SECTION, IMAGES = "gasser", "images"
COMMAND = "penstock reproduce gasser --page docs/gasser.md"

_INTRO = """# Gasser, run again

Sliding windows with any function, on Spark without a GPU, beside who else can compute them. A rate within {tie:.0%} of
the other is a tie.

{verdict}

## What was run

Gasser computes arbitrary functions over sliding windows on a GPU. Its paper compares two queries with its own CPU
version and with Flink: Q1, a regression with candlesticks over quotes, and Q2, k-means over positions of players.
`penstock reproduce gasser` measures the same windows through our operator on Spark, and puts tables 3 and 4, figures 7,
8, 9 and 11 and the findings beside ours.

- **What this is not.** The published machine had 16 cores and a GPU with 2880; here are {machine}, no GPU. Nothing is
  claimed of a GPU's speed: what needs one is listed as not testable here. Table 5 and figures 12 and 13 are about the
  tuner and come with it.
- **The sustainable rate** is that of a saturated stream of Parquet files, windows a second times the slide, as the
  paper derives it; the batches that fill the windows and warm up do not count. The best of a few B is shown.
- **One round.** Every case was measured once, over a few batches, beside some light work on the same two cores: take
  ratios below 1.3 with care, and single cases that fall out of their row for noise.
- **The peers** run the same windows in the same session, right after or before ours:

{peers}

- Peers in one process have all rows in memory: they read nothing, keep nothing, and survive nothing.

Made by `{command}` on {date}: {measurements} measurements in {minutes:.0f} minutes, size {size}; {machine}, Python
{python}, Spark {spark}. {failures}
"""

_SAID = {
    "wanted": "Written down before the operator was measured; of several cases the worst decides.",
    "3": "A dash is what the paper does not have or what was not measured; (?) marks a number that the scan may have "
    "wrong.",
    "7": "The kernel's share is the kernel's time in the busiest task over the time of the batch. A row has copies "
    "where the sliding batches of two tasks share it.",
    "7-keyed": "With keys every key has windows of its own; the state of all keys is rewritten in every batch, of at "
    "most 400,000 rows here, so that longer batches would have a higher rate.",
    "4": "Theirs was measured while the number of replicas changed at random; ours follows from the same "
    "definitions, for 5,000 changes between 1 and 10 replicas.",
    "8": "At 20,000 rows/s, from the arrival of a window's last row to the end of its batch.",
    "9": "Devices called directly, with one second of the stream in a call; nobody computes more windows than come. "
    "Theirs is between a GPU and a CPU, ours between one thread, all threads and the Python interpreter.",
    "11": "The black box computes each window from its rows. Running sums, which add what comes and subtract what "
    "goes, stand for Saber.",
    "plumbing": "CPU seconds of driver, JVM and Python workers together, at batches of the large size; the fixed time "
    "is where the line through small and large batches begins.",
    "aggregates": "500 keys; each query with the state store that suits it.",
    "planner": "Q1 over windows of 1,000 rows; medians of calls in turns.",
}
_FIGURES = {
    "7": "Sustainable rate by window and slide, rows a second, on a logarithmic scale.",
    "8": "Mean latency of a window by B, and by the rows of Spark's batch.",
    "9": "All threads over one, each capped by the stream of 1M rows/s.",
    "11": "Any function beside incremental ways, by slide.",
}


def write_page(found: Reproduction, path: Path) -> None:
    """Put the results into the page between its markers, and copy the figures that it shows beside it."""
    copy_figures(found.figures, path.parent / IMAGES)
    replace_section(path, SECTION, page(found))


def page(found: Reproduction) -> str:
    """All results as Markdown; where we win, tie and lose comes first."""
    shown = [(path, _FIGURES[path.stem.split("-")[1]]) for path in found.figures]
    return "\n".join(
        [
            _intro(found),
            _findings(found.found),
            *(f"## {table.title}\n\n{_SAID[table.name]}\n\n{table.markdown()}\n" for table in found.tables),
            "## Figures\n",
            show_figures(shown, IMAGES),
            findings_details(found.found),
        ]
    )


def _intro(found: Reproduction) -> str:
    failures = ""
    if found.failures:
        failures = "These failed and are missing below: " + "; ".join(found.failures) + "."
    return _INTRO.format(
        tie=TIE - 1,
        verdict=found.verdict,
        peers="\n".join(f"  - `{who}`: {what}." for who, what in WHAT.items()),
        command=COMMAND,
        measurements=found.measurements,
        minutes=found.seconds / 60,
        size=found.scores.size.name,
        failures=failures,
        **{key: found.about[key] for key in ("date", "machine", "python", "spark")},
    )


def _findings(found: Found) -> str:
    lines = [
        "## Findings\n",
        f"{count_findings(found)} The rules were written before these measurements, after tiny trial "
        "runs. In two findings plain PySpark and Spark's batch stand in for what is not here, as they say.\n",
        findings_table(found),
    ]
    return "\n".join(lines)
