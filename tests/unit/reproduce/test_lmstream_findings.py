"""The findings of LMStream on made-up runs: what reproduces them, what breaks each, what cannot tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from penstock.reproduce.finding import NOT, REPRODUCED, UNKNOWN, Outcome, look
from penstock.reproduce.lmstream import published
from penstock.reproduce.lmstream.findings import FINDINGS
from penstock.reproduce.lmstream.paper_runs import BASELINE, CONSTANT, LMSTREAM, RANDOM, PaperRuns
from penstock.reproduce.lmstream.scores import Measured, Scores, Split, Timeline


def run_of(mean_s: float, kbytes_per_s: float, bound_s: float = 10.0, **fields: Any) -> Measured:
    given = {"within": 100.0, "buffering": 20.0, "control": 0.1, "rows": 5000, "latencies": (5.0,) * 12, **fields}
    latencies = given["latencies"]
    return Measured(
        bound_s=bound_s,
        mean_s=mean_s,
        max_s=2 * mean_s,
        within=given["within"],
        batches=len(latencies),
        without_data=0,
        row_bytes=64.0,
        bytes_per_s=1e3 * kbytes_per_s,
        bytes_per_s_of_data=1e3 * kbytes_per_s,
        delivered_per_s=1000.0,
        split=Split(given["buffering"], 100.0 - given["buffering"], given["control"]),
        timeline=Timeline(tuple(10.0 * n for n in range(len(latencies))), latencies, (given["rows"],) * len(latencies)),
    )


def as_published() -> dict[tuple[str, str, str], Measured]:
    """Runs that are all that the paper says."""
    plan = PaperRuns()
    baseline_s = {"lr1s": 12.0, "lr1t": 9.5, "lr2s": 16.0, "cm1s": 7.0, "cm1t": 9.0, "cm2s": 12.0}
    lmstream_s = {"lr1s": 4.7, "lr1t": 2.7, "lr2s": 8.0, "cm1s": 7.0, "cm1t": 3.2, "cm2s": 4.7}
    ratios = {"lr1s": 1.74, "lr1t": 1.0, "lr2s": 1.2, "cm1s": 1.0, "cm1t": 1.0, "cm2s": 1.3}
    runs = {}
    for query in published.QUERIES:
        bound_s = plan.bound_s(query)
        buffering = published.share(query, "buffering")
        runs[query, BASELINE, CONSTANT] = run_of(baseline_s[query], 100.0, bound_s, within=0.0)
        runs[query, LMSTREAM, CONSTANT] = run_of(lmstream_s[query], 100 * ratios[query], bound_s, buffering=buffering)
    growing = tuple(12.0 + n for n in range(12))
    runs["lr1s", BASELINE, RANDOM] = run_of(15.0, 100.0, 5.0, rows=12_000, latencies=growing)
    runs["lr1s", LMSTREAM, RANDOM] = run_of(3.0, 100.0, 5.0, rows=4000)
    runs["lr1t", BASELINE, RANDOM] = run_of(8.0, 100.0, latencies=(10.5,) * 12)
    runs["lr1t", LMSTREAM, RANDOM] = run_of(2.0, 100.0, latencies=(3.0,) * 30)
    return runs


def states(runs: Mapping[tuple[str, str, str], Measured]) -> dict[str, str]:
    scores = Scores(PaperRuns(), runs)
    return {finding.name: look(finding, scores).state for finding in FINDINGS}


def test_runs_as_published_reproduce_every_finding() -> None:
    assert set(states(as_published()).values()) == {REPRODUCED}


@pytest.mark.parametrize("bug", [KeyError("rows"), IndexError(), ValueError("x"), ZeroDivisionError()])
def test_a_bug_in_a_finding_surfaces(bug: Exception) -> None:
    def broken(scores: Scores) -> Outcome:
        raise bug

    with pytest.raises(type(bug)):
        look(replace(FINDINGS[0], look=broken), Scores(PaperRuns(), as_published()))


@pytest.mark.parametrize("lacking", sorted(as_published()))
def test_a_run_that_is_missing_raises_nothing(lacking: tuple[str, str, str]) -> None:
    assert UNKNOWN in states({key: run for key, run in as_published().items() if key != lacking}).values()


def test_no_runs_tell_nothing() -> None:
    assert set(states({}).values()) == {UNKNOWN}


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("latency-lower", {("lr2s", LMSTREAM, CONSTANT): run_of(15.0, 120.0)}),
        ("latency-most", {("lr1t", LMSTREAM, CONSTANT): run_of(4.5, 100.0)}),
        ("latency-below-slide", {("cm2s", LMSTREAM, CONSTANT): run_of(6.0, 130.0, 5.0)}),
        ("latency-bounded", {("cm2s", LMSTREAM, CONSTANT): run_of(4.2, 130.0, 5.0, within=94.0)}),
        ("latency-tumbling", {("cm1t", LMSTREAM, CONSTANT): run_of(4.0, 100.0)}),
        ("baseline-trigger", {("cm1t", BASELINE, CONSTANT): run_of(6.0, 100.0)}),
        ("throughput-kept", {("cm1t", LMSTREAM, CONSTANT): run_of(2.9, 50.0)}),
        ("throughput-most", {("cm2s", LMSTREAM, CONSTANT): run_of(4.2, 190.0)}),
        ("throughput-tumbling", {("lr1t", LMSTREAM, CONSTANT): run_of(2.8, 60.0)}),
        ("both-sliding", {("lr2s", LMSTREAM, CONSTANT): run_of(8.0, 70.0)}),
        ("similar-cm1s", {("cm1s", LMSTREAM, CONSTANT): run_of(3.0, 100.0)}),
        ("batches-larger", {("lr1s", LMSTREAM, RANDOM): run_of(3.0, 100.0, rows=11_000)}),
        ("baseline-grows", {("lr1s", BASELINE, RANDOM): run_of(9.0, 100.0, rows=12_000)}),
        ("lmstream-stays", {("lr1s", LMSTREAM, RANDOM): run_of(3.0, 100.0, latencies=tuple(range(3, 15)))}),
        ("tumbling-lower", {("lr1t", LMSTREAM, RANDOM): run_of(2.0, 100.0, latencies=(10.0,) * 12)}),
        ("tumbling-escapes", {("lr1t", BASELINE, RANDOM): run_of(8.0, 100.0, latencies=tuple(range(10, 30)))}),
        (
            "overhead",
            {(query, LMSTREAM, CONSTANT): run_of(4.0, 100.0, control=2.0) for query in ("lr1s", "lr1t", "lr2s")},
        ),
        ("minor-buffering", {("cm1t", LMSTREAM, CONSTANT): run_of(2.9, 100.0, buffering=30.0)}),
    ],
)
def test_finding_falls_with_the_run_that_it_is_about(
    name: str, changes: Mapping[tuple[str, str, str], Measured]
) -> None:
    assert states({**as_published(), **changes})[name] == NOT


def test_ratio_too_near_to_its_line_cannot_be_told() -> None:
    near = {**as_published(), ("cm1s", LMSTREAM, CONSTANT): run_of(7.0, 92.0)}
    assert states(near)["throughput-kept"] == UNKNOWN


def test_few_batches_tell_no_growth() -> None:
    few = {**as_published(), ("lr1s", BASELINE, RANDOM): run_of(15.0, 100.0, latencies=(10.0, 20.0, 40.0))}
    assert states(few)["baseline-grows"] == UNKNOWN


# The page, the figures and the command
