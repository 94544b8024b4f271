"""A controller of somebody else's that raises: one line that names it, and exit code 2."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.control import registry
from penstock.errors import BadInputError
from penstock.journal import Journal
from penstock.sample import BatchSample, Decision
from penstock.slo import Slo


class Raising:
    """Raises at its third decision."""

    def __init__(self, slo: Slo, size: float) -> None:
        self.size = size
        self.seen = 0

    def decide(self, sample: BatchSample) -> Decision:
        self.seen += 1
        if self.seen == 3:
            raise KeyError("a slip\nof the pen")
        return Decision(self.size, "nothing")


class Unmakable(Raising):
    """Cannot be made."""

    def __init__(self, slo: Slo, size: float) -> None:
        raise RuntimeError("no licence")


@pytest.fixture(autouse=True)
def _plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    own: dict[str, type] = {"raising": Raising, "unmakable": Unmakable}
    points = [EntryPoint(name, f"somebody.plugin:{cls.__name__}", registry.GROUP) for name, cls in own.items()]
    points.append(EntryPoint("fixed", "penstock.control.fixed:Fixed", registry.GROUP))
    monkeypatch.setattr(registry, "entry_points", lambda group: [point for point in points if point.group == group])
    real_load = EntryPoint.load
    monkeypatch.setattr(EntryPoint, "load", lambda point: own.get(point.name) or real_load(point))


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


@pytest.mark.parametrize(
    "command",
    [
        ["simulate", "--items", "5k", "--json"],
        ["simulate", "--items", "5k", "--out", "OUT"],
        ["compare", "--plant", "thesis", "--items", "5k", "--seeds", "1", "--json"],
    ],
)
def test_a_plugin_that_raises_is_named_in_one_line(
    command: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = [str(tmp_path / "out") if word == "OUT" else word for word in command]
    option = "--controllers" if command[0] == "compare" else "--controller"
    said = refused(capsys, *words, option, "raising")
    assert "controller = 'raising': somebody.plugin:Raising raised KeyError: " in said
    assert f"{Path(__file__).name}:" in said
    assert "repair that plug-in" in said


def test_replay_names_it_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with Journal.open(tmp_path / "journal.jsonl", {"slo": "1 s ± 10%"}) as journal:
        for number in range(4):
            journal.sample(BatchSample(number, 100, 100, processing_s=1.0))
            journal.decision(number, Decision(100, "nothing"), applied=True)
    assert "somebody.plugin:Raising raised KeyError" in refused(
        capsys, "replay", str(tmp_path), "--controller", "raising"
    )


def test_one_that_cannot_be_made_is_named_before_anything_runs(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["simulate", "--items", "1k"], ["run", "military", "--class", "test"]):
        said = refused(capsys, *command, "--controller", "unmakable")
        assert "controller = 'unmakable': somebody.plugin:Unmakable raised RuntimeError: no licence" in said


def test_a_controller_of_ours_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError), registry.blaming("fixed"):
        raise ZeroDivisionError("a bug")
    with pytest.raises(BadInputError, match="mine"), registry.blaming("raising"):
        raise BadInputError("mine", 1, "said already", "as it is")
