"""A page loads nothing from anywhere, and no text becomes markup on it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.journal import Journal
from penstock.report import page as page_module
from penstock.report.chart import Chart, figure, plotly_js
from penstock.report.page import Page, Section
from penstock.report.write import write_report
from penstock.sample import BatchSample

pytest.importorskip("plotly")

Batch = Callable[..., BatchSample]
Written = Callable[..., Path]
Read = Callable[[Path], Any]
HOLD = "1 s ± 10%"
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


def test_the_page_loads_nothing_from_anywhere(page: Any) -> None:
    for tag, attributes in page.tags:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base"}
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")
    policy = next(
        a["content"] for t, a in page.tags if t == "meta" and a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy


def test_the_script_that_draws_is_inside_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "plotly_js", plotly_js)
    script = plotly_js()
    assert "</script" not in script
    assert write_report(folder).read_text().count(script) == 1


def test_plotly_is_told_not_to_offer_its_servers(folder: Path) -> None:
    written = write_report(folder).read_text()
    assert "showSendToCloud: false" in written
    assert 'plotlyServerURL: ""' in written
    assert "https://" not in written


def test_text_of_a_journal_never_becomes_markup(
    tmp_path: Path, batch: Batch, journal_in: Written, outline: Read
) -> None:
    samples = [batch(n, part=EVIL) for n in range(3)]
    header = {"slo": HOLD, "controller": EVIL, "app": EVIL, "labels": {EVIL: EVIL}}
    folder = journal_in(tmp_path / "run", samples, reason=EVIL, header=header)
    with Journal.open(folder / "journal.jsonl", header) as journal:
        journal.event(EVIL, why=EVIL)
    (folder / "summary.json").write_text(json.dumps({"spec": {EVIL: EVIL}}))
    page = outline(write_report(folder))
    tags = [tag for tag, _ in page.tags]
    assert "img" not in tags
    # Ours, plotly's, and one for each chart.
    assert tags.count("script") == 2 + len(page.data)
    assert EVIL in page.text
    text = next(trace for trace in page.points("timeline") if trace.get("name") == "hit")["text"][0]
    assert "<img" not in text
    assert "&lt;img" in text


def test_no_text_in_a_figure_can_end_its_script(parsed: Callable[[str], Any]) -> None:
    drawn = figure(100)
    drawn.add_scatter(x=[1], y=[1], name=EVIL)
    written = Page("", "", "", [], [], [], [Section("", "", "", [Chart("x", drawn, "a chart")])]).render()
    # Its own, plotly's and the page's.
    assert written.count("</script>") == 3
    page = parsed(written)
    assert page.points("x")[0]["name"] == EVIL
