"""The page of a comparison."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import BadInputError
from penstock.report.write import write_report
from penstock.sample import BatchSample
from penstock.score import comparison as comparisons

pytest.importorskip("plotly")

Written = Callable[..., Path]
Read = Callable[[Path], Any]
HOLD = "1 s ± 10%"
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


def comparison_in(folder: Path, rows: list[dict[str, Any]]) -> Path:
    """Test data, made up; no run gave these numbers."""
    folder.mkdir(parents=True, exist_ok=True)
    about = {"app": "test data", "class": "made up", "slo": HOLD, "command": EVIL}
    comparisons.write(folder, comparisons.comparison(rows, about))
    return folder


def summary(i_slh: float) -> dict[str, Any]:
    block = {"i_slh": i_slh, "b_slh": i_slh - 5, "mad_d": 100 - i_slh, "sd_d": 110 - i_slh}
    at = dict.fromkeys(("5%", "10%", "15%", "20%"), block)
    more = {"throughput_per_s": 1000.0, "latency_s": {"p95": 1.2}, "batches": 80}
    return {**block, **more, "at": at, "patterns": {"wave": block, "spike": block}}


def rows() -> list[dict[str, Any]]:
    return [
        comparisons.row("faf", [summary(40.0), summary(41.0), summary(42.0)], folders=["r1/faf"]),
        comparisons.row("pmbaf", [summary(80.0), summary(82.0), summary(84.0)], folders=["r1/pmbaf", "r2/pmbaf"]),
        comparisons.row("pid", [summary(81.0), summary(81.5), summary(82.0)]),
        comparisons.row(f"one {EVIL}", [summary(60.0)]),
        comparisons.row("oracle", [summary(95.0), summary(96.0)], limit=True),
        comparisons.row("lost", []),
    ]


def test_a_comparison_ranks_sets_oracles_apart_and_says_where_it_cannot_tell(tmp_path: Path, outline: Read) -> None:
    page = outline(write_report(comparison_in(tmp_path / "c", rows())))
    assert "pmbaf has the best I-SLH: 82.0% (76.6% to 87.4%) over 3 runs." in page.text
    assert re.search(r"These runs cannot tell it from pid and one ", page.text)
    assert "Worse beyond these intervals: faf." in page.text
    assert "Not run, and so not ranked: lost." in page.texts
    chart = page.chart("intervals")
    ticks = dict(zip(chart["layout"]["yaxis"]["ticktext"], chart["layout"]["yaxis"]["tickvals"], strict=True))
    assert sorted(ticks, key=ticks.__getitem__, reverse=True)[:2] == ["pmbaf", "pid"]
    assert min(ticks, key=ticks.__getitem__) == "oracle"
    dots = {trace["name"]: trace for trace in chart["data"] if trace["visible"]}
    assert dots["best"]["x"] == [82.0]
    assert dots["best"]["error_x"]["arrayminus"] == dots["best"]["error_x"]["array"] == [pytest.approx(5.37, abs=0.01)]
    assert dots["cannot tell"]["x"] == [81.5, 60.0]
    assert dots["oracle"]["x"] == [95.5]


def test_views_of_a_comparison_show_one_measure_each(tmp_path: Path, outline: Read) -> None:
    chart = outline(write_report(comparison_in(tmp_path / "c", rows()))).chart("intervals")
    assert [view["label"] for view in chart["views"]] == ["I-SLH", "B-SLH", "MAD-D", "SD-D", "p95", "throughput"]
    shown = [view["restyle"]["visible"] for view in chart["views"]]
    assert all(sum(column) == 1 for column in zip(*shown, strict=True))
    assert [trace["visible"] for trace in chart["data"]] == shown[0]
    mad = chart["views"][2]["relayout"]
    assert "less is better" in mad["xaxis.title.text"]
    assert mad["yaxis.ticktext"][:2] == ["pmbaf", "pid"]


def test_timelines_of_single_runs_are_there_where_their_journals_are(
    tmp_path: Path, samples: list[BatchSample], journal_in: Written, outline: Read
) -> None:
    folder = comparison_in(tmp_path / "c", rows())
    assert "small-multiples" not in outline(write_report(folder)).data
    journal_in(folder / "r1" / "faf", samples)
    write_report(folder / "r1" / "faf")
    (folder / "r1" / "pmbaf").mkdir()
    (folder / "r1" / "pmbaf" / "journal.jsonl").write_text("torn")
    page = outline(write_report(folder))
    assert [len(trace["x"]) for trace in page.points("small-multiples")] == [7]
    assert "faf, I-SLH 71.4%" in page.data["small-multiples"]
    assert [a["href"] for tag, a in page.tags if tag == "a" and not str(a["href"]).startswith("#")] == [
        "r1/faf/report.html"
    ]


def test_a_comparison_with_holes_is_still_a_page(tmp_path: Path, outline: Read) -> None:
    unknown = {"mean": None, "low": None, "high": None, "values": None}
    holes = [
        {"controller": "a", "runs": 1, "limit": False, "i_slh": {"mean": 50.0, "low": None, "high": None}},
        {"controller": "b", "runs": None, "i_slh": unknown, "at": {"5%": None}, "patterns": {"wave": None}},
        {"against_best": "best"},
    ]
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / "comparison.json").write_text(json.dumps({"kind": "comparison", "version": 1, "rows": holes}))
    page = outline(write_report(folder / "comparison.json"))
    assert "50.0%" in page.texts
    (folder / "comparison.json").write_text(json.dumps({"kind": "comparison", "version": 1, "about": None, "rows": []}))
    assert "Nothing can be ranked" in outline(write_report(folder)).text


def test_text_of_a_comparison_never_becomes_markup(tmp_path: Path, outline: Read) -> None:
    page = outline(write_report(comparison_in(tmp_path / "c", rows())))
    assert "img" not in [tag for tag, _ in page.tags]
    assert "<img" not in "".join(page.data.values())


def test_a_future_comparison_is_refused(tmp_path: Path) -> None:
    (tmp_path / "comparison.json").write_text('{"kind": "comparison", "version": 2}')
    with pytest.raises(BadInputError, match="version 2"):
        write_report(tmp_path)
