"""The page of a run says what its journal says."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.journal import Journal, Recording
from penstock.journal.reader import DecisionRecord
from penstock.report import words
from penstock.report.batches import batches_of, owners_of
from penstock.report.run.charts import spread_chart
from penstock.report.run.data import load_run
from penstock.report.write import write_report
from penstock.sample import BatchSample, Decision
from penstock.score import summarise
from penstock.slo import Slo

pytest.importorskip("plotly")

Batch = Callable[..., BatchSample]
Written = Callable[..., Path]
Read = Callable[[Path], Any]
HOLD = "1 s ± 10%"


def test_the_numbers_are_those_of_the_journal(page: Any, samples: list[BatchSample]) -> None:
    summary = summarise(samples, Slo.parse(HOLD))
    assert summary["i_slh"] == pytest.approx(500 / 7)
    for value in (summary["i_slh"], summary["b_slh"], summary["mad_d"], summary["sd_d"]):
        assert words.percent(value) in page.texts
    for rank in ("p50", "p95", "p99"):
        assert words.duration(summary["latency_s"][rank]) in page.texts
    assert words.rate(summary["throughput_per_s"]) in page.texts
    assert "5 of 7 batches took between 900 ms and 1.1 s." in page.text
    assert "between 900 ms and 1.1 s; 2 batches were too slow." in page.text


def test_charts_draw_every_batch_once_hits_and_misses_apart_in_colour_and_shape(page: Any) -> None:
    named = {trace["name"]: trace for trace in page.points("timeline") if trace.get("name")}
    assert {name: len(trace["x"]) for name, trace in named.items()} == {
        "hit": 5,
        "miss": 1,
        "miss, above the axis": 1,
        "not counted": 1,
    }
    looks = [(trace["marker"]["color"], trace["marker"]["symbol"]) for trace in named.values()]
    assert len({colour for colour, _ in looks}) == 3
    assert len({shape for _, shape in looks}) == 4
    assert page.points("cumulative")[0]["y"][-1] == pytest.approx(100 * 5 / 7, abs=0.01)
    assert [round(each, 1) for each in page.points("patterns-chart")[0]["y"]] == [66.7, 75.0]


def test_pointing_at_a_batch_shows_all_about_it_and_its_decision(page: Any) -> None:
    miss = next(trace for trace in page.points("timeline") if trace.get("name") == "miss")
    assert miss["text"] == ["batch 3: 1.5 s, miss<br>size 100<br>load 13, low<br>decided: within the band 3"]


def test_a_batch_above_the_axis_stands_at_its_own_height_in_the_full_view(page: Any) -> None:
    chart = page.chart("timeline")
    near, full = chart["views"]
    top = chart["layout"]["yaxis"]["range"][1]
    assert top < 9.0
    assert [chart["data"][at]["y"] for at in near["traces"]] == near["restyle"]["y"]
    assert max(max(ys) for ys in near["restyle"]["y"]) <= top
    assert full["restyle"]["y"][1] == [9.0]
    assert full["relayout"]["yaxis.range"][1] > 9.0


def test_the_band_is_drawn_where_the_slo_has_it(page: Any) -> None:
    shapes = page.chart("timeline")["layout"]["shapes"]
    assert (0.9, 1.1) in [(shape["y0"], shape["y1"]) for shape in shapes]


def test_each_decision_is_listed_and_the_replaced_one_is_marked(tmp_path: Path, batch: Batch, outline: Read) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    with Journal.open(folder / "journal.jsonl", {"slo": HOLD}) as journal:
        journal.decision(-1, Decision(100, "first size"), applied=True)
        journal.sample(batch(0, 0.9, confirmed=False))
        journal.decision(0, Decision(110, "estimate"), applied=True)
        journal.sample(batch(0, 1.0))
        journal.decision(0, Decision(105, "confirmed"), applied=False)
    page = outline(write_report(folder))
    rows = [attributes for tag, attributes in page.tags if tag == "tr" and {"class", "data-at"} & attributes.keys()]
    assert rows == [{"class": "replaced"}, {"data-at": "0"}]
    assert [text for text in page.texts if text in ("applied", "replaced", "not applied")] == [
        "applied",
        "replaced",
        "not applied",
    ]


def test_of_batches_with_one_id_the_one_that_had_started_owns_the_decision(batch: Batch) -> None:
    samples = [batch(0, started_s=10.0), batch(0, started_s=500.0)]
    decisions = [DecisionRecord(0, Decision(5, "old"), True, 11.0), DecisionRecord(0, Decision(6, "new"), True, 501.0)]
    recording = Recording(samples=samples, decisions=decisions)
    assert owners_of(recording) == [0, 1]
    found = batches_of(recording, Slo.parse(HOLD))
    assert [each.decision.decision.reason for each in found if each.decision] == ["old", "new"]


def test_faults_stand_above_everything_else(folder: Path, outline: Read) -> None:
    with Journal.open(folder / "journal.jsonl", {"slo": HOLD}) as journal:
        journal.event("gave-up", why="nothing usable came")
        journal.event("detached", why="over")
    page = outline(write_report(folder))
    assert "gave-up: nothing usable came" in page.texts
    assert next(a["id"] for tag, a in page.tags if tag == "section") == "events"


def test_an_ordinary_end_is_no_alarm(folder: Path, outline: Read) -> None:
    with Journal.open(folder / "journal.jsonl", {"slo": HOLD}) as journal:
        journal.event("detached", why="over")
    page = outline(write_report(folder))
    assert not [a for tag, a in page.tags if a.get("class") == "notice"]


def test_a_summary_that_disagrees_with_its_journal_is_told(folder: Path, outline: Read) -> None:
    (folder / "summary.json").write_text(json.dumps({"i_slh": 99.0, "digest_ok": False, "interrupted": True}))
    text = outline(write_report(folder)).text
    assert "summary.json and the journal disagree on I-SLH: 99.0% and 71.4%" in text
    assert "The output is wrong" in text
    assert "stopped before the end" in text


@pytest.mark.parametrize(("digest_ok", "said"), [(True, "correct"), (None, "not checked"), ("odd", "not checked")])
def test_the_state_of_the_output_is_told(folder: Path, digest_ok: object, said: str, outline: Read) -> None:
    (folder / "summary.json").write_text(json.dumps({"digest_ok": digest_ok}))
    assert said in outline(write_report(folder)).texts


def test_the_spread_counts_every_item_once_and_band_edges_as_hits(
    tmp_path: Path, batch: Batch, journal_in: Written
) -> None:
    latencies = [0.9, 1.0, 1.1, 1.11, 50.0, 0.01]
    run = load_run(journal_in(tmp_path / "run", [batch(n, s) for n, s in enumerate(latencies)]) / "journal.jsonl")
    drawn = spread_chart(run.counted, run.slo).figure
    shares = {trace.name: sum(trace.y) for trace in drawn.data}
    assert shares["hit"] == pytest.approx(50.0, abs=0.01)
    assert [x for x, y in zip(drawn.data[0].x, drawn.data[0].y, strict=True) if y] == [-7.5, 2.5, 7.5]
    assert shares["miss"] == pytest.approx(50.0, abs=0.01)


def test_a_simulated_run_says_that_it_is_one(
    tmp_path: Path, samples: list[BatchSample], journal_in: Written, outline: Read
) -> None:
    page = outline(write_report(journal_in(tmp_path / "run", samples, header={"slo": HOLD, "plant": "thesis"})))
    assert "Penstock · report of a simulated run" in page.texts
    assert "items a second of virtual time" in page.texts


def test_numbers_are_written_as_people_read_them() -> None:
    assert words.duration(0.97634) == "976 ms"
    assert words.count(899785.4) == "899,785"
    assert words.band(Slo.parse(">= 50k/s")) == "at least 50k/s"
    assert (words.percent(math.nan), words.rate(None), words.measured(None, Slo.parse(HOLD))) == ("–", "–", "–")


def test_a_percentile_is_said_to_be_kept_or_not(
    tmp_path: Path, journal_in: Written, outline: Read, batch: Batch
) -> None:
    took_s = [1.0] * 19 + [3.0]
    run = journal_in(tmp_path, [batch(n, each) for n, each in enumerate(took_s)], header={"slo": "p95 <= 2 s"})
    kept = outline(write_report(run))
    assert "The p95 over all batches was 1 s, at most 2 s is asked for: kept." in kept.text
    assert "p95 of batches" in kept.texts
    run = journal_in(tmp_path / "p99", [batch(n, each) for n, each in enumerate(took_s)], header={"slo": "p99 <= 2 s"})
    assert "The p99 over all batches was 3 s, at most 2 s is asked for: not kept." in outline(write_report(run)).text


def test_two_objectives_are_told_apart(tmp_path: Path, journal_in: Written, outline: Read, batch: Batch) -> None:
    took_s, items = [1.0, 1.0, 1.0, 1.05, 2.0], [100, 100, 50, 200, 300]
    samples = [batch(n, each, size=size, items=size) for n, (each, size) in enumerate(zip(took_s, items, strict=True))]
    page = outline(write_report(journal_in(tmp_path, samples, header={"slo": "1 s ± 10% & >= 100/s"})))
    assert "3 of 5 batches met 1 s ± 10% & >= 100/s." in page.text
    assert "between 900 ms and 1.1 s; 1 batch was too slow." in page.text
    assert "The second objective, >= 100/s, was met by 80.0% of the batches, both by 60.0%." in page.text
    assert "a batch within it is marked as a miss where it missed >= 100/s" in page.text
    named = {trace["name"]: len(trace["x"]) for trace in page.points("timeline") if trace.get("name")}
    assert (named["hit"], sum(named.values())) == (3, 5)


def test_an_objective_that_cannot_hold_is_a_notice(tmp_path: Path, outline: Read, batch: Batch) -> None:
    with Journal.open(tmp_path / "journal.jsonl", {"slo": "1 s ± 10% & >= 500/s"}) as journal:
        journal.sample(batch(0))
        journal.event("objective", why=">= 500/s cannot hold")
    assert "objective: >= 500/s cannot hold" in outline(write_report(tmp_path)).text
