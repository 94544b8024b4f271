"""The page of results: one section is made anew, all else stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.bench.compare.about import about_runs
from penstock.bench.compare.spec import CompareSpec
from penstock.errors import BadInputError
from penstock.reproduce.page import replace_section
from penstock.reproduce.results.sections import military_section, settling_section
from penstock.sample import BatchSample
from penstock.score import summarise
from penstock.score.comparison import comparison, row
from penstock.slo import Slo

PAGE = "# Results\n\nBefore.\n\n<!-- begin: military -->\nold\n<!-- end: military -->\n\nAfter.\n"


def test_a_section_is_replaced_between_its_markers_and_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    page.write_text(PAGE)
    replace_section(page, "military", "\nnew\n")
    assert page.read_text() == PAGE.replace("old", "new")
    replace_section(page, "military", "new")
    assert page.read_text() == PAGE.replace("old", "new")


def test_a_page_without_the_section_gets_it_at_its_end(tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    page.write_text(PAGE)
    replace_section(page, "thesis", "tables")
    assert page.read_text() == f"{PAGE}\n<!-- begin: thesis -->\ntables\n<!-- end: thesis -->\n"
    replace_section(tmp_path / "new.md", "thesis", "tables")
    assert (tmp_path / "new.md").read_text().startswith("<!-- begin: thesis -->")


def test_a_section_without_end_is_refused_and_the_page_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    page.write_text("<!-- begin: military -->\nall the rest")
    with pytest.raises(BadInputError, match="has no end"):
        replace_section(page, "military", "new")
    assert page.read_text() == "<!-- begin: military -->\nall the rest"


def test_the_military_section_has_every_row_its_numbers_and_the_published_ones() -> None:
    samples = [
        BatchSample(i, 10, 10, 1.0 + (i % 2), part="wave", started_s=2.0 * i, durations_s={"wal": 0.012})
        for i in range(4)
    ]
    summary = {**summarise(samples, Slo.parse("1 s ± 10%")), "control": {"mean_ms": 1.25, "share_percent": 0.1}}
    trials = [{"size": 4000.0, "i_slh": 12.3}, {"size": 2000.0, "i_slh": None}]
    auto = {**row("fixed:auto", []), "about": {"size": 4000.0, "seconds": 50.0, "trials": trials}}
    rows = [row("pid", [summary, summary]), auto, row("oracle", [summary], limit=True)]
    about = about_runs(CompareSpec("military", ("pid", "fixed:auto", "oracle")), 2, "make results", 600.0)
    text = military_section(comparison(rows, about))
    lines = [line.replace(" ", "") for line in text.splitlines()]
    hits = "|pid|2|50.0(50.0to50.0)|50.0(50.0to50.0)|50.0(50.0to50.0)|70.7(70.7to70.7)|50.0|50.0|4|5|2|best|"
    assert hits in lines
    assert any(line.startswith("|fixed:auto|0|-|") and line.endswith("|notrun|") for line in lines)
    assert any(line.startswith("|oracle|1|50.0|") and line.endswith("|oracle|") for line in lines)
    assert "|pid|52.1|50.0|62.9|50.0|17.0|50.0|36.9|70.7|" in lines
    assert "|pid|-|0.012|-|-|-|1.25|0.10|" in lines
    assert "I-SLH of those tried: 4000: 12.3, 2000: -" in text
    assert "10 minutes in all" in text


def test_the_settling_section_has_a_row_for_each_controller() -> None:
    lines = settling_section(["faf", "fixed"]).splitlines()
    assert lines[-2].startswith("| faf | 8 |")
    assert lines[-1].startswith("| fixed | swings |")
