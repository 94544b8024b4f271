"""The page of results: tables of summaries, with the published figures beside them."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.testing.settling import measure_settling

Summaries = Mapping[str, Mapping[str, Any]]

# Thesis, tables 5.1, 5.4 and 5.5, at a threshold of 10%: I-SLH, B-SLH, MAD-D, SD-D; each the best of its own grid.
PUBLISHED = {
    "faf": (45.59, 49.09, 30.37, 49.06),
    "pbaf": (47.68, 52.79, 29.47, 38.68),
    "pbaf-wt": (44.39, 37.98, 29.87, 39.19),
    "mbaf": (45.38, 44.90, 26.85, 41.96),
    "pmbaf": (47.37, 60.95, 20.86, 39.01),
    "pid": (52.07, 62.89, 17.03, 36.86),
}

_INTRO = """# Results

Military Server, class {size_class}, SLO {slo} on processing latency, saturated arrivals; each controller once, one
after another in one session. Made by `{command}` on {today}: {machine}, Spark {spark}, `local[2]`, no GPU.

One run each on a shared machine, and one run says little: two runs of the same controller differ by many points
(decisions/008), so this table does not rank the adaptive ones. All settings are the defaults of a live query:
steps of 20% of the size (PBAF, PBAF-WT and PMBAF, which take fractions of a step: 50%; PID: gains of 30%, 80% and 0%),
ramp-up from 1000 items, seed 1. `fixed` has the mean batch of the PMBAF run, which nobody knows before that run. The
first batch of each run is warm-up and does not count (the thesis leaves none out).

Where the load jumps from light to heavy, the batch that is then planned still has the size for light items: 30,000 of
them hold a whole heavy level. No controller that only looks back can avoid it; admission by cost is on the roadmap.

Hits are the percent of items (I-SLH) or batches (B-SLH) inside the band; distances (MAD-D, SD-D) are percent of the
target.
"""

_SETTLING_INTRO = """
## Settling under late feedback

In virtual time, against a plant with latency = 0.1 s + 9 ms an item at 1 s ± 10%, from a tenth of the right size, with
the published steps (10 items; PID 10, 15, 3): after how many batches all are within the band, by how many batches the
samples come late. "swings": not within 400 batches. Reported, not demanded of a controller.
"""

_PUBLISHED_INTRO = """
## The published figures beside ours

The thesis ran these algorithms on a GPU pipeline at 3 ms and gives, for each metric, the best of a grid of steps and
samples over ten runs. Ours is one run each at default settings at 1 s on Spark. The two are not the same experiment;
they stand side by side so that a reader can see both. Its fixed sizes were not scored.
"""


def page(summaries: Summaries, slo: str, size_class: str, command: str) -> str:
    """The whole page as Markdown."""
    import pyspark

    intro = _INTRO.format(
        size_class=size_class,
        slo=slo,
        command=command,
        today=datetime.datetime.now(datetime.UTC).date().isoformat(),
        machine=f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}",
        spark=pyspark.__version__,
    )
    return "\n".join(
        [
            intro,
            _hits(summaries),
            "\n## By load pattern\n\nPercent of items inside the band.\n",
            _patterns(summaries),
            "\n## Where the time goes\n\nMean seconds of a trigger by phase, and our own work (monitor,\n"
            "controller, gate, journal).\n",
            _phases(summaries),
            _SETTLING_INTRO,
            _settling(summaries),
            _PUBLISHED_INTRO,
            _published(summaries),
            "\n## Pictures\n\nPMBAF, then the fixed size.\n",
            "![PMBAF: latency with its band, batch size, load](images/pmbaf.png)\n",
            "![Fixed size: latency with its band, batch size, load](images/fixed.png)\n",
        ]
    )


def _hits(summaries: Summaries) -> str:
    head = ["controller", "I-SLH", "B-SLH", "I-SLH at 5%", "I-SLH at 20%", "MAD-D", "SD-D"]
    rows = []
    for name, summary in summaries.items():
        at = summary["at"]
        hits = [summary["i_slh"], summary["b_slh"], at["5%"]["i_slh"], at["20%"]["i_slh"]]
        row = [name, *(f"{value:.1f}" for value in (*hits, summary["mad_d"], summary["sd_d"]))]
        digest = {True: "ok", False: "WRONG", None: "not checked"}[summary["digest_ok"]]
        throughput = f"{summary['throughput_per_s']:.0f}"
        rows.append([*row, str(summary["batches"]), throughput, f"{summary['latency_s']['p95']:.2f}", digest])
    return _table([*head, "batches", "items/s", "p95, s", "output"], rows)


def _patterns(summaries: Summaries) -> str:
    parts = list(dict.fromkeys(part for summary in summaries.values() for part in summary["patterns"]))
    rows = [
        [name, *(_percent(s["patterns"].get(part, {}).get("i_slh")) for part in parts)] for name, s in summaries.items()
    ]
    return _table(["controller", *parts], rows)


def _phases(summaries: Summaries) -> str:
    phases = ("planning", "wal", "processing", "commit", "other")
    rows = []
    for name, summary in summaries.items():
        control = summary["control"]
        times = [f"{summary['durations_s'].get(phase, 0):.3f}" for phase in phases]
        rows.append([name, *times, f"{control['mean_ms']:.2f}", f"{control['share_percent']:.2f}"])
    return _table(["controller", *phases, "own work, ms", "own work, % of trigger"], rows)


def _published(summaries: Summaries) -> str:
    head = ["controller"]
    for metric in ("I-SLH", "B-SLH", "MAD-D", "SD-D"):
        head += [f"{metric} thesis", f"{metric} ours"]
    rows = []
    for name, summary in summaries.items():
        theirs = PUBLISHED.get(name, (None,) * 4)
        ours = (summary["i_slh"], summary["b_slh"], summary["mad_d"], summary["sd_d"])
        rows.append([name, *(_percent(value) for pair in zip(theirs, ours, strict=True) for value in pair)])
    return _table(head, rows)


def _settling(summaries: Summaries) -> str:
    delays = range(6)
    rows = []
    for name in summaries:
        runs = [measure_settling(name, delay) for delay in delays]
        rows.append([name, *("swings" if run["settled_after"] is None else str(run["settled_after"]) for run in runs)])
    return _table(["controller", *(f"{delay} late" for delay in delays)], rows)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
