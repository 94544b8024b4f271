"""The page of the demonstration: the sentence, the picture, the three side by side, and their own reports."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path

from penstock.bench.demo.race_result import NAMES, PENSTOCK, PLAIN, RaceResult, notes, seconds, sentence
from penstock.report import words
from penstock.report.page import Number, Page, Section
from penstock.report.parts import Cell, Image, Table
from penstock.slo import Slo

_OUTPUT = {True: "correct", False: "WRONG", None: "not checked"}
_ABOUT = (
    "The same stream in one Spark session: all items wait when the query comes back, and the cost of an item swings "
    "6:1. The fixed size was measured first, as the one whose batches of the heaviest items take 0.8 of the bound. "
    "Every batch counts, also the first."
)
_PICTURE = "A bar is a batch, from its start to its end and as high as it is long; the axis is logarithmic."


def write_page(
    results: Mapping[str, RaceResult], slo: Slo, picture: Path, reports: Mapping[str, Path], out: Path
) -> Path:
    """Write the page and give its path; `reports` are the pages of single runs, at or below the folder of this one."""
    ours, plain = results[PENSTOCK], results[PLAIN]
    page = Page(
        kind="Penstock · demonstration",
        title="A backlog, drained three ways",
        subtitle=f"objective {slo}",
        sentences=[sentence(results)],
        numbers=[
            Number("within the bound", words.percent(ours.within_percent), "of Penstock's batches", strong=True),
            Number("longest batch", seconds(ours.longest_s), f"plain Spark: {seconds(plain.longest_s)}"),
            Number("drained in", ours.drained, f"plain Spark: {plain.drained}"),
        ],
        notices=notes(results),
        sections=[
            Section("picture", "Batch by batch", _PICTURE, [_image(picture)]),
            Section("contenders", "Side by side", _ABOUT, [_table(results, reports, out)]),
        ],
    )
    out.write_text(page.render(), encoding="utf-8")
    return out


def _image(path: Path) -> Image:
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    about = "Latency of each batch over time, and the share of the backlog that is done, for each of the three"
    return Image(f"data:image/png;base64,{data}", about)


def _table(results: Mapping[str, RaceResult], reports: Mapping[str, Path], out: Path) -> Table:
    rows = []
    for name in NAMES:
        result = results[name]
        link: Cell | str = words.DASH
        if name in reports:
            link = Cell("decisions and measures", link=reports[name].relative_to(out.parent).as_posix())
        rows.append(
            [
                NAMES[name],
                f"{result.within:,} of {result.batches:,}",
                words.percent(result.within_percent),
                seconds(result.longest_s),
                result.drained,
                _OUTPUT[result.output_ok],
                link,
            ]
        )
    head = ["", "batches within the bound", "share", "longest batch", "drained in", "output", "report"]
    return Table(head, rows, label="The three side by side", words=(0, 5, 6))
