"""Tables 5.1 to 5.5 as the thesis has them, the published value beside ours, and the oracles as further rows."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from penstock.bench.compare.grid import STEPPING
from penstock.reproduce.table import Table, Value
from penstock.reproduce.thesis import published
from penstock.reproduce.thesis.cells import PARTS
from penstock.reproduce.thesis.grid import ORACLES, THRESHOLDS
from penstock.reproduce.thesis.published import Best, BestPid
from penstock.reproduce.thesis.scores import LABELS, Score, Scores


def tables(scores: Scores) -> list[Table]:
    """All five."""
    return [
        _best_table(scores, "5.1", "Best SLO hits and their configurations, in percent", ("b_slh", "i_slh")),
        _deviations(scores),
        _patterns(scores),
        _best_table(scores, "5.4", "Best SLO distances and their configurations, in percent", ("mad_d", "sd_d")),
        _pid(scores),
    ]


def _best_table(scores: Scores, name: str, title: str, metrics: tuple[str, str]) -> Table:
    head = ["threshold", "algorithm"]
    for metric in metrics:
        label = LABELS[metric]
        head += [f"{label} published", "step/sample", f"{label} ours", "95% interval", "step/sample"]
    source = published.HITS if name == "5.1" else published.DISTANCES
    rows: list[tuple[Value, ...]] = []
    for threshold in THRESHOLDS:
        for algorithm in STEPPING:
            row: list[Value] = [f"{threshold}%", algorithm.upper()]
            for theirs, metric in zip(source[threshold][algorithm], metrics, strict=True):
                row += [theirs.value, _setting(theirs), *_ours(scores.best(algorithm, metric, threshold))]
            rows.append(tuple(row))
        for oracle in ORACLES:
            row = [f"{threshold}%", oracle]
            for metric in metrics:
                row += [None, None, *_ours(scores.best(oracle, metric, threshold))]
            rows.append(tuple(row))
    return Table(name, title, tuple(head), tuple(rows))


def _deviations(scores: Scores) -> Table:
    head = ("algorithm", "B-SLH published", "B-SLH ours", "I-SLH published", "I-SLH ours")
    rows: list[tuple[Value, ...]] = []
    for algorithm in (*STEPPING, *ORACLES):
        theirs = published.DEVIATIONS.get(algorithm, (None, None))
        row: list[Value] = [algorithm.upper() if algorithm in STEPPING else algorithm]
        for value, metric in zip(theirs, ("b_slh", "i_slh"), strict=True):
            score = scores.best(algorithm, metric, THRESHOLDS[0])
            row += [value, _round(score.deviation) if score else None]
        rows.append(tuple(row))
    return Table(
        "5.2", "Standard deviations over the runs of the best configurations at 5%, in points", head, tuple(rows)
    )


def _patterns(scores: Scores) -> Table:
    head = ["algorithm"]
    for part in PARTS:
        head += [f"{part} published", "ours"]
    rows: list[tuple[Value, ...]] = []
    for algorithm in (*STEPPING, *ORACLES):
        row: list[Value] = [algorithm.upper() if algorithm in STEPPING else algorithm]
        for number, part in enumerate(PARTS):
            values = scores.pattern(algorithm, part)
            theirs = published.PATTERNS[algorithm][number] if algorithm in published.PATTERNS else None
            row += [theirs, _round(mean(values)) if values else None]
        rows.append(tuple(row))
    return Table("5.3", "I-SLH by load pattern, the mean over all configurations, in percent", tuple(head), tuple(rows))


def _pid(scores: Scores) -> Table:
    head = ("threshold", "metric", "published", "sample, Kp/Ki/Kd", "ours", "95% interval", "sample, Kp/Ki/Kd")
    rows: list[tuple[Value, ...]] = []
    for threshold, of_metric in published.PID_HITS.items():
        for metric, theirs in of_metric.items():
            ours = _ours(scores.best("pid", metric, threshold))
            rows.append((f"{threshold}%", LABELS[metric], theirs.value, _setting(theirs), *ours))
    for metric, theirs in published.PID_DISTANCES.items():
        ours = _ours(scores.best("pid", metric, THRESHOLDS[0]))
        rows.append(("any", LABELS[metric], theirs.value, _setting(theirs), *ours))
    return Table("5.5", "Best PID by threshold and metric, in percent", head, tuple(rows))


def _ours(score: Score | None) -> list[Value]:
    if score is None:
        return [None, None, None]
    low, high = score.interval.low, score.interval.high
    interval = None if low is None or high is None else f"{low:.2f} to {high:.2f}"
    config = score.config
    if config.algorithm == "pid":
        setting: Value = f"{config.sample}, {config.kp:g}/{config.ki:g}/{config.kd:g}"
    else:
        setting = None if config.step is None else f"{config.step:g}/{config.sample}"
    return [_round(score.mean), interval, setting]


def _setting(theirs: Best | BestPid) -> str:
    if isinstance(theirs, BestPid):
        return f"{theirs.sample}, {theirs.kp:g}/{theirs.ki:g}/{theirs.kd:g}"
    return f"{theirs.step:g}/{theirs.sample}"


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def section(found: Sequence[Table]) -> str:
    """The tables as a Markdown section, for a page of results."""
    return "\n\n".join(f"### Table {table.name}: {table.title}\n\n{table.markdown()}" for table in found) + "\n"
