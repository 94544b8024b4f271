"""A comparison of controllers: the one format of it, whether the runs were virtual or on Spark.

One row a controller; every number is a mean over its runs with a bootstrap interval. A row is told from the best one
only where their intervals do not meet. An oracle knows what no controller can know: it shows how much is left to gain,
and is not ranked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.errors import BadInputError
from penstock.json_file import write_json
from penstock.score import Interval, compare, interval_of

VERSION = 1
FILE = "comparison.json"
METRICS = ("i_slh", "b_slh", "mad_d", "sd_d", "throughput_per_s", "p95_s", "batches")
_HIGHER_IS_BETTER = {"i_slh": True, "b_slh": True, "throughput_per_s": True, "mad_d": False, "sd_d": False}
_HIGHER_IS_BETTER |= {"p95_s": False}
_HITS = ("i_slh", "b_slh", "mad_d", "sd_d")
_SHARES = ("i_slh", "b_slh")

Row = dict[str, Any]
Summary = Mapping[str, Any]


def row(controller: str, summaries: Sequence[Summary], *, limit: bool = False, folders: Sequence[str] = ()) -> Row:
    """The runs of one controller, from their summaries as `metrics.summarise` makes them.

    >>> found = row("pid", [{"i_slh": 80.0, "latency_s": {"p95": 1.1}}, {"i_slh": 84.0, "latency_s": {"p95": 1.2}}])
    >>> found["runs"], found["i_slh"]["mean"], found["p95_s"]["values"]
    (2, 82.0, [1.1, 1.2])
    """
    return {
        "controller": controller,
        "runs": len(summaries),
        "limit": limit,
        **{name: _interval(summaries, name) for name in METRICS},
        "at": _nested(summaries, "at", ("i_slh", "b_slh")),
        "patterns": _nested(summaries, "patterns", _HITS),
        "durations_s": _flat(summaries, "durations_s"),
        "control": _flat(summaries, "control"),
        "against_best": "not run",
        "folders": [str(folder) for folder in folders],
    }


def comparison(rows: Sequence[Row], about: Mapping[str, Any], metric: str = "i_slh") -> dict[str, Any]:
    """All rows, each set against the best by one metric.

    `against_best` is "best", "cannot tell" (the intervals meet, or a single run has none), "below" (they do not meet),
    "oracle" (out of the ranking) or "not run".

    >>> rows = [row("pid", [{"i_slh": 80.0}, {"i_slh": 81.0}]), row("faf", [{"i_slh": 60.0}, {"i_slh": 62.0}])]
    >>> [each["against_best"] for each in comparison(rows, {})["rows"]]
    ['best', 'below']
    """
    if metric not in _HIGHER_IS_BETTER:
        raise BadInputError("metric", metric, "not to rank by", f"write one of {', '.join(_HIGHER_IS_BETTER)}")
    sign = 1.0 if _HIGHER_IS_BETTER[metric] else -1.0
    ranked = [each for each in rows if not each["limit"] and each[metric]["mean"] is not None]
    best = max(ranked, key=lambda each: sign * each[metric]["mean"], default=None)
    judged = [{**each, "against_best": _verdict(each, best, metric)} for each in rows]
    return {"kind": "comparison", "version": VERSION, "about": dict(about), "metric": metric, "rows": judged}


def write(path: Path, found: Mapping[str, Any]) -> Path:
    """Write a comparison, whole or not at all; into a folder, under its usual name."""
    target = path / FILE if path.is_dir() else path
    write_json(target, found)
    return target


def load(path: Path) -> dict[str, Any]:
    """Read a comparison, from its file or from the folder that holds it."""
    source = path / FILE if path.is_dir() else path
    remedy = f"give a folder with a {FILE}, as penstock compare leaves it"
    try:
        found = json.loads(source.read_text())
    except OSError as error:
        raise BadInputError("comparison", str(source), f"cannot be read ({error.strerror})", remedy) from error
    except ValueError as error:
        raise BadInputError("comparison", str(source), "not JSON", remedy) from error
    if not isinstance(found, dict) or found.get("kind") != "comparison":
        raise BadInputError("comparison", str(source), "not a comparison", remedy)
    if found.get("version") != VERSION:
        reason = f"of version {found.get('version')}, and this Penstock knows {VERSION}"
        raise BadInputError("comparison", str(source), reason, "compare again")
    return found


def _verdict(one: Row, best: Row | None, metric: str) -> str:
    if not one["runs"]:
        return "not run"
    if one["limit"]:
        return "oracle"
    if one is best:
        return "best"
    if best is None:
        return "cannot tell"
    told = compare(Interval.from_json(one[metric]), Interval.from_json(best[metric]))
    return "cannot tell" if told == "cannot tell" else "below"


def _value(summary: Summary, name: str) -> float | None:
    found = (summary.get("latency_s") or {}).get("p95") if name == "p95_s" else summary.get(name)
    return None if found is None else float(found)


def _nested(summaries: Sequence[Summary], name: str, metrics: Sequence[str]) -> dict[str, Any]:
    keys = list(dict.fromkeys(key for summary in summaries for key in summary.get(name) or {}))
    inner = {key: [(summary.get(name) or {}).get(key) or {} for summary in summaries] for key in keys}
    return {key: {metric: _interval(blocks, metric) for metric in metrics} for key, blocks in inner.items()}


def _flat(summaries: Sequence[Summary], name: str) -> dict[str, Any]:
    blocks = [summary.get(name) or {} for summary in summaries]
    return {key: _interval(blocks, key) for key in dict.fromkeys(key for block in blocks for key in block)}


def _interval(summaries: Sequence[Summary], name: str) -> dict[str, Any]:
    found = interval_of([_value(summary, name) for summary in summaries]).to_json()
    if found["low"] is not None:
        # No measure here is below nothing, and no share above all.
        found["low"] = max(found["low"], 0.0)
        found["high"] = min(found["high"], 100.0) if name in _SHARES else found["high"]
    return found
