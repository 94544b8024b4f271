"""The command line against a run that needs no Spark."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.bench.doctor.machine import Check
from penstock.bench.run import RunSpec, RunState, Tick
from penstock.cli import doctor
from penstock.cli import list as listing
from penstock.cli import main as cli
from penstock.cli import run as running
from penstock.errors import BadInputError, PenstockError
from penstock.journal import Journal
from penstock.sample import BatchSample, Decision
from penstock.score import summarise
from penstock.slo import Slo

BATCHES = 6


class FakeRun:
    """Writes a journal and a summary as a run does, and remembers what it was asked."""

    def __init__(self) -> None:
        self.specs: list[RunSpec] = []
        self.outs: list[Path] = []
        self.digest_ok: bool | None = True
        self.fault: Exception | None = None
        self.before_end: Callable[[threading.Event], None] = lambda stop: None

    def __call__(
        self, spec: RunSpec, out: Path, tick: Tick | None = None, stop: threading.Event | None = None
    ) -> dict[str, Any]:
        assert tick is not None
        assert stop is not None
        self.specs.append(spec)
        self.outs.append(out)
        if self.fault is not None:
            raise self.fault
        out.mkdir(parents=True, exist_ok=True)
        slo = Slo.parse(spec.slo)
        samples = [
            BatchSample(n, 100, 100, processing_s=slo.target, started_s=float(n), load=2.0, part="wave")
            for n in range(BATCHES)
        ]
        with Journal.open(out / "journal.jsonl", {"slo": spec.slo, "controller": spec.controller}) as journal:
            for sample in samples:
                journal.sample(sample, control_s=0.001)
                journal.decision(sample.batch_id, Decision(100, "within the band"), applied=True)
                tick(RunState("running", 6.0 * sample.batch_id, 100, 600, out / "journal.jsonl"))
        os.write(1, b"a child process prints\n")
        self.before_end(stop)
        summary = {
            **summarise(samples, slo),
            "control": {"mean_ms": 1.0, "max_ms": 1.0, "share_percent": 0.1},
            "digest_ok": self.digest_ok,
            "interrupted": stop.is_set(),
            "spec": {"controller": spec.controller},
        }
        (out / "summary.json").write_text(json.dumps(summary))
        return summary


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeRun:
    fake = FakeRun()
    monkeypatch.setattr(running, "run", fake)
    monkeypatch.chdir(tmp_path)
    return fake


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    code = ended.value.code
    return code if isinstance(code, int) else 0


def test_json_is_the_only_thing_on_stdout(fake: FakeRun, capfd: pytest.CaptureFixture[str]) -> None:
    assert call("run", "military", "--json") == 0
    said = capfd.readouterr()
    assert json.loads(said.out)["b_slh"] == 100.0
    assert said.out.count("\n") == 1
    assert "a child process prints" in said.err


def test_options_reach_the_run(fake: FakeRun) -> None:
    options = ["--class", "test", "--controller", "pbaf", "--set", "step=5%", "--set", "sample=3", "--seed", "7"]
    options += ["--size", "2k", "--out", "there"]
    more = ["--slo", "2 s ± 5%", "--arrivals", "wave:min=1k,max=2k,period=10s", "--cost", "constant:value=300"]
    assert call("run", "military", *options, *more, "--master", "local[1]", "--json") == 0
    assert fake.specs == [
        RunSpec(
            app="military",
            size_class="test",
            slo="2 s ± 5%",
            controller="pbaf",
            settings={"step": "5%", "sample": "3"},
            arrivals="wave:min=1k,max=2k,period=10s",
            cost="constant:value=300",
            seed=7,
            size=2000.0,
            master="local[1]",
        )
    ]
    assert fake.outs == [Path("there")]


def test_plain_output_has_progress_lines_and_the_summary(fake: FakeRun, capfd: pytest.CaptureFixture[str]) -> None:
    assert call("run", "military", "--class", "test", "--out", "here") == 0
    said = capfd.readouterr().out
    assert "running, 100 of 600 items (17%)" in said
    assert "I-SLH" in said
    assert "here/journal.jsonl" in said


def test_a_run_without_out_leaves_nothing_behind(fake: FakeRun, tmp_path: Path) -> None:
    assert call("run", "military", "--json") == 0
    assert not fake.outs[0].exists()
    assert not list(tmp_path.iterdir())


def test_png_is_drawn(fake: FakeRun, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert call("run", "military", "--json", "--png", "pictures/run.png") == 0
    assert (tmp_path / "pictures" / "run.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "field", "value"),
    [
        (["--controller", "pmbuf"], "controller", "pmbuf"),
        (["--slo", "-1 s ± 10%"], "slo target", "-1"),
        (["--slo", "1 s ± 120%"], "slo tolerance", "120%"),
        (["--slo", "fast"], "slo", "fast"),
        (["--arrivals", "wave:min=1,max=2,period=0"], "wave period", "0"),
        (["--arrivals", "waves:min=1"], "pattern", "waves"),
        (["--arrivals", "trace:path=absent.csv,period=1s"], "trace path", "absent.csv"),
        (["--set", "step"], "set", "step"),
        (["--set", "step=1", "--set", "step=2"], "set", "step=2"),
        (["--set", "pace=1"], "pace", "1"),
        (["--class", "huge"], "class", "huge"),
        (["--size", "0"], "size", "0"),
        (["--png", "run.txt"], "png", "run.txt"),
        (["--png", "file/run.png"], "png", "file/run.png"),
        (["--png", "/nope/run.png"], "png", "there is no folder /nope"),
    ],
)
def test_bad_input_is_one_line_and_code_2_before_the_run(
    arguments: list[str], field: str, value: str, fake: FakeRun, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    assert call("run", "military", *arguments) == 2
    said = capfd.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"penstock: {field} = ")
    assert value in said.err
    assert said.err.count("\n") == 1
    assert fake.specs == []


def test_unknown_app_is_bad_input(fake: FakeRun, capfd: pytest.CaptureFixture[str]) -> None:
    assert call("run", "navy") == 2
    assert capfd.readouterr().err.startswith("penstock: app = 'navy'")


@pytest.mark.parametrize("fault", [BadInputError("out", "x", "cannot be written", "own it"), PenstockError("no\nluck")])
@pytest.mark.parametrize("how", [["--json"], []])
def test_what_a_run_refuses_is_one_line_too(
    fault: PenstockError, how: list[str], fake: FakeRun, capfd: pytest.CaptureFixture[str]
) -> None:
    fake.fault = fault
    assert call("run", "military", *how) == 2
    said = capfd.readouterr()
    assert said.out == ""
    assert said.err == f"penstock: {' '.join(str(fault).split())}\n"


def test_a_bug_keeps_its_traceback(fake: FakeRun) -> None:
    fake.fault = ZeroDivisionError("a bug")
    with pytest.raises(ZeroDivisionError):
        cli.main(["run", "military", "--json"])


@pytest.mark.parametrize("arguments", [["run"], ["run", "military", "--seed", "x"], ["run", "military", "--colour"]])
def test_usage_errors_are_code_2(arguments: list[str], fake: FakeRun) -> None:
    assert call(*arguments) == 2


def test_wrong_output_is_code_1(fake: FakeRun, capfd: pytest.CaptureFixture[str]) -> None:
    fake.digest_ok = False
    assert call("run", "military") == 1
    assert "WRONG" in capfd.readouterr().out


def test_ctrl_c_stops_the_run_and_still_reports(fake: FakeRun, capfd: pytest.CaptureFixture[str]) -> None:
    def interrupt(stop: threading.Event) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.wait(10)

    fake.before_end = interrupt
    before = signal.getsignal(signal.SIGINT)
    assert call("run", "military", "--json") == 130
    assert json.loads(capfd.readouterr().out)["interrupted"] is True
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_before_the_first_batch_names_only_files_that_are_there(
    fake: FakeRun, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stopped(spec: RunSpec, out: Path, tick: Tick, stop: threading.Event) -> dict[str, Any]:
        out.mkdir()
        summary = {
            **summarise([], Slo.parse(spec.slo)),
            "control": {"mean_ms": 0.0, "max_ms": 0.0, "share_percent": None},
            "digest_ok": None,
            "interrupted": True,
            "spec": {"controller": spec.controller},
        }
        (out / "summary.json").write_text(json.dumps(summary))
        return summary

    monkeypatch.setattr(running, "run", stopped)
    assert call("run", "military", "--out", "kept", "--png", "run.png") == 130
    said = capfd.readouterr().out.split()
    assert str(Path("kept") / "summary.json") in said
    assert str(Path("kept") / "journal.jsonl") not in said
    assert "run.png" not in said


def test_second_ctrl_c_quits_at_once(fake: FakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    quit_now, over = threading.Event(), threading.Event()

    class Quit(BaseException):
        pass

    def leave(code: int) -> None:
        assert code == 130
        quit_now.set()
        raise Quit

    def interrupt(stop: threading.Event) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.wait(10)
        os.kill(os.getpid(), signal.SIGINT)
        quit_now.wait(10)
        over.set()

    monkeypatch.setattr(os, "_exit", leave)
    fake.before_end = interrupt
    with pytest.raises(Quit):
        cli.main(["run", "military", "--json"])
    assert over.wait(10)
    assert quit_now.is_set()


@pytest.mark.parametrize(("what", "name"), [("controllers", "pmbaf"), ("patterns", "wave"), ("apps", "military")])
def test_lists_name_what_is_there(what: str, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert call("list", what) == 0
    assert name in capfd.readouterr().out
    assert call("list", what, "--json") == 0
    assert json.loads(capfd.readouterr().out)[name]


def test_devices_are_listed_with_why_they_are_not_here(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(listing, "why_not_here", lambda: {"numpy": None, "cuda": "no NVIDIA driver"})
    assert call("list", "devices") == 0
    assert "not here: no NVIDIA driver" in capfd.readouterr().out
    assert call("list", "devices", "--json") == 0
    assert json.loads(capfd.readouterr().out) == [
        {"name": "numpy", "present": True, "why_not": None},
        {"name": "cuda", "present": False, "why_not": "no NVIDIA driver"},
    ]


def test_unknown_list_is_bad_input(capfd: pytest.CaptureFixture[str]) -> None:
    assert call("list", "gates") == 2
    assert "write one of controllers, patterns, apps, devices" in capfd.readouterr().err


def test_version(capfd: pytest.CaptureFixture[str]) -> None:
    assert call("--version") == 0
    assert capfd.readouterr().out.startswith("penstock 0.")


@pytest.mark.parametrize(("needed", "code"), [(True, 1), (False, 0)])
def test_doctor_fails_only_for_what_is_needed(
    needed: bool, code: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    found = [Check("numba", ok=False, needed=needed, version=None, advice="pip install 'penstock-spark[spark]'")]
    monkeypatch.setattr(doctor, "examine", lambda: found)
    assert call("doctor") == code
    assert "pip install 'penstock-spark[spark]'" in capfd.readouterr().out
    assert call("doctor", "--json") == code
    assert json.loads(capfd.readouterr().out)["ok"] is not needed


def test_a_missing_package_names_the_command(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def absent() -> dict[str, str]:
        raise ModuleNotFoundError("No module named 'numba'", name="numba")

    monkeypatch.setitem(listing._LISTS, "apps", absent)
    assert call("list", "apps") == 2
    assert capfd.readouterr().err == "penstock: numba is not installed; run: pip install 'penstock-spark[spark]'\n"
