"""The bar of runs in virtual time: where it is seen, and when its thread starts."""

from __future__ import annotations

import json
import threading

import pytest

from penstock.cli import main as cli
from penstock.cli.terminal.bar import Bar


def test_the_thread_of_a_bar_starts_with_the_first_report_and_ends_with_the_bar(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    # Rich then takes any stream for a terminal.
    monkeypatch.setenv("FORCE_COLOR", "1")
    before = set(threading.enumerate())
    with Bar() as bar:
        assert set(threading.enumerate()) <= before
        bar.runs(3, 8)
        (thread,) = set(threading.enumerate()) - before
        bar.figure("5.1")
    # It was told to end, and may take a moment.
    thread.join(timeout=30)
    assert not thread.is_alive()
    said = capfd.readouterr()
    assert "3/8" in said.err
    assert "figure 5.1" in said.err
    assert said.out == ""


def test_a_bar_that_nobody_watches_says_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    with Bar() as bar:
        bar.runs(1, 2)
    assert capfd.readouterr() == ("", "")


def test_json_of_a_virtual_comparison_is_one_line_and_nothing_else(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["compare", "--plant", "thesis", "--controllers", "faf", "--seeds", "1", "--items", "500", "--json"])
    assert stopped.value.code == 0
    line, after = capfd.readouterr().out.split("\n")
    assert json.loads(line)["kind"] == "comparison"
    assert after == ""
