from __future__ import annotations

import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from penstock import distribution
from penstock.cli.main import main
from penstock.distribution import DISTRIBUTION, penstock_version

ROOT = Path(__file__).parents[2]


def test_what_is_installed_has_the_name_that_the_messages_give() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == DISTRIBUTION == metadata.metadata(DISTRIBUTION)["Name"]
    assert penstock_version() == project["version"]


def test_no_document_tells_to_install_the_project_of_others() -> None:
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for document in documents:
        text = document.read_text()
        assert "pip install penstock\n" not in text, document
        assert "pip install penstock`" not in text, document
        assert "penstock[" not in text.replace("penstock-spark[", ""), document


def test_the_version_of_what_is_only_on_the_path_is_unknown_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(distribution, "DISTRIBUTION", "penstock-that-nobody-installed")
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == "penstock unknown\n"
