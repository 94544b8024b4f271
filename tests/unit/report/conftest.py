"""Runs to report on, and a strict reader of the pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from penstock.journal import Journal
from penstock.report import page as page_module
from penstock.report.write import write_report
from penstock.sample import BatchSample, Decision, Status

VOID = {"meta", "input", "br", "img"}
PLOTLY = "/* the script that draws */"
LATENCIES_S = [0.4, 1.0, 1.05, 1.5, 0.95, 1.0, 1.02, 9.0]
HEADER = {"slo": "1 s ± 10%", "controller": "pmbaf", "unit": "rows"}


class Outline(HTMLParser):
    """Reads a page strictly: every element that is opened must be closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.data: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        if inside == "script":
            if name := self.tags[-1][1].get("data-chart"):
                self.data[name] = self.data.get(name, "") + data
        elif inside != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.texts)

    def chart(self, name: str) -> dict[str, Any]:
        return dict(json.loads(self.data[name]))

    def points(self, name: str) -> list[dict[str, Any]]:
        return list(self.chart(name)["data"])


def _parsed(text: str) -> Outline:
    page = Outline()
    page.feed(text)
    page.close()
    assert page.open == []
    return page


def _outline(path: Path) -> Outline:
    text = path.read_text(encoding="utf-8")
    assert text.count(PLOTLY) == 1
    return _parsed(text)


def _batch(number: int, latency_s: float = 1.0, **fields: Any) -> BatchSample:
    values: dict[str, Any] = {"batch_id": number, "size": 100, "items": 100, "processing_s": latency_s}
    values |= {"load": 10.0 + number, "part": "low" if number < 4 else "high"}
    values |= {"durations_s": {"planning": 0.1, "processing": latency_s - 0.1}, "started_s": 2.0 * number}
    return BatchSample(**(values | fields))


def _journal_in(
    folder: Path, samples: list[BatchSample], reason: str = "within the band", header: dict[str, Any] | None = None
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with Journal.open(folder / "journal.jsonl", HEADER if header is None else header) as journal:
        for sample in samples:
            journal.sample(sample, control_s=0.002)
            journal.decision(sample.batch_id, Decision(120, f"{reason} {sample.batch_id}"), applied=True)
    return folder


@pytest.fixture(scope="session")
def parsed() -> Callable[[str], Outline]:
    """Reads markup."""
    return _parsed


@pytest.fixture(scope="session")
def outline() -> Callable[[Path], Outline]:
    """Reads the page in a file."""
    return _outline


@pytest.fixture(scope="session")
def batch() -> Callable[..., BatchSample]:
    """Makes the sample of a batch, given its number, its latency and what is special about it."""
    return _batch


@pytest.fixture(scope="session")
def samples() -> list[BatchSample]:
    """A warm-up, then seven batches; two of them miss, one far above the others."""
    counted = [_batch(number, latency_s) for number, latency_s in enumerate(LATENCIES_S) if number]
    return [_batch(0, LATENCIES_S[0], status=Status.WARM_UP), *counted]


@pytest.fixture(scope="session")
def journal_in() -> Callable[..., Path]:
    """Writes the journal of a run into a folder."""
    return _journal_in


@pytest.fixture
def folder(tmp_path: Path, samples: list[BatchSample]) -> Path:
    """The folder of a run, with the journal of `samples`."""
    return _journal_in(tmp_path / "run", samples)


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """Plotly's script is 5 MB, the same on every page, and none of our business in most of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_module, "plotly_js", lambda: PLOTLY)
        yield


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, small: None, samples: list[BatchSample]) -> Outline:
    """The report of `samples`, read."""
    return _outline(write_report(_journal_in(tmp_path_factory.mktemp("page") / "run", samples)))
