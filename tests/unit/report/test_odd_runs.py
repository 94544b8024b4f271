"""The page of a run that lacks fields, has no batches, or very many."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.journal import Journal, Recording, read
from penstock.report.batches import batches_of, thinned
from penstock.report.write import write_report
from penstock.sample import BatchSample, Decision, Status
from penstock.score import summarise
from penstock.slo import Slo

pytest.importorskip("plotly")

Batch = Callable[..., BatchSample]
Written = Callable[..., Path]
Read = Callable[[Path], Any]
HOLD = "1 s ± 10%"
BARE: dict[str, Any] = {"load": None, "part": None, "durations_s": {}, "started_s": None}
DRAWN = {"timeline", "cumulative", "spread-chart"}
EMPTY: dict[str, Any] = {"number": 1, "latency_s": 0.1, "size": 0, "items": 0, "status": Status.EMPTY, **BARE}


@pytest.mark.parametrize(
    ("slo", "samples", "charts"),
    [
        (HOLD, [], set()),
        (HOLD, [{"number": 0, "status": Status.WARM_UP}], {"timeline"}),
        (HOLD, [{"number": 0}], {"timeline", "cumulative", "patterns-chart", "spread-chart", "phases-chart"}),
        (HOLD, [{"number": n, **BARE} for n in range(3)], DRAWN),
        (HOLD, [{"number": 0, "latency_s": math.nan, **BARE}, EMPTY], set()),
        (HOLD, [{"number": 0, **BARE}, {"number": 1, "latency_s": math.inf, **BARE}], DRAWN),
        ("<= 2 s end-to-end", [{"number": 0, **BARE}, {"number": 1, "wait_s": math.nan, **BARE}], set()),
        ("<= 2 s end-to-end", [{"number": n, "wait_s": 0.5 * n, **BARE} for n in range(6)], DRAWN),
        (">= 50/s", [{"number": n, "latency_s": 1.0 + n, **BARE} for n in range(6)], DRAWN),
        ("3 ms ± 1%", [{"number": n, "latency_s": 1.0 + n, **BARE} for n in range(6)], DRAWN),
    ],
)
def test_missing_fields_break_nothing(
    tmp_path: Path,
    slo: str,
    samples: list[dict[str, Any]],
    charts: set[str],
    batch: Batch,
    journal_in: Written,
    outline: Read,
) -> None:
    folder = journal_in(tmp_path / "run", [batch(**each) for each in samples], header={"slo": slo})
    page = outline(write_report(folder))
    assert set(page.data) == charts
    for name in charts:
        # JSON has no NaN; what browsers read must not have it either.
        json.loads(page.data[name], parse_constant=lambda text: pytest.fail(text))


def test_an_empty_run_says_so(tmp_path: Path, journal_in: Written, outline: Read) -> None:
    page = outline(write_report(journal_in(tmp_path / "run", [])))
    assert "No batch of this run can be counted: 0 batches in the journal." in page.texts
    assert page.data == {}


def test_a_long_run_stays_small_and_says_what_it_left_out(tmp_path: Path, batch: Batch, outline: Read) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    with Journal.open(folder / "journal.jsonl", {"slo": HOLD}) as journal:
        for n in range(10_000):
            journal.sample(batch(n, 5.0 if n == 7777 else 1.0 + 0.0001 * (n % 1500), durations_s={}))
            journal.decision(n, Decision(100, f"latency is within 900 ms to 1.1 s: size stays at {n}"), applied=True)
    written = write_report(folder)
    page = outline(written)
    assert written.stat().st_size < 2_500_000
    drawn = sum(len(trace["x"]) for trace in page.points("timeline") if trace.get("name"))
    assert 2000 < drawn <= 3000
    assert f"{drawn:,} of 10,000 batches are drawn" in page.text
    # The one peak is not lost, and the shares are nearly those of the run.
    above = next(trace for trace in page.points("timeline") if trace.get("name") == "miss, above the axis")
    assert "batch 7777" in above["text"][0]
    hits = next(trace for trace in page.points("timeline") if trace.get("name") == "hit")
    b_slh = summarise(read(folder / "journal.jsonl").samples, Slo.parse(HOLD))["b_slh"]
    assert 100 * len(hits["x"]) / drawn == pytest.approx(b_slh, abs=12)
    assert "The first 2,000 decisions are listed; 8,000 more are in the journal." in page.texts
    assert sum(tag == "tr" for tag, _ in page.tags) < 2100


def test_thinning_keeps_the_order_and_the_first(batch: Batch) -> None:
    found = batches_of(Recording(samples=[batch(n) for n in range(1000)]), Slo.parse(HOLD))
    places = [each.place for each in thinned(found, 100)]
    assert places == sorted(set(places))
    assert places[0] == 0
    assert len(places) <= 101
