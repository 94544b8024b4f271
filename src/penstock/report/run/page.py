"""The report of one run: its head, its large numbers, what must be known first, and its sections."""

from __future__ import annotations

from penstock.report import words
from penstock.report.page import Number, Page
from penstock.report.run.data import Run
from penstock.report.run.sections import sections
from penstock.report.run.sentences import sentences
from penstock.slo import Kind

_DIGEST = {
    "True": ("correct", "digest of the whole output"),
    "False": ("WRONG", "its digest is not the expected one"),
    "None": ("not checked", "no digest of the output is known"),
}


def run_page(run: Run) -> Page:
    """Everything that the journal says, for people."""
    header = run.recording.header
    told = [words.plain(header[key]) for key in ("app", "class", "plant") if header.get(key)]
    settings = header.get("settings")
    subtitle = [f"objective {run.slo}", *told, words.plain(settings) if settings else ""]
    return Page(
        kind=f"Penstock · report of a {'simulated ' if header.get('plant') else ''}run",
        title=words.plain(header.get("controller") or "run"),
        subtitle=" · ".join(filter(None, subtitle)),
        sentences=sentences(run.slo, run.batches, run.metrics),
        numbers=_numbers(run),
        notices=_notices(run),
        sections=sections(run),
    )


def _numbers(run: Run) -> list[Number]:
    metrics, latency = run.metrics, run.metrics["latency_s"]
    ignored = sum(metrics["ignored"].values())
    counted = f"{ignored:,} more not counted" if ignored else "all counted"
    value, meaning = _DIGEST.get(str(run.extra.get("digest_ok")), _DIGEST["None"])
    first = "" if run.slo.also is None else " first"
    band = "band; too fast is a miss" if run.slo.kind is Kind.HOLD else "bound"
    return [
        Number("met", words.percent(metrics["met_percent"]), "batches that met the objective", strong=True),
        Number("longest batch", words.duration(metrics["batch_latency_s"]["max"]), "of those that count"),
        *_asked(run),
        Number(
            "throughput",
            words.rate(metrics["throughput_per_s"]),
            f"items a second of {'virtual' if run.recording.header.get('plant') else 'wall'} time",
        ),
        Number("latency p50", words.duration(latency["p50"]), "half of the items had this or less"),
        Number("latency p95", words.duration(latency["p95"]), "95 of 100 items"),
        Number("latency p99", words.duration(latency["p99"]), "99 of 100 items"),
        Number("batches", words.count(metrics["batches"]), f"{words.short(metrics['items'])} items; {counted}"),
        Number("output", value, meaning),
        Number("B-SLH", words.percent(metrics["b_slh"]), f"batches within the{first} {band}"),
        Number("I-SLH", words.percent(metrics["i_slh"]), "items in such batches"),
        Number("MAD-D", words.percent(metrics["mad_d"]), "mean distance from the target"),
        Number("SD-D", words.percent(metrics["sd_d"]), "root mean square distance"),
    ]


def _asked(run: Run) -> list[Number]:
    """The numbers of a bounded percentile and of a second objective."""
    numbers = []
    if percentile := run.metrics["percentile"]:
        kept = {True: "kept", False: "not kept", None: "not known"}[percentile["kept"]]
        value = words.duration(percentile["value_s"])
        numbers.append(Number(f"{percentile['name']} of batches", value, f"{words.band(run.slo)}: {kept}"))
    if (also := run.metrics["also"]) and run.slo.also is not None:
        numbers += [
            Number("second B-SLH", words.percent(also["b_slh"]), f"batches with {words.band(run.slo.also)}"),
            Number("both B-SLH", words.percent(also["both"]["b_slh"]), "batches that met both objectives"),
        ]
    return numbers


def _notices(run: Run) -> list[str]:
    unusual: dict[str, list[str]] = {}
    for event in run.unusual:
        unusual.setdefault(event.name, []).append(words.told(event.details))
    notices = [
        f"{name}{f', {len(told)} times, first' if len(told) > 1 else ''}: {told[0]}" for name, told in unusual.items()
    ]
    if run.recording.torn:
        notices.append(f"{words.number_of(run.recording.torn, 'line')} of the journal could not be read.")
    if run.extra.get("digest_ok") is False:
        notices.append("The output is wrong: its digest is not the expected one.")
    if run.extra.get("interrupted") is True:
        notices.append("The run was stopped before the end of its stream.")
    theirs, ours = words.known(run.extra.get("i_slh")), run.metrics["i_slh"]
    if theirs is not None and (ours is None or abs(theirs - ours) > 0.05):
        both = f"{words.percent(theirs)} and {words.percent(ours)}"
        notices.append(f"summary.json and the journal disagree on I-SLH: {both}. This page follows the journal.")
    return notices
