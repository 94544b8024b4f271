from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from penstock.bench.run import RunSpec, RunState
from penstock.cli.terminal.plot import ROWS, band_plot
from penstock.cli.terminal.tables import summary_table
from penstock.cli.terminal.views import LineView, LiveView, view_of
from penstock.journal import Journal
from penstock.report.board import Board
from penstock.sample import BatchSample, Decision
from penstock.score import summarise
from penstock.slo import Slo

HOLD = Slo.parse("1 s ± 10%")


def sample(number: int, processing_s: float, confirmed: bool = True) -> BatchSample:
    return BatchSample(number, 100, 100, processing_s, confirmed=confirmed, load=3.0)


def rows_of(slo: Slo, *latencies_s: float) -> list[str]:
    text = band_plot([sample(n, each) for n, each in enumerate(latencies_s)], slo, columns=10).plain
    return text.split("\n")


def state(journal: Path, elapsed_s: float, phase: str = "running") -> RunState:
    return RunState(phase, elapsed_s, 300, 600, journal)


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "journal.jsonl"
    with Journal.open(path, {}) as journal:
        for number, latency_s in enumerate((1.0, 5.0, 1.05)):
            journal.sample(sample(number, latency_s))
        journal.decision(2, Decision(120, "latency is within the band"), applied=True)
    return path


def test_a_band_to_hold_is_the_three_rows_in_the_middle() -> None:
    rows = rows_of(HOLD)
    assert len(rows) == ROWS
    assert [number for number, row in enumerate(rows) if "┃" in row] == [4, 5, 6]


def test_a_value_at_the_target_is_in_the_middle_row() -> None:
    drawn = [number for number, row in enumerate(rows_of(HOLD, 1.0)) if set(row) & set("⠉⠒⠤⣀")]
    assert drawn == [5]


def test_values_beyond_the_axis_are_arrows_at_its_ends() -> None:
    rows = rows_of(HOLD, 9.0, 0.1)
    assert rows[0].rstrip().endswith("▲")
    assert rows[-1].rstrip().endswith("▼")


@pytest.mark.parametrize(("text", "band"), [("<= 1 s", range(3, 11)), (">= 50k/s", range(6))])
def test_a_bound_has_its_band_on_the_right_side(text: str, band: range) -> None:
    rows = rows_of(Slo.parse(text))
    assert [number for number, row in enumerate(rows) if "┃" in row] == list(band)


def test_board_keeps_the_confirmed_sample_and_skips_what_it_cannot_read() -> None:
    board = Board(HOLD)
    for processing_s, confirmed in ((1.0, True), (3.0, False)):
        each = sample(0, processing_s, confirmed)
        record = {"kind": "sample", "batch_id": 0, "size": 100, "items": 100, "processing_s": each.processing_s}
        board.take({**record, "confirmed": confirmed})
    board.take({"kind": "sample", "batch_id": "?"})
    assert [each.processing_s for each in board.samples] == [1.0]


def test_lines_come_every_five_seconds_and_at_new_phases(journal: Path) -> None:
    out = io.StringIO()
    view = LineView(HOLD, Console(file=out, width=200))
    for at_s in (0.0, 1.0, 4.9, 5.0, 6.0):
        view.show(state(journal, at_s))
    view.show(state(journal, 6.2, "checking output"))
    lines = out.getvalue().splitlines()
    assert [line.split("]")[0] for line in lines] == ["[    0 s", "[    5 s", "[    6 s"]
    assert "batch 2: 1.05 s at size 100, 2 of 3 met   B-SLH 66.7%   I-SLH 66.7%" in lines[0]
    assert lines[2].endswith("checking output, 300 of 600 items (50%)")


@pytest.mark.parametrize("width", [30, 80, 120])
def test_live_view_shows_batch_load_hits_and_reason(journal: Path, width: int) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=width, height=40, color_system=None)
    with LiveView("military  pmbaf", HOLD, console) as view:
        view.show(state(journal, 3.0))
    said = out.getvalue()
    assert "military  pmbaf" in said
    assert "▲" in said
    if width >= 80:
        assert "300 of 600 items (50%)" in said
        assert "batch 2: 1.05 s   size 100   load 3   2 of 3 met   B-SLH 66.7%   I-SLH 66.7%" in said
        assert "latency is within the band" in said


def test_live_view_waits_for_a_journal_that_is_not_there_yet(tmp_path: Path) -> None:
    out = io.StringIO()
    with LiveView("run", HOLD, Console(file=out, force_terminal=True, width=90)) as view:
        view.show(state(tmp_path / "journal.jsonl", 0.0, "starting Spark"))
    assert "waiting for the first batch" in out.getvalue()


def test_live_only_on_a_terminal() -> None:
    spec = RunSpec("military")
    assert isinstance(view_of(spec, Console(file=io.StringIO(), force_terminal=True)), LiveView)
    assert isinstance(view_of(spec, Console(file=io.StringIO())), LineView)


def test_the_table_shows_a_percentile_and_a_second_objective_only_where_they_are_asked_for() -> None:
    run = [BatchSample(n, 100, 100, 1.0 if n < 19 else 3.0) for n in range(20)]
    rest = {"spec": {"controller": "pmbaf"}, "control": {"mean_ms": None, "share_percent": None}, "digest_ok": None}

    def printed(text: str) -> str:
        out = io.StringIO()
        Console(width=200, file=out).print(summary_table([summarise(run, Slo.parse(text)) | rest]))
        return out.getvalue()

    assert "kept" not in printed("<= 2 s")
    assert re.search(r"p95 of batches +1 s \(kept\)", printed("p95 <= 2 s"))
    assert re.search(r"p99 of batches +3 s \(NOT kept\)", printed("p99 <= 2 s"))
    both = printed("<= 2 s & >= 50/s")
    assert re.search(r"also B-SLH +95.0% +batches with >= 50/s", both)
    assert re.search(r"both B-SLH +95.0%", both)
    assert re.search(r"p99 of batches +3 s \(NOT kept\)", printed("p99 <= 2 s & >= 50/s"))


def test_the_summary_starts_with_a_sentence_and_ends_with_the_measures_of_the_thesis() -> None:
    idle = [BatchSample(n, 10, 10, 0.65, backlog=0) for n in range(3)]
    rest = {"spec": {"controller": "pid"}, "control": {"mean_ms": None, "share_percent": None}, "digest_ok": True}
    out = io.StringIO()
    Console(width=200, file=out).print(summary_table([summarise(idle, HOLD) | rest]))
    lines = out.getvalue().splitlines()
    assert lines[0] == "3 of 3 batches met 1 s ± 10%; 3 of them were faster, with nothing left to take."
    found = [next(n for n, line in enumerate(lines) if line.startswith(name)) for name in ("met", "output", "B-SLH")]
    assert found == sorted(found)
    assert re.search(r"^met +100.0% +batches that met the objective", out.getvalue(), re.MULTILINE)
    assert re.search(r"^B-SLH +0.0% +batches within the band: too fast is a miss", out.getvalue(), re.MULTILINE)


def test_the_line_of_hits_tells_how_many_batches_met_both() -> None:
    board = Board(Slo.parse("1 s ± 10% & >= 100/s"))
    for number, items in enumerate((100, 50)):
        board.take({"kind": "sample", "batch_id": number, "size": items, "items": items, "processing_s": 1.0})
    assert board.hits_line() == "1 of 2 met   B-SLH 100.0%   I-SLH 100.0%"
