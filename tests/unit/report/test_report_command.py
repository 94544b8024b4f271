"""The command `report`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.cli import main as cli
from penstock.errors import MissingExtraError
from penstock.report.page import templates
from penstock.report.write import write_report
from penstock.sample import BatchSample

pytest.importorskip("plotly")

Written = Callable[..., Path]
Read = Callable[[Path], Any]


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    return ended.value.code if isinstance(ended.value.code, int) else 0


def test_command_writes_beside_the_run_or_where_it_is_told(
    tmp_path: Path, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert call("report", str(folder)) == 0
    assert capfd.readouterr().out == f"{folder / 'report.html'}\n"
    assert (folder / "report.html").exists()
    assert call("report", str(folder / "journal.jsonl"), "--out", str(tmp_path / "new" / "x.html")) == 0
    assert (tmp_path / "new" / "x.html").exists()


def test_a_journal_of_another_name_gets_a_page_of_that_name(folder: Path) -> None:
    other = (folder / "journal.jsonl").rename(folder / "query-7.jsonl")
    assert write_report(other) == folder / "query-7.html"


def test_bad_input_is_one_line_and_exit_2(
    tmp_path: Path, folder: Path, capfd: pytest.CaptureFixture[str], samples: list[BatchSample], journal_in: Written
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    strange = tmp_path / "strange.json"
    strange.write_text('{"kind": "other"}')
    blocked = tmp_path / "file"
    blocked.write_text("")
    no_slo = journal_in(tmp_path / "bare", samples, header={"controller": "x"})
    for arguments, reason in (
        ([str(tmp_path / "absent")], "is not there"),
        ([str(empty)], "holds neither journal.jsonl nor comparison.json"),
        ([str(strange)], "not a comparison"),
        ([str(blocked)], "no journal is there"),
        ([str(no_slo)], "names no objective"),
        ([str(folder), "--out", str(blocked / "x.html")], "cannot be written"),
    ):
        assert call("report", *arguments) == 2
        said = capfd.readouterr()
        assert said.out == ""
        assert said.err.count("\n") == 1
        assert reason in said.err


@pytest.mark.parametrize("package", ["plotly", "jinja2"])
def test_a_missing_package_names_the_extra(package: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    templates.cache_clear()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'penstock-spark[report]'")):
        write_report(folder)
