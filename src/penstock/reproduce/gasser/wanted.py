"""What we asked of ourselves before measuring, and whether it was met."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from penstock.bench.measures.windows import aggregates, plumbing
from penstock.bench.measures.windows.cases import Setting
from penstock.bench.measures.windows.peers import SPARK
from penstock.reproduce.gasser.scores import Scores, case
from penstock.reproduce.table import Table, Value


@dataclass(frozen=True)
class Goal:
    """A limit on numbers, the worst of which decides; `at_least` where higher is better."""

    name: str
    limit: float
    at_least: bool
    look: Callable[[Scores], dict[str, float]]


def _gains(low: float, high: float) -> Callable[[Scores], dict[str, float]]:
    def look(scores: Scores) -> dict[str, float]:
        gains = scores.gains(SPARK)
        return {case(each): gain for each, gain in gains.items() if low <= each.length / each.every < high}

    return look


def _shares(scores: Scores) -> dict[str, float]:
    wanted = [Setting(query, *window) for query in ("q1", "q2") for window in ((10_000, 5), (50_000, 25))]
    found = {case(each): scores.results.rate(each, name="kernel_share") for each in wanted}
    return {name: 100 * share for name, share in found.items() if share is not None}


def _plumbing(scores: Scores) -> dict[str, float]:
    found = {who: scores.results.plumbing(who, "cpu_s_per_million") for who in (plumbing.UNKEYED, plumbing.KEYED)}
    return {who: value for who, value in found.items() if value is not None}


def _fixed(scores: Scores) -> dict[str, float]:
    found = {who: scores.results.fixed_s(who) for who in (plumbing.UNKEYED, plumbing.KEYED)}
    return {who: value for who, value in found.items() if value is not None}


def _aggregates(scores: Scores) -> dict[str, float]:
    found = {f"every {every_s:g} s": scores.results.aggregate(every_s) for every_s in aggregates.SLIDES_S}
    return {name: value for name, value in found.items() if value is not None}


def _planner(scores: Scores) -> dict[str, float]:
    return {f"{windows:,} windows": ratio for windows, ratio in scores.results.planners()}


GOALS = (
    Goal("times plain PySpark, from w/s = 400 on", 20, True, _gains(400, float("inf"))),
    Goal("times plain PySpark, at w/s from 100 to 400", 5, True, _gains(100, 400)),
    Goal("kernel's share of batch time at 10k/5 and 50k/25, %", 60, True, _shares),
    Goal("CPU seconds per million rows, nothing computed", 3.5, False, _plumbing),
    Goal("fixed seconds a batch", 0.45, False, _fixed),
    Goal("batch time over Spark's own window aggregation", 2, False, _aggregates),
    Goal("planner's time over the best single device's", 1.1, False, _planner),
)


def wanted_table(scores: Scores, goals: Sequence[Goal] = GOALS) -> Table:
    """A row a goal: the limit, the worst value that was measured, and whether it was met."""
    rows: list[tuple[Value, ...]] = []
    for goal in goals:
        found = goal.look(scores)
        limit = f"{'at least' if goal.at_least else 'at most'} {goal.limit:g}"
        if not found:
            rows.append((goal.name, limit, None, None, "not measured"))
            continue
        worst = (min if goal.at_least else max)(found, key=found.__getitem__)
        met = found[worst] >= goal.limit if goal.at_least else found[worst] <= goal.limit
        rows.append((goal.name, limit, round(found[worst], 2), worst, "met" if met else "**missed**"))
    return Table("wanted", "What we asked of ourselves", ("goal", "limit", "worst", "where", "state"), tuple(rows))
