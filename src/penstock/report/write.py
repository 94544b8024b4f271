"""From a path to a report: finds out what lies there, and writes the one file."""

from __future__ import annotations

from pathlib import Path

from penstock.errors import BadInputError
from penstock.report.comparison.page import comparison_page
from penstock.report.page import Page, check_packages
from penstock.report.run.data import load_run
from penstock.report.run.page import run_page
from penstock.score import comparison as comparisons

JOURNAL = "journal.jsonl"
REPORT = "report.html"
_REMEDY = f"give the folder of a run, with its {JOURNAL}, or of a comparison, with its {comparisons.FILE}"


def write_report(path: Path, out: Path | None = None) -> Path:
    """The report of the run or comparison at `path`, a folder or the file itself; gives the path of the page.

    By default it is `report.html` in that folder; for a file of another name than usual, that name with `.html`.
    """
    check_packages()
    page = _page_of(path)
    target = out or _beside(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page.render(), encoding="utf-8")
    except OSError as error:
        reason = f"cannot be written ({error.strerror})"
        raise BadInputError("out", str(target), reason, "give a file in a folder you own") from error
    return target


def _page_of(path: Path) -> Page:
    try:
        source = _source(path)
        if source.suffix == ".json":
            return comparison_page(comparisons.load(source), source.parent)
        return run_page(load_run(source))
    except OSError as error:
        raise BadInputError("path", str(path), f"cannot be read ({error.strerror})", _REMEDY) from error


def _source(path: Path) -> Path:
    """The file to read."""
    if not path.exists():
        raise BadInputError("path", str(path), "is not there", _REMEDY)
    if not path.is_dir():
        return path
    for name in (comparisons.FILE, JOURNAL):
        if (path / name).exists():
            return path / name
    raise BadInputError("path", str(path), f"holds neither {JOURNAL} nor {comparisons.FILE}", _REMEDY)


def _beside(path: Path) -> Path:
    if path.is_dir():
        return path / REPORT
    usual = path.name in (JOURNAL, comparisons.FILE)
    return path.with_name(REPORT) if usual else path.with_suffix(".html")
