"""The section of the results page on outages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.bench.compare.about import about_here
from penstock.bench.outage.drain import SETTLING_S
from penstock.slo import Metric, Slo

_COLUMNS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "": lambda row: str(row["contender"]),
    "runs": lambda row: str(row["rounds"]),
    "first batch": lambda row: f"{row['first_batch']:,}",
    "largest": lambda row: f"{row['largest_batch']:,}",
    "drain, s": lambda row: _number(row["drain_s"]),
    "to plain": lambda row: _ratio(row),
    "caught up, s": lambda row: _number(row["caught_up_s"]),
    "mean batch, s": lambda row: _number(row["processing_mean_s"], 2),
    "longest batch, s": lambda row: _number(row["processing_max_s"]),
    "I-SLH": lambda row: _number(row["i_slh"]),
    "mean end-to-end, s": lambda row: _number(row["end_to_end_mean_s"]),
    "longest end-to-end, s": lambda row: _number(row["lag_max_s"]),
    "lag at first, records": lambda row: f"{row['lag_max_items']:,.0f}",
    "each record once": lambda row: "yes" if row["counted_once"] else "NO",
}

_OF_A_BACKLOG = ("first batch", "drain, s", "to plain", "caught up, s", "lag at first, records")

_BACKLOG = """Drain is from the start of the query to the end of the batch that takes the last record of the backlog;
"to plain" is that over the drain of plain Spark in the same round (each round in brackets). Caught up is when a batch
is back in bounds, from the arrival of its oldest record to its end{bound}. Hits (I-SLH) are items of the batches of the
drain, its last one left out, which may be small. End-to-end is of the oldest record of each batch, the mean weighted by
records; records of the backlog count from the start of the query. The lag is what the first batch leaves. Numbers are
means over the rounds, sizes the largest."""
_ARRIVALS = f"""Hits (I-SLH) are items of all batches but those of the first {SETTLING_S:g} s, in which a query starts
and catches up. End-to-end is of the oldest record of each batch, the mean weighted by records. Numbers are means over
the rounds, sizes the largest."""


def outage_section(found: Mapping[str, Any], command: str) -> str:
    """What an outage came to, as Markdown."""
    spec, here = found["spec"], about_here()
    backlog = (
        f"{spec['records']:,} records wait in a topic of {spec['partitions']} partitions when the query starts, and "
        f"{spec['arrivals']} go on arriving"
        if spec["records"]
        else f"Records arrive as {spec['arrivals']}"
    )
    intro = f"""## {"After an outage" if spec["records"] else "Arrivals that swing"}, on Kafka: {_what(spec)}

{backlog}. The query parses readings of sensors from JSON and keeps sums for each of 500 sensors, on one real broker;
objective {spec["slo"]}. `plain` is Spark alone. Contenders take turns in one session, each round in the other order, on
topics filled alike. Made by `{command}` on {here["date"]}: {here["machine"]}, Python {here["python"]}, Spark
{here["spark"]}, `{spec["master"]}`.

{_BACKLOG.format(bound=_bound(spec)) if spec["records"] else _ARRIVALS}
"""
    columns = {head: cell for head, cell in _COLUMNS.items() if spec["records"] or head not in _OF_A_BACKLOG}
    lines = [list(columns), ["---"] * len(columns)]
    lines += [[cell(row) for cell in columns.values()] for row in found["contenders"]]
    return intro + "\n" + "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _what(spec: Mapping[str, Any]) -> str:
    return str(spec["slo"] if spec["records"] else spec["arrivals"].partition(":")[0])


def _bound(spec: Mapping[str, Any]) -> str:
    if Slo.parse(spec["slo"]).metric is Metric.END_TO_END:
        return ""
    return ", here twice the latency of a batch: a record waits for one batch and is processed in the next"


def _number(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _ratio(row: Mapping[str, Any]) -> str:
    if row["drain_ratio"] is None:
        return "–"
    return f"{row['drain_ratio']:.2f} ({', '.join(f'{ratio:.2f}' for ratio in row['drain_ratios'])})"
