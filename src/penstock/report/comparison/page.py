"""The report of a comparison: who kept the objective best, and where these runs cannot tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.report import words
from penstock.report.comparison.charts import interval_chart, patterns_chart
from penstock.report.comparison.measures import MEASURES, mean_of, ordered
from penstock.report.comparison.small_multiples import load_first_runs, timelines_chart
from penstock.report.comparison.tables import metrics_table, single_runs_table, tolerances_table
from penstock.report.page import Number, Page, Section
from penstock.report.parts import Pairs
from penstock.score.bootstrap import LEVEL

Row = Mapping[str, Any]
_RANKING = (
    "Sorted by each measure, the best on top; the small marks are single runs, and the look of a dot is its verdict by "
    "{measure}. Oracles stand apart: they know what no controller can know, and show how much is left to gain."
)
_TIMELINES = (
    "The first run of each controller against seconds, all on one scale; what is higher stands at the upper edge as a "
    "triangle."
)


def comparison_page(found: Mapping[str, Any], folder: Path) -> Page:
    """Everything in a comparison, for people; `folder` is where the folders of its runs are looked for."""
    about: Mapping[str, Any] = found.get("about") or {}
    metric = str(found.get("metric", "i_slh"))
    rows = ordered([row for row in found.get("rows") or [] if isinstance(row, Mapping)], metric)
    told = [words.plain(about[key]) for key in ("app", "plant", "class") if about.get(key)]
    objective = [f"objective {about['slo']}"] if about.get("slo") else []
    ranked = [row for row in rows if not row.get("limit") and row.get("runs")]
    return Page(
        kind="Penstock · report of a comparison",
        title=f"{words.number_of(len(ranked), 'controller')} compared",
        subtitle=" · ".join([*objective, *told]),
        sentences=_sentences(rows, metric),
        numbers=_numbers(rows, metric),
        notices=_notices(rows, about),
        sections=_sections(rows, about, metric, folder),
    )


_ORACLE = "not ranked: it knows costs that no controller knows"


def _sentences(rows: Sequence[Row], metric: str) -> list[str]:
    measure = MEASURES.get(metric, MEASURES["i_slh"])
    groups = {
        word: [row for row in rows if row.get("against_best") == word] for word in ("best", "cannot tell", "below")
    }
    if not groups["best"]:
        return ["Nothing can be ranked: no controller has a run that counts."]
    best = groups["best"][0]
    runs = words.number_of(int(best.get("runs") or 0), "run")
    told = (
        f"{best.get('controller')} has the best {measure.label}: {measure.with_interval(best.get(metric))} over {runs}."
    )
    more = []
    if groups["cannot tell"]:
        names = _names(groups["cannot tell"])
        more.append(f"These runs cannot tell it from {names}: the intervals meet, or a single run has none.")
    if groups["below"]:
        more.append(f"Worse beyond these intervals: {_names(groups['below'])}.")
    meaning = (
        f"A dot is the mean over the runs of a controller, its bar the {LEVEL:.0%} bootstrap interval of that mean. "
        "Where two bars meet, these runs cannot tell. Bars that do not meet are a difference but for chance, and many "
        "rows give chance more room; a single run has no bar."
    )
    return [" ".join([told, *more]), meaning]


def _names(rows: Sequence[Row]) -> str:
    names = [str(row.get("controller")) for row in rows]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _numbers(rows: Sequence[Row], metric: str) -> list[Number]:
    measure = MEASURES.get(metric, MEASURES["i_slh"])
    chosen = [
        row for row in rows if row.get("against_best") in ("best", "oracle") and mean_of(row.get(metric)) is not None
    ]
    return [
        Number(
            str(row.get("controller")),
            measure.text(mean_of(row.get(metric))),
            f"{measure.label}, {_ORACLE if row.get('limit') else 'the best'}",
            strong=not row.get("limit"),
        )
        for row in chosen[:5]
    ]


def _notices(rows: Sequence[Row], about: Mapping[str, Any]) -> list[str]:
    absent = [row for row in rows if row.get("against_best") == "not run" or not row.get("runs")]
    told = [f"Not run, and so not ranked: {_names(absent)}."] if absent else []
    return told + [f"A run failed and does not count: {failure}." for failure in about.get("failures") or []]


def _sections(rows: Sequence[Row], about: Mapping[str, Any], metric: str, folder: Path) -> list[Section]:
    found: list[Section] = []
    if any(mean_of(row.get(name)) is not None for row in rows for name in MEASURES):
        text = _RANKING.format(measure=MEASURES.get(metric, MEASURES["i_slh"]).label)
        found.append(Section("ranking", "Side by side", text, [interval_chart(rows, metric)]))
    found.append(Section("numbers", "All numbers", "Mean, and below it the interval.", [metrics_table(rows)]))
    if any(row.get("patterns") for row in rows):
        text = "The mean in each part of the load."
        found.append(Section("patterns", "By pattern", text, [patterns_chart(rows)]))
    if any(row.get("at") for row in rows):
        text = "The same runs, judged at narrower and wider bands: I-SLH, and B-SLH in brackets."
        found.append(Section("tolerances", "At other tolerances", text, [tolerances_table(rows)]))
    if runs := load_first_runs(rows, folder):
        links = single_runs_table(rows, folder)
        found.append(
            Section(
                "timelines", "Latency of single runs", _TIMELINES, [timelines_chart(runs), *([links] if links else [])]
            )
        )
    fields = [(str(key), words.plain(value)) for key, value in about.items()]
    found.append(Section("about", "About", "", [Pairs(fields or [("about", words.DASH)], "About the comparison")]))
    return found
