"""Gasser's evaluation from records to the page, with measurements that are made up."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock.bench.measures.windows import aggregates, black_box, devices, latency, planner, plumbing
from penstock.bench.measures.windows.cases import QUICK, Setting
from penstock.bench.measures.windows.job import Finished, Job, about_rate, run_jobs
from penstock.bench.measures.windows.machine import Machine
from penstock.bench.measures.windows.peers import COMPILED, FLINK, NUMPY, SPARK
from penstock.bench.measures.windows.programs import all_jobs
from penstock.bench.measures.windows.rates import OURS
from penstock.bench.measures.windows.results import Results
from penstock.bench.measures.windows.section import ratios
from penstock.errors import BadInputError
from penstock.reproduce.finding import NOT, REPRODUCED, UNKNOWN, UNTESTABLE
from penstock.reproduce.gasser import published
from penstock.reproduce.gasser.extents import all_extents
from penstock.reproduce.gasser.findings import look_at_all
from penstock.reproduce.gasser.page import page, write_page
from penstock.reproduce.gasser.reproduce import RAW, RESULTS, reproduce
from penstock.reproduce.gasser.scores import Scores
from penstock.reproduce.gasser.tables import tables
from penstock.reproduce.gasser.verdict import verdict
from penstock.reproduce.gasser.wanted import wanted_table

EXTENTS = all_extents(changes=200)
WINDOWS = ((10_000, 5), (10_000, 100), (50_000, 25))


def records(good: bool = True) -> Iterator[dict[str, Any]]:
    """Measurements of every program: as published and wished for, or the contrary."""
    yield from rates(good)
    for every, share in ((2, 1.05), (128, 0.6), (1024, 0.95)):
        fast = 1000.0
        slow = fast * share if good else fast / 10
        yield {"program": black_box.PROGRAM, "every": every, "running sums MB/s": fast, "black box MB/s": slow}
    for query in ("q1", "q2"):
        for every in (100, 1000):
            wanted = devices.RATE_PER_S / every
            slower = wanted / 2 if every == 100 and query == ("q2" if good else "q1") else wanted
            for name, rate in (("numpy", wanted / 100), ("numba", slower), ("numba-parallel", wanted)):
                about = {"program": devices.PROGRAM, "query": query, "length": 25_000, "every": every}
                yield {**about, "device": name, "windows_per_s": rate}
    for by, name, values in ((latency.BY_BATCH, "batch", (384, 5760)), (latency.BY_TRIGGER, "trigger_s", (0.5, 4.0))):
        for at, value in enumerate(values):
            about = {
                "program": latency.PROGRAM,
                "by": by,
                "length": 10_000,
                "batch": 384,
                "trigger_s": 0.0,
                name: value,
            }
            mean_s = 0.5 + at * (2.0 if good else 0.0)
            yield {**about, "mean_s": mean_s, "max_s": 2 * mean_s, "batch_s": 0.4, "batch_rows": 10_000 * (at + 1)}
    for who, cost in ((plumbing.IDENTITY, 1.0), (plumbing.UNKEYED, 2.0), (plumbing.KEYED, 2.0 if good else 9.0)):
        for rows in (2_000, 400_000):
            times = {"batch_s": 0.1 * cost + 1e-6 * rows, "cpu_s_per_million": cost, "rows_per_s": 1e6}
            yield {"program": plumbing.PROGRAM, "who": who, "rows": rows, "round": 1, **times}
    for who, batch_s in ((aggregates.OURS, 1.5 if good else 4.0), (aggregates.SPARK, 1.0)):
        about = {"program": aggregates.PROGRAM, "who": who, "every_s": 1.0, "round": 1}
        yield {**about, "batch_s": batch_s, "cpu_s_per_million": 2 * batch_s}
    times = {"auto_s": 1.05 if good else 1.5, "numba_s": 1.0, "numba-parallel_s": 2.0}
    yield {"program": planner.PROGRAM, "windows": 10, **times, "best": "numba", "chosen": "numba"}


def rates(good: bool) -> Iterator[dict[str, Any]]:
    for query in ("q1", "q2"):
        for length, every in WINDOWS:
            setting = Setting(query, length, every)
            mine = {"replicas": 2, "kernel_share": 0.7 if good else 0.2, "copies_a_row": 1.5, "kept_mb": 0.1}
            for batch, rate in ((None, 80_000.0), (384, 100_000.0)):
                yield {**about_rate(OURS, setting, 1, batch), "rows_per_s": rate, "windows_per_s": 9.0, **mine}
            gain = (length / every / 10 if good else 2.0) * 1.0
            yield {**about_rate(SPARK, setting, 1, None), "rows_per_s": 100_000.0 / gain}
            yield {**about_rate(FLINK, setting, 1, None), "rows_per_s": 100_000.0 / (30 if good else 2)}
            yield {**about_rate(NUMPY, setting, 1, None), "rows_per_s": 100_000.0}
            yield {**about_rate(COMPILED, setting, 1, None), "rows_per_s": 100_000.0 * (0.5 if every == 5 else 4)}
        keyed = Setting(query, 10_000, 5, keys=500)
        yield {**about_rate(OURS, keyed, 1, None), "rows_per_s": 50_000.0, "windows_per_s": 9.0, "kernel_share": 0.5}


def scores(found: Iterator[dict[str, Any]]) -> Scores:
    return Scores(Results(found), EXTENTS, QUICK)


def states(found: Scores) -> Mapping[str, str]:
    return {finding.name: outcome.state for finding, outcome in look_at_all(found)}


def test_what_is_transcribed_agrees_with_itself_and_with_the_text() -> None:
    assert set(published.TABLE_3) == {
        (query, length, every) for query in ("q1", "q2") for length in published.LENGTHS for every in published.SLIDES
    }
    rows = published.TABLE_3.values()
    assert all(row.batch % published.BLOCK == 0 and row.batch <= 15 * published.BLOCK for row in rows)
    assert all(1 <= row.replicas <= published.MOST_REPLICAS for row in rows)
    assert (min(row.over_cpu for row in rows), max(row.over_cpu for row in rows)) == published.OVER_CPU
    assert (min(row.over_flink for row in rows), max(row.over_flink for row in rows)) == published.OVER_FLINK
    assert all(row.hard < row.hard_max and row.soft < row.soft_max for row in published.TABLE_4.values())


def test_findings_come_out_either_way() -> None:
    good, bad = states(scores(records())), states(scores(records(good=False)))
    measured = [
        "flink-gain",
        "small-slides",
        "latency-batch",
        "latency-spark-batch",
        "break-even-heavier",
        "tumbling-penalty",
        "most-penalty",
    ]
    assert {name: good[name] for name in measured} == dict.fromkeys(measured, REPRODUCED)
    assert {name: bad[name] for name in measured} == dict.fromkeys(measured, NOT)


def test_without_measurements_findings_cannot_tell_and_table_4_is_still_there() -> None:
    found = states(scores(iter([])))
    assert {found[name] for name in ("gpu-gain", "break-even", "profile", "tuner")} == {UNTESTABLE}
    assert {found[name] for name in ("flink-gain", "small-slides", "latency-batch", "most-penalty")} == {UNKNOWN}
    assert found["hard-shorter"] == REPRODUCED
    assert [table.name for table in tables(scores(iter([])))] == ["wanted", "4"]


def test_devices_that_tie_at_every_slide_show_no_order() -> None:
    tied = [{**each, "windows_per_s": 1e9} if each["program"] == devices.PROGRAM else each for each in records()]
    assert states(scores(iter(tied)))["break-even-heavier"] == UNKNOWN


def test_the_hard_protocol_can_also_lose() -> None:
    slow = {key: replace(row, hard=2 * row.soft) for key, row in EXTENTS.items()}
    assert states(replace(scores(records()), extents=slow))["hard-shorter"] == NOT


def test_computed_extents_are_near_the_published_ones() -> None:
    for key, row in all_extents(changes=2000).items():
        theirs = published.TABLE_4[key]
        for ours, known in ((row.soft, theirs.soft), (row.hard, theirs.hard)):
            assert 0.6 < ours / known < 1.6, (key, ours, known)


def test_goals_are_met_or_missed_by_their_worst_case() -> None:
    good = {row[0]: row[-1] for row in wanted_table(scores(records())).rows}
    bad = {row[0]: row[-1] for row in wanted_table(scores(records(good=False))).rows}
    assert set(good.values()) == {"met"}
    assert set(bad.values()) == {"**missed**"}


def test_verdict_counts_wins_ties_and_losses() -> None:
    text = verdict(scores(records()))
    assert "plain PySpark (exploded windows): **win** in 6 of 6 cases, by 10.0 to 200.0 times (Q1 10k/5)" in text
    assert "a NumPy loop in one process: **tie** in 6" in text
    assert "**win** in 2 of 6 cases, by 2.0 to 2.0 times" in text
    assert "**lose** in 4 of 6 cases, by 4.0 to 4.0 times" in text


def test_a_peer_that_takes_too_long_is_said_so() -> None:
    slow = Setting("q1", 50_000, 5)
    more = [*records(), {**about_rate(SPARK, slow, 1, None), "unfinished": 120.0}]
    more.append({**about_rate(OURS, slow, 1, 384), "rows_per_s": 10.0})
    found = scores(iter(more))
    assert "1 more it did not finish within 120 s" in verdict(found)
    rows = {row[0]: row for row in next(table for table in tables(found) if table.name == "7").rows}
    assert rows["Q1 50k/5"][2] == "not in 120 s"


def test_the_best_batch_length_counts_and_failed_measurements_do_not() -> None:
    results = Results([*records(), {**about_rate(OURS, Setting("q1", 10_000, 5), 1, 1536), "failed": "no memory"}])
    assert results.best_batch(Setting("q1", 10_000, 5)) == 384
    assert results.rate(Setting("q1", 10_000, 5)) == 100_000.0


def test_fixed_time_is_where_the_line_begins() -> None:
    assert Results(records()).fixed_s(plumbing.UNKEYED) == pytest.approx(0.2)


def test_bench_prints_ratios_of_both_sides() -> None:
    found = {measure.name: measure for measure in ratios(Results(records()))}
    assert found["windows.q1.10000_5.plain_spark"].ratio == pytest.approx(200)
    assert found["windows.plumbing.windows.cpu_s_per_million"].ratio == pytest.approx(2)
    assert found["windows.planner.10"].ratio == pytest.approx(1.05)


def test_every_job_has_a_name_of_its_own() -> None:
    names = [job.name for job in all_jobs(QUICK, flink=True)]
    assert len(names) == len(set(names))


def test_page_begins_with_wins_ties_and_losses_and_is_made_again_without_measuring(tmp_path: Path) -> None:
    calls: list[int] = []

    def run(found: dict[str, Any]) -> Any:
        calls.append(1)
        return found

    jobs = [
        Job({"program": each["program"], "number": number, **each}, lambda machine, each=each: run(each))
        for number, each in enumerate(records())
    ]
    first = reproduce(QUICK, tmp_path, jobs=jobs)
    again = reproduce(QUICK, tmp_path, jobs=jobs)
    assert len(calls) == len(jobs)
    assert page(first) == page(again)
    path = tmp_path / "gasser.md"
    write_page(again, path)
    text = path.read_text()
    assert text.index("**win**") < text.index("## What was run") < text.index("## Findings")
    assert "Table 4" in text
    assert "not testable here" in text
    assert sorted(file.name for file in (tmp_path / "images").iterdir()) == [
        "gasser-11-black-box.png",
        "gasser-7-rates.png",
        "gasser-8-latency.png",
        "gasser-9-devices.png",
    ]
    assert json.loads((tmp_path / RESULTS).read_text())["measurements"] == len(jobs)


def test_a_failure_costs_no_other_measurement_and_is_tried_again(tmp_path: Path) -> None:
    tries: list[str] = []

    def breaks(machine: Machine) -> dict[str, Any]:
        tries.append("one")
        raise RuntimeError("no memory\nmore of it")

    jobs = [Job({"program": "a"}, breaks), Job({"program": "b"}, lambda machine: {"rows_per_s": 1.0})]
    for _ in range(2):
        with Machine(QUICK) as machine:
            finished = Finished(tmp_path / RAW, QUICK)
            failures = run_jobs(jobs, machine, finished, lambda text: None)
    assert failures == ["a: RuntimeError: no memory"]
    assert len(tries) == 2
    assert Finished(tmp_path / RAW, QUICK).records["b"] == {"program": "b", "rows_per_s": 1.0}


def test_measurements_of_another_size_are_refused(tmp_path: Path) -> None:
    Finished(tmp_path / RAW, QUICK).add(Job({"program": "a"}, lambda machine: {}), {}, 1.0)
    with pytest.raises(BadInputError, match="size quick"):
        Finished(tmp_path / RAW, replace(QUICK, name="full"))
