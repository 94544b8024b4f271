"""The page of results: sections of one Markdown file, each made anew by its own command, the others left alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.reproduce.page import mean, number, spread, table
from penstock.reproduce.thesis import published
from penstock.testing.settling import measure_settling

Comparison = Mapping[str, Any]

# The threshold of the published figures that stand beside ours, which are at 10% too.
_PUBLISHED_AT = 10
_METRICS = {"i_slh": "I-SLH", "b_slh": "B-SLH", "mad_d": "MAD-D", "sd_d": "SD-D"}
_PHASES = ("planning", "wal", "processing", "commit", "other")
_DELAYS = range(6)

_INTRO = """## Military Server on Spark

Class {size_class}, SLO {slo} on processing latency, {arrivals} arrivals; every controller {runs} times as far as the
time allowed ("runs" says how many count), interleaved, each round beginning elsewhere, {minutes:.0f} minutes in all.
Made by `{command}` on {date}: {machine}, Python {python}, Spark {spark}, `{master}`, no GPU.

Hits are the percent of items (I-SLH) or batches (B-SLH) inside the band; distances (MAD-D, SD-D) are percent of the
target. Behind each mean, in brackets, is its bootstrap interval of 95%; two or three runs make it wide. The verdict
sets each controller against the best mean I-SLH: where the intervals meet, nothing can be told.

All settings are the defaults of a live query. `plain` is Spark without any limit. `fixed:auto` has the best fixed size
that a short search on other items of the same kind found{search}. `oracle` is `predictive` on the true cost of every
item, which nobody knows in practice: it shows what is left to gain, and is not ranked. The first batch of each run is
warm-up and does not count (the thesis leaves none out), but for `plain`, which has only one.

Where the load jumps from light to heavy, the batch that is then planned still has the size for light items. No
controller that only looks back can avoid it.
"""

_PUBLISHED_INTRO = """
### The published figures beside ours

The thesis ran these algorithms on a GPU pipeline at 3 ms and gives, for each metric, the best of a grid of steps and
samples over ten runs. Ours are means at default settings, at {slo} on Spark. The two are not the same experiment; they
stand side by side so that a reader can see both. Its fixed sizes were not scored.
"""

_SETTLING_INTRO = """## Settling under late feedback

In virtual time, against a plant with latency = 0.1 s + 9 ms an item at 1 s ± 10%, from a tenth of the right size, with
the published steps (10 items; PID 10, 15, 3): after how many batches all are within the band, by how many batches the
samples come late. "swings": not within 400 batches. Reported, not demanded of a controller.
"""


def military_section(found: Comparison) -> str:
    """Everything about a comparison on Military Server, as Markdown."""
    about = found["about"]
    rows: Sequence[Mapping[str, Any]] = found["rows"]
    intro = _INTRO.format(
        **{key: about[key] for key in ("slo", "arrivals", "runs", "command", "date", "machine", "python", "spark")},
        size_class=about["class"],
        master=about["master"],
        minutes=about["seconds"] / 60,
        search=_search(rows),
    )
    return "\n".join(
        [
            intro,
            _hits(rows),
            "\n### By load pattern\n\nPercent of items inside the band.\n",
            _patterns(rows),
            "\n### Where the time goes\n\nMean seconds of a trigger by phase, and our own work (monitor, controller,\n"
            "gate, journal).\n",
            _phases(rows),
            _PUBLISHED_INTRO.format(slo=about["slo"]),
            _published(rows),
        ]
    )


_VIRTUAL_INTRO = """## In virtual time

Every controller at its defaults (of a live query on the plant `spark`), and the best settings of PMBAF and PID out of a
grid, found on other seeds. {seeds} seeds each, the same for all; `oracle` and `oracle-causal` know what no controller
knows, and limit I-SLH; `oracle-reported` knows what samples can tell, without noise. A verdict sets a controller
against the best mean I-SLH. The plants are models: [decision 010](decisions/010-plants.md) says what they are made of.
"""


def virtual_section(found: Sequence[tuple[str, Comparison]]) -> str:
    """Comparisons in virtual time, each after the command that makes it, as Markdown."""
    texts = [_VIRTUAL_INTRO.format(seeds=found[0][1]["about"]["seeds"])]
    for command, each in found:
        rows = sorted(each["rows"], key=lambda row: (row["limit"], -row["i_slh"]["mean"]))
        about = each["about"]
        texts.append(f"### Plant {about['plant']}, {about['slo']}\n\nMade by `{command}` on {about['date']}.\n")
        texts += [_hits(rows), "\nI-SLH by load pattern:\n", _patterns(rows), ""]
    return "\n".join(texts)


def settling_section(names: Sequence[str]) -> str:
    """How the registered controllers settle when samples come late."""
    rows = []
    for name in names:
        runs = [measure_settling(name, delay) for delay in _DELAYS]
        rows.append([name, *("swings" if run["settled_after"] is None else str(run["settled_after"]) for run in runs)])
    return f"{_SETTLING_INTRO}\n{table(['controller', *(f'{delay} late' for delay in _DELAYS)], rows)}"


def _search(rows: Sequence[Mapping[str, Any]]) -> str:
    found = next((row["about"] for row in rows if row.get("about")), None)
    if found is None:
        return ""
    tried = ", ".join(f"{trial['size']:.0f}: {number(trial['i_slh'])}" for trial in found["trials"])
    return f" ({found['size']:.0f}, in {found['seconds']:.0f} s; I-SLH of those tried: {tried})"


def _hits(rows: Sequence[Mapping[str, Any]]) -> str:
    head = ["controller", "runs", "I-SLH", "B-SLH", "MAD-D", "SD-D", "I-SLH at 5%", "I-SLH at 20%"]
    lines = []
    for row in rows:
        at = [mean(row["at"].get(tolerance, {}).get("i_slh")) for tolerance in ("5%", "20%")]
        hits = [spread(row[name]) for name in _METRICS]
        p95_s = row["p95_s"]["mean"]
        rates = [mean(row["batches"], 0), mean(row["throughput_per_s"], 0), "-" if p95_s is None else f"{p95_s:.3g}"]
        lines.append([row["controller"], str(row["runs"]), *hits, *at, *rates, row["against_best"]])
    return table([*head, "batches", "items/s", "p95, s", "verdict"], lines)


def _patterns(rows: Sequence[Mapping[str, Any]]) -> str:
    parts = list(dict.fromkeys(part for row in rows for part in row["patterns"]))
    lines = [
        [row["controller"], *(spread(row["patterns"].get(part, {}).get("i_slh")) for part in parts)] for row in rows
    ]
    return table(["controller", *parts], lines)


def _phases(rows: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for row in rows:
        control = [mean(row["control"].get(name), 2) for name in ("mean_ms", "share_percent")]
        times = [mean(row["durations_s"].get(phase), 3) for phase in _PHASES]
        lines.append([row["controller"], *times, *control])
    return table(["controller", *_PHASES, "own work, ms", "own work, % of trigger"], lines)


def _published(rows: Sequence[Mapping[str, Any]]) -> str:
    head = ["controller", *(f"{metric} {whose}" for metric in _METRICS.values() for whose in ("thesis", "ours"))]
    lines = []
    for row in rows:
        if (name := row["controller"]) in published.ALGORITHMS:
            pairs = ((published.best(_PUBLISHED_AT, name, metric), row[metric]) for metric in _METRICS)
            lines.append([name, *(cell for theirs, ours in pairs for cell in (number(theirs), mean(ours)))])
    return table(head, lines)
