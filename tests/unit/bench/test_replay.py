"""Another controller on the journal of a run: what it is given, what is shown, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.bench import replay as module
from penstock.bench.replay import replay
from penstock.cli import main as cli
from penstock.control.loop import Loop
from penstock.control.registry import create
from penstock.errors import BadInputError
from penstock.journal import Journal
from penstock.sample import BatchSample, Decision, Status
from penstock.slo import Slo
from penstock.testing.fakes import FakeGate, LinearPlant

SLO = Slo.parse("1 s ± 10%")
HEADER = {"slo": str(SLO), "controller": "faf", "settings": {}, "query_id": "q1"}


def batch(batch_id: int, size: float, latency_s: float, **fields: Any) -> BatchSample:
    return BatchSample(batch_id, size, round(size), latency_s, backlog=10**6, **fields)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Three batches: up by the ramp, down, and within the band; a warm-up before and an estimate after them."""
    with Journal.open(tmp_path / "journal.jsonl", HEADER) as journal:
        journal.decision(-1, Decision(1000, "first size"), applied=True)
        journal.sample(batch(0, 1000, 0.9, status=Status.WARM_UP))
        journal.sample(batch(1, 1000, 0.5, confirmed=False))
        journal.decision(1, Decision(1900, "an estimate"), applied=True)
        journal.sample(batch(1, 1000, 0.4))
        journal.decision(1, Decision(2000, "up"), applied=True)
        journal.sample(batch(2, 2000, 1.25))
        journal.decision(2, Decision(1800, "down"), applied=True)
        journal.sample(batch(3, 1800, 1.0))
        journal.decision(3, Decision(1800, "stays"), applied=True)
        journal.sample(batch(4, 1800, 3.0, confirmed=False))
    return tmp_path


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ending:
        cli.main(["replay", *arguments])
    assert ending.value.code == 0
    return capsys.readouterr().out


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ending:
        cli.main(["replay", *arguments])
    assert ending.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def test_every_step_starts_from_the_size_that_was_in_force(run: Path) -> None:
    steps = replay(run, "das", {}).steps
    assert [(step.batch_id, step.in_force, step.taken) for step in steps] == [
        (1, 1000, 2000),
        (2, 2000, 1800),
        (3, 1800, 1800),
    ]
    assert [step.would for step in steps] == pytest.approx([2500, 1600, 1800])
    assert steps[1].reason == "625 µs an item: latency 1.25 s is over 1.1 s: -20% to 1,600"


def test_only_confirmed_and_usable_batches_are_fed(run: Path) -> None:
    found = replay(run / "journal.jsonl", "faf", {"warm_up": "false", "step": "25%"})
    assert [step.latency_s for step in found.steps] == [0.4, 1.25, 1.0]
    assert [step.would for step in found.steps] == [1250, 1600, 1800]
    assert found.ignored == 2


def test_agreement_is_of_directions_and_the_ratio_is_the_middle_one(run: Path) -> None:
    found = replay(run, "fixed", {})
    assert [step.agrees for step in found.steps] == [False, False, True]
    assert found.agreement == pytest.approx(1 / 3)
    assert found.median_ratio == pytest.approx(1.0), "of 1000 / 2000, 2000 / 1800 and 1800 / 1800"


def test_less_than_a_percent_is_no_change() -> None:
    common = {"batch_id": 0, "latency_s": 1.0, "value": 1.0, "size": 1000, "in_force": 1000, "reason": ""}
    assert module.ReplayedStep(taken=1000, would=1009, **common).agrees
    assert not module.ReplayedStep(taken=1000, would=1011, **common).agrees
    assert not module.ReplayedStep(taken=900, would=1100, **common).agrees


@pytest.mark.parametrize("name", ["predictive", "pmbaf", "pid", "das", "dybbs", "dstreams", "least-squares", "clipper"])
def test_the_controller_that_ran_decides_again_as_it_did(tmp_path: Path, name: str) -> None:
    plant = LinearPlant(overhead_s=0.15, per_item_s=0.0002, noise=0.1, seed=4)
    with Journal.open(tmp_path / "journal.jsonl", HEADER) as journal:
        loop = Loop(SLO, create(name, SLO, 500, live=True), FakeGate(), journal)
        loop.start()
        for _ in range(60):
            sample = plant.run(loop.size)
            # As on Spark: an estimate at the end of the job, then the same batch confirmed, a little longer.
            loop.observe(batch(sample.batch_id, sample.size, sample.processing_s, confirmed=False))
            loop.observe(batch(sample.batch_id, sample.size, sample.processing_s + 0.01))
    found = replay(tmp_path, name, {})
    assert len(found.steps) == 60
    assert [step.would for step in found.steps] == [step.taken for step in found.steps]


@pytest.mark.parametrize("text", ["p95 <= 1 s", "1 s ± 10% & >= 4k/s", "p99 <= 1 s & >= 3k/s"])
def test_a_run_under_a_percentile_or_two_objectives_is_replayed_as_it_was(tmp_path: Path, text: str) -> None:
    slo = Slo.parse(text)
    plant = LinearPlant(overhead_s=0.15, per_item_s=0.0002, noise=0.1, seed=4)
    with Journal.open(tmp_path / "journal.jsonl", {**HEADER, "slo": str(slo)}) as journal:
        loop = Loop(slo, create("pmbaf", slo, 500, live=True), FakeGate(), journal)
        loop.start()
        for _ in range(60):
            sample = plant.run(loop.size)
            loop.observe(batch(sample.batch_id, sample.size, sample.processing_s))
    found = replay(tmp_path, "pmbaf", {})
    assert found.slo == slo
    assert [step.would for step in found.steps] == [step.taken for step in found.steps]


def test_what_was_only_observed_starts_from_the_size_of_each_batch(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "journal.jsonl", {**HEADER, "observe": True}) as journal:
        loop = Loop(SLO, create("faf", SLO, 500), FakeGate(), journal, observe_only=True)
        loop.start()
        for batch_id, size in enumerate((700, 800)):
            loop.observe(batch(batch_id, size, 2.0))
    steps = replay(tmp_path, "drizzle", {"step": 50}).steps
    assert [(step.in_force, step.taken, step.would) for step in steps] == [(700, 690, 650), (800, 790, 750)]


def test_a_journal_of_two_queries_keeps_their_decisions_apart(tmp_path: Path) -> None:
    for query_id, size in (("q1", 1000), ("q2", 5000)):
        with Journal.open(tmp_path / "journal.jsonl", {**HEADER, "query_id": query_id}) as journal:
            journal.decision(-1, Decision(size, "first size"), applied=True)
            journal.sample(batch(0, size, 2.0))
            journal.decision(0, Decision(size / 2, "down"), applied=True)
    steps = replay(tmp_path, "das", {}).steps
    assert [(step.in_force, step.taken) for step in steps] == [(1000, 500), (5000, 2500)]


def test_a_decision_that_no_gate_took_was_never_in_force(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "journal.jsonl", HEADER) as journal:
        journal.decision(-1, Decision(1000, "first size"), applied=True)
        for batch_id in range(2):
            journal.sample(batch(batch_id, 1000, 2.0))
            journal.decision(batch_id, Decision(500, "down"), applied=False)
    assert [step.in_force for step in replay(tmp_path, "das", {}).steps] == [1000, 1000]


def test_a_throughput_is_shown_beside_the_time_it_took(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "journal.jsonl", {**HEADER, "slo": ">= 1k/s"}) as journal:
        journal.sample(batch(0, 1000, 2.0))
    step = replay(tmp_path, "das", {}).steps[0]
    assert (step.latency_s, step.value, step.in_force, step.taken) == (2.0, 500.0, 1000, 1000)


def test_json_has_the_steps_and_says_what_is_not_known(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(shown(capsys, str(run), "--controller", "drizzle:factor=3", "--set", "step=100", "--json"))
    assert found["controller"] == "drizzle:factor=3:step=100"
    assert (found["slo"], found["first_size"], len(found["steps"])) == ("1 s ± 10%", 1000, 3)
    second = found["steps"][1]
    assert (second["batch_id"], second["latency_s"], second["size"]) == (2, 1.25, 2000)
    assert (second["taken"], second["would"]) == (1800, 1900)
    assert found["agreement"] == 1.0
    assert found["median_ratio"] == pytest.approx(1900 / 1800)
    assert "direction" in found["known"]
    assert "never in force" in found["unknown"]


def test_a_table_shows_both_decisions_and_what_it_cannot_show(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, str(run), "--controller", "das")
    line = next(line for line in out.splitlines() if line.lstrip().startswith("2 "))
    assert line.split()[:7] == ["2", "1.25", "s", "2,000", "1,800", "1,600", "-11.1%"]
    assert "Same direction in 100.0% of 3 steps" in out
    assert "What it cannot show: the hits it would have had" in out


def test_a_long_run_is_cut_in_the_middle_unless_all_is_wanted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Journal.open(tmp_path / "journal.jsonl", HEADER) as journal:
        for batch_id in range(100, 150):
            journal.sample(batch(batch_id, 1000, 1.0))
    short = shown(capsys, str(tmp_path), "--controller", "faf")
    whole = shown(capsys, str(tmp_path), "--controller", "faf", "--all")
    assert "... 10 batches more" in short
    seen = {text: [n for n in range(100, 150) if f"\n  {n}  " in text] for text in (short, whole)}
    assert seen[short] == [*range(100, 120), *range(130, 150)]
    assert seen[whole] == list(range(100, 150))


def test_a_torn_last_line_is_left_out_and_said(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = run / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-20])
    assert "the last line is torn" in shown(capsys, str(run), "--controller", "faf")


def test_a_line_torn_in_the_middle_is_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = run / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:3], lines[3][:30] + b"\n", *lines[4:]]))
    assert "1 line of it cannot be read" in refusal(capsys, str(run), "--controller", "faf")


def test_bad_input_is_one_line(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "no journal is there" in refusal(capsys, str(empty), "--controller", "faf")
    assert "no journal is there" in refusal(capsys, str(tmp_path / "absent"), "--controller", "faf")
    other = tmp_path / "other.txt"
    other.write_text("some text\n")
    assert "not a Penstock journal" in refusal(capsys, str(other), "--controller", "faf")
    assert "no such controller" in refusal(capsys, str(run), "--controller", "fuf")
    assert "no such setting of faf" in refusal(capsys, str(run), "--controller", "faf", "--set", "stop=1")
    assert "given twice" in refusal(capsys, str(run), "--controller", "faf:step=1", "--set", "step=2")


def test_a_journal_that_teaches_nothing_is_refused(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "none.jsonl", HEADER):
        pass
    with pytest.raises(BadInputError, match="no batch in it; "):
        replay(tmp_path / "none.jsonl", "faf", {})
    with Journal.open(tmp_path / "idle.jsonl", HEADER) as journal:
        journal.sample(batch(0, 0, 0.1, status=Status.EMPTY))
    with pytest.raises(BadInputError, match="can learn from"):
        replay(tmp_path / "idle.jsonl", "faf", {})
    with Journal.open(tmp_path / "bare.jsonl", {}) as journal:
        journal.sample(batch(0, 10, 0.1))
    with pytest.raises(BadInputError, match="names no SLO"):
        replay(tmp_path / "bare.jsonl", "faf", {})


def test_records_that_were_lost_are_mentioned(run: Path) -> None:
    with Journal.open(run / "journal.jsonl", HEADER) as journal:
        journal.event("journal-lost", records=3)
        journal.event("journal-dropped", segment=1)
    notes = replay(run, "faf", {}).notes
    assert [note.split(":")[0] for note in notes] == [
        "3 records were lost when the run wrote them",
        "the oldest part of the journal is gone",
    ]
