"""The published evaluation in virtual time, from the grid to the page, and its command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.cli import main as cli
from penstock.reproduce.thesis import reproduce as reproduce_module
from penstock.reproduce.thesis.findings import FINDINGS
from penstock.reproduce.thesis.grid import Grid
from penstock.reproduce.thesis.page import results_section, write_page
from penstock.reproduce.thesis.reproduce import reproduce

TINY = Grid(
    runs=2,
    fixed_runs=1,
    steps=(1, 5, 10),
    samples=(1, 5),
    kp=(0, 10),
    ki=(15,),
    kd=(0, 3),
    pid_samples=(1,),
    sizes=(1, 10, 100, 115, 500),
    items=500,
)

SMALL = Grid(
    runs=1,
    fixed_runs=1,
    steps=(5,),
    samples=(1,),
    algorithms=("faf", "pmbaf"),
    kp=(10,),
    ki=(15,),
    kd=(3,),
    pid_samples=(1,),
    sizes=(1, 10),
    items=300,
)


def test_tiny_grid_end_to_end(tmp_path: Path) -> None:
    steps: list[str] = []
    found = reproduce(TINY, tmp_path / "out", lambda done, of: None, steps.append)
    assert found.cells == found.computed == len(TINY.cells())
    assert [table.name for table in found.tables] == ["5.1", "5.2", "5.3", "5.4", "5.5"]
    assert [len(table.rows) for table in found.tables] == [28, 7, 7, 28, 10]
    assert all(len(row) == len(table.head) for table in found.tables for row in table.rows)
    assert [path.name.split("-")[1] for path in found.figures] == [f"5.{number}" for number in range(1, 10)]
    assert len(steps) == 9
    kept = json.loads((tmp_path / "out" / "results.json").read_text())
    assert {finding["state"] for finding in kept["findings"]} <= {"reproduced", "not reproduced", "cannot tell"}
    assert len(kept["findings"]) == len(FINDINGS)

    write_page(found, tmp_path / "docs" / "thesis.md")
    page = (tmp_path / "docs" / "thesis.md").read_text()
    linked = [line.split("](")[1].split(")")[0] for line in page.splitlines() if line.startswith("![")]
    assert len(linked) == 5
    assert all((tmp_path / "docs" / link).exists() for link in linked)
    assert "| 5% | PMBAF | 57.78 | 10/1 |" in page
    assert "### Table 5.5" in results_section(found)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["reproduce", "nobody"], "write one of thesis"),
        (["reproduce", "thesis", "--runs", "0"], "give 1 or more"),
        (["reproduce", "thesis", "--quick", "--page", "x.md"], "leave out --quick"),
        (["reproduce", "thesis", "--quick", "--results", "x.md"], "leave out --quick"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(words)
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


def test_command_prints_one_json_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from penstock.cli import reproduce as reproducing

    monkeypatch.setattr(reproducing, "quick_grid", lambda: SMALL)
    # Another test draws the figures.
    monkeypatch.setattr(reproduce_module, "draw_all", lambda *given: [])
    with pytest.raises(SystemExit) as stopped:
        cli.main(["reproduce", "thesis", "--quick", "--out", str(tmp_path), "--json"])
    assert stopped.value.code == 0
    answer = json.loads(capsys.readouterr().out)
    assert set(answer) >= {"tables", "findings", "seconds", "cells"}
    assert answer["cells"] == len(SMALL.cells())
    assert {"name", "state", "numbers", "published"} <= set(answer["findings"][0])


def test_results_option_puts_the_tables_between_their_markers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.cli import reproduce as reproducing

    monkeypatch.setattr(reproducing, "Grid", lambda: SMALL)
    monkeypatch.setattr(reproduce_module, "draw_all", lambda *given: [])
    results = tmp_path / "results.md"
    results.write_text("Before.\n<!-- begin: thesis -->\nold\n<!-- end: thesis -->\nAfter.\n")
    with pytest.raises(SystemExit) as stopped:
        cli.main(["reproduce", "thesis", "--out", str(tmp_path / "out"), "--results", str(results)])
    assert stopped.value.code == 0
    page = results.read_text()
    assert page.startswith("Before.\n<!-- begin: thesis -->\n## ")
    assert "### Table 5.5" in page
    assert "old" not in page.split()
    assert page.endswith("<!-- end: thesis -->\nAfter.\n")
