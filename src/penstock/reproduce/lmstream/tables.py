"""The tables: figures 6 and 7 as numbers, random traffic, table IV, and bounds of ours against LMStream."""

from __future__ import annotations

from penstock.apps.lmstream.queries import QUERIES
from penstock.reproduce.lmstream import published
from penstock.reproduce.lmstream.paper_runs import BASELINE, LMSTREAM, OURS, RANDOM, TUNED, tumbles
from penstock.reproduce.lmstream.scores import KEPT, Measured, Scores
from penstock.reproduce.table import Table, Value

_STEPS = {
    "buffering": "buffering phase",
    "construct": "construct micro-batch",
    "map_device": "map device",
    "processing": "processing phase",
    "optimisation": "optimization blocking",
}


def tables(scores: Scores) -> list[Table]:
    """All that the runs have rows for."""
    made = [_overall(scores), _random(scores), _time(scores), _bounds(scores)]
    return [table for table in made if table.rows]


def _overall(scores: Scores) -> Table:
    head = (
        "query",
        "run",
        "mean latency, s",
        "maximum, s",
        "latency to baseline",
        "published",
        "KB/s processed",
        "throughput to baseline",
        "published",
        "rows/s delivered",
        "output",
    )
    rows: list[tuple[Value, ...]] = []
    for query in scores.plan.queries:
        for variant in scores.variants(query):
            run, first = scores.known(query, variant), scores.get(query, BASELINE)
            theirs = variant == LMSTREAM
            latency, throughput = _against(run, first) if variant != BASELINE else (None, None)
            rows.append(
                (
                    query.upper(),
                    variant,
                    round(run.mean_s, 2),
                    round(run.max_s, 2),
                    latency,
                    published.LATENCY[query] if theirs else None,
                    round(run.bytes_per_s / 1e3, 1),
                    throughput,
                    published.THROUGHPUT[query] if theirs else None,
                    round(run.delivered_per_s),
                    # A run with any other output does not get here.
                    "correct",
                )
            )
    return Table("figures-6-7", "Figures 6 and 7: latency of datasets and throughput", head, tuple(rows))


def _random(scores: Scores) -> Table:
    head = (
        "query",
        "run",
        "mean latency, s",
        "maximum, s",
        "latency of a batch, s",
        "rows of a batch",
        "batches",
        "KB/s processed",
        "output",
    )
    rows: list[tuple[Value, ...]] = []
    for query in scores.plan.random:
        for variant in scores.variants(query, RANDOM):
            run = scores.known(query, variant, RANDOM)
            rows.append(
                (
                    query.upper(),
                    variant,
                    round(run.mean_s, 2),
                    round(run.max_s, 2),
                    round(run.batch_latency_s, 2),
                    round(run.mean_rows),
                    run.batches,
                    round(run.bytes_per_s / 1e3, 1),
                    "correct",
                )
            )
    return Table("figures-8-9", "Figures 8 and 9: random traffic", head, tuple(rows))


def _time(scores: Scores) -> Table:
    runs = {query: run for query in scores.plan.queries if (run := scores.get(query, LMSTREAM)) is not None}
    head = ["percent of the time"]
    for query in runs:
        head += [f"{query.upper()} published", "ours"]
    rows: list[tuple[Value, ...]] = []
    for step, name in _STEPS.items():
        row: list[Value] = [name]
        for query, run in runs.items():
            ours = {
                "buffering": run.split.buffering,
                "construct": run.split.control,
                "processing": run.split.processing,
            }
            row += [published.share(query, step), None if step not in ours else round(ours[step], 2)]
        rows.append(tuple(row))
    return Table("IV", "Table IV: where the time of LMStream goes", tuple(head), tuple(rows) if runs else ())


def _bounds(scores: Scores) -> Table:
    head = (
        "query",
        "bound, s",
        "run",
        "within the bound, %",
        "kept",
        "maximum, s",
        "batches",
        "rows of a batch",
        "busy, %",
        "throughput to LMStream",
        "without closing batches",
    )
    rows: list[tuple[Value, ...]] = []
    for query in scores.plan.queries:
        for variant in scores.variants(query):
            run, rival = scores.known(query, variant), scores.get(query, LMSTREAM)
            ratio = None if rival is None else f"{run.bytes_per_s / rival.bytes_per_s:.2f}x"
            of_data = None if rival is None else f"{run.bytes_per_s_of_data / rival.bytes_per_s_of_data:.2f}x"
            rows.append(
                (
                    query.upper(),
                    f"{run.bound_s:g}",
                    variant,
                    round(run.within, 1),
                    "yes" if run.within >= KEPT else "no",
                    round(run.max_s, 2),
                    run.batches,
                    round(run.mean_rows),
                    round(run.split.processing, 1),
                    ratio,
                    of_data,
                )
            )
    return Table("bounds", "The same bound for all", head, tuple(rows))


def beaten(scores: Scores) -> str:
    """In words: who keeps the bound, and at what throughput."""
    both = [query for query in scores.plan.queries if {LMSTREAM, OURS} <= set(scores.variants(query))]
    if not both:
        return ""
    said = []
    for variant in (BASELINE, LMSTREAM, TUNED, OURS):
        runs = [run for query in both if (run := scores.get(query, variant)) is not None]
        if runs:
            kept = sum(run.within >= KEPT for run in runs)
            said.append(f"`{variant}` keeps it in {kept} of {len(runs)} queries")
    ratios = {query: scores.throughput_ratio(query, OURS, LMSTREAM) for query in both}
    least, most = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
    text = f"A bound is kept where at least {KEPT:g}% of the batches stay within it: {', '.join(said)}. "
    text += f"`{OURS}` has {ratios[least]:.2f} ({least.upper()}) to {ratios[most]:.2f} ({most.upper()}) times the "
    text += f"throughput of `{LMSTREAM}`"
    tuned = {
        query: scores.throughput_ratio(query, OURS, TUNED) for query in both if scores.get(query, TUNED) is not None
    }
    if tuned:
        text += f", {min(tuned.values()):.2f} to {max(tuned.values()):.2f} times that of `{TUNED}`"
    if slower := [query.upper() for query in both if tumbles(QUERIES[query])]:
        text += f". In {' and '.join(slower)} LMStream aims at a latency below that bound, and pays for it"
    return f"{text}."


def _against(run: Measured, first: Measured | None) -> tuple[str | None, str | None]:
    if first is None:
        return None, None
    return f"{100 * (run.mean_s / first.mean_s - 1):+.1f}%", f"{run.bytes_per_s / first.bytes_per_s:.2f}x"
