"""The findings of the thesis, on numbers made up so that each goes either way."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from penstock.bench.compare.grid import STEPPING
from penstock.reproduce.finding import Outcome, look
from penstock.reproduce.thesis.findings import FINDINGS
from penstock.reproduce.thesis.grid import THRESHOLDS, Config, Grid
from penstock.reproduce.thesis.scores import Scores


def _made(
    special: Callable[[Config, int], Mapping[str, Any]],
    among: Callable[[Config, int], bool] = lambda config, seed: True,
) -> Scores:
    grid = Grid(runs=6, fixed_runs=1, kp=(0, 10), ki=(15,), kd=(0, 3), pid_samples=(1,), sizes=(1, 10, 100, 150, 500))
    found = {}
    for cell in grid.cells():
        if not among(cell.config, cell.seed):
            continue
        wobble = 0.01 * cell.seed
        given = {"b_slh": 50.0, "i_slh": 40.0, "mad_d": 25.0, "sd_d": 40.0, "parts": (60.0, 20.0, 50.0, 15.0, 20.0)}
        given.update({"latency_s": 0.003, "throughput_per_s": 1000.0, "spread": 1.0})
        given.update(special(cell.config, cell.seed))
        parts = [value + wobble for value in given["parts"]]
        hits = {"b_slh": given["b_slh"] + given["spread"] * wobble, "i_slh": given["i_slh"] + wobble}
        found[cell] = {
            "at": {str(h): {**hits, "parts_b_slh": parts, "parts_i_slh": parts} for h in cell.config.scored_at()},
            **{name: given[name] + wobble for name in ("mad_d", "sd_d", "throughput_per_s")},
            "latency_s": given["latency_s"],
            "batches": 1,
        }
    return Scores(found)


def _fixed(config: Config, rates: Mapping[int, float]) -> dict[str, float]:
    return {"throughput_per_s": rates[config.size]} if config.size else {}


Special = Callable[[Config, int], Mapping[str, Any]]
BOTH_WAYS: dict[str, tuple[Special, Special]] = {
    "fixed-throughput-flat": (
        lambda c, s: _fixed(c, {1: 1, 10: 9, 100: 20, 150: 24, 500: 25}),
        lambda c, s: _fixed(c, {1: 1, 10: 5, 100: 10, 150: 12, 500: 25}),
    ),
    "fixed-gain": (
        lambda c, s: _fixed(c, {1: 1, 10: 9, 100: 20, 150: 24, 500: 25}),
        lambda c, s: _fixed(c, {1: 1, 10: 2, 100: 3, 150: 4, 500: 5}),
    ),
    "fixed-latency-slope": (
        lambda c, s: {"latency_s": {1: 1, 10: 2, 100: 11, 150: 13, 500: 30}[c.size] / 1e3} if c.size else {},
        lambda c, s: {"latency_s": {1: 1, 10: 2, 100: 3, 150: 9, 500: 90}[c.size] / 1e3} if c.size else {},
    ),
    "itemized-below-batched": (lambda c, s: {"b_slh": 60.0}, lambda c, s: {"b_slh": 30.0}),
    "items-vary-less": (lambda c, s: {"spread": 9.0}, lambda c, s: {"spread": 0.1}),
    "step-grows-with-threshold": (
        lambda c, s: {"i_slh": 60.0 if (c.step or 0) >= 15 and c.threshold == 20 else 50.0 if c.step == 5 else 40.0},
        lambda c, s: {"i_slh": 60.0 if c.step == 1 and c.threshold == 20 else 50.0 if c.step == 5 else 40.0},
    ),
    "sample-one-for-items": (
        lambda c, s: {"i_slh": 50.0 if c.sample == 1 else 40.0},
        lambda c, s: {"i_slh": 50.0 if c.sample == 5 else 40.0},
    ),
    "larger-sample-for-batches": (
        lambda c, s: {"b_slh": 60.0 if c.sample == 5 else 50.0},
        lambda c, s: {"b_slh": 60.0 if c.sample == 1 else 50.0},
    ),
    "faf-and-mbaf-decay": (
        lambda c, s: {"i_slh": 40.0 - (c.step or 0) * (c.algorithm in ("faf", "mbaf"))},
        lambda c, s: {"i_slh": 40.0 - (c.step or 0)},
    ),
    "homogeneous": (
        lambda c, s: {"b_slh": 30.0, "i_slh": 30.0} if c.algorithm == "faf" and c.threshold == 5 else {},
        lambda c, s: {"i_slh": 20.0 if c.algorithm == "faf" and c.threshold == 20 else 40.0},
    ),
    "pmbaf-leads-batched": (
        lambda c, s: {"b_slh": 60.0 if c.algorithm == "pmbaf" else 50.0},
        lambda c, s: {"b_slh": 60.0 if c.algorithm == "faf" else 50.0},
    ),
    "advice": (
        lambda c, s: {"i_slh": 41.0 if c.sample == 1 else 40.0},
        lambda c, s: {"i_slh": 90.0 if c.sample == 1 else 40.0},
    ),
    "gradual-patterns-best": (lambda c, s: {}, lambda c, s: {"parts": (60.0, 20.0, 50.0, 55.0, 20.0)}),
    "reactive-on-binary": (
        lambda c, s: {"parts": (60, 20, 50, 30 if c.algorithm in ("mbaf", "pmbaf") else 15, 20)},
        lambda c, s: {"parts": (60, 20, 50, 30 if c.algorithm in ("mbaf", "faf") else 15, 20)},
    ),
    "pmbaf-on-spike": (
        lambda c, s: {"parts": (60, 10 if c.algorithm == "pmbaf" else 20, 50, 15, 20)},
        lambda c, s: {"parts": (60, 10 if c.algorithm == "faf" else 20, 50, 15, 20)},
    ),
    "wave-alike": (
        lambda c, s: {},
        lambda c, s: {"parts": (60, 20, 50, 15, 40 if c.algorithm == "faf" else 20)},
    ),
    "sample-helps-gradual": (
        lambda c, s: {"parts": (60 + (c.sample or 0), 20, 50 + (c.sample or 0), 15, 20)},
        lambda c, s: {"parts": (60 - (c.sample or 0), 20, 50 - (c.sample or 0), 15, 20)},
    ),
    "sample-helps-spike": (
        lambda c, s: {"parts": (60, 20 + (c.sample or 0), 50, 15, 20)},
        lambda c, s: {"parts": (60, 20 - (c.sample or 0), 50, 15, 20)},
    ),
    "pmbaf-smallest-mad": (
        lambda c, s: {"mad_d": 15.0 if c.algorithm == "pmbaf" else 25.0},
        lambda c, s: {"mad_d": 15.0 if c.algorithm == "faf" else 25.0},
    ),
    "pmbaf-forty-percent": (
        lambda c, s: {"mad_d": 15.0 if c.algorithm == "pmbaf" else 25.0},
        lambda c, s: {"mad_d": 24.0 if c.algorithm == "pmbaf" else 25.0},
    ),
    "slow-convergence": (
        lambda c, s: {"sd_d": 30.0 if c.step == 1 and c.sample == 1 else 40.0},
        lambda c, s: {"sd_d": 30.0 if c.step == 20 else 40.0},
    ),
    "slow-is-half-as-fast": (
        lambda c, s: {"throughput_per_s": 500.0 if c.step == 1 else 1000.0},
        lambda c, s: {},
    ),
    "pid-level-with-pmbaf": (
        lambda c, s: {"i_slh": 43.0 if c.algorithm == "pid" else 40.0},
        lambda c, s: {"i_slh": 53.0 if c.algorithm == "pid" else 40.0},
    ),
    "pid-mad-level": (
        lambda c, s: {"mad_d": 26.0 if c.algorithm == "pid" else 25.0},
        lambda c, s: {"mad_d": 35.0 if c.algorithm == "pid" else 25.0},
    ),
    "integral-dominates": (
        lambda c, s: {"i_slh": 40.0 if c.kp else 38.0},
        lambda c, s: {"i_slh": 40.0 if c.kp else 20.0},
    ),
    "best-gains": (
        lambda c, s: dict.fromkeys(("b_slh", "i_slh"), 60.0) | {"mad_d": 15.0} if (c.kp, c.kd) == (10, 3) else {},
        lambda c, s: dict.fromkeys(("b_slh", "i_slh"), 60.0) | {"mad_d": 15.0} if (c.kp, c.kd) == (0, 3) else {},
    ),
}  # fmt: skip


def test_every_finding_is_tried_both_ways() -> None:
    assert set(BOTH_WAYS) == {finding.name for finding in FINDINGS}


@pytest.mark.parametrize("name", BOTH_WAYS)
def test_finding_follows_the_numbers(name: str) -> None:
    (finding,) = (finding for finding in FINDINGS if finding.name == name)
    yes, no = (look(finding, _made(special)) for special in BOTH_WAYS[name])
    assert (yes.state, no.state) == ("reproduced", "not reproduced"), (yes.sentence, no.sentence)
    json.dumps([dict(yes.numbers), dict(yes.published)])


def test_finding_without_its_cells_cannot_tell() -> None:
    assert {look(finding, Scores({})).state for finding in FINDINGS} == {"cannot tell"}


LACKS: dict[str, Callable[[Config, int], bool]] = {
    **{f"no {name}": lambda c, s, name=name: c.algorithm != name for name in (*STEPPING, "pid", "fixed")},
    **{f"only {name}": lambda c, s, name=name: c.algorithm == name for name in (*STEPPING, "pid", "fixed")},
    **{f"no threshold {h}": lambda c, s, h=h: c.threshold != h for h in THRESHOLDS},
    **{f"no step {step}": lambda c, s, step=step: c.step != step for step in (1, 10, 15)},
    **{f"no sample {sample}": lambda c, s, sample=sample: c.sample != sample for sample in (1, 5)},
    **{f"no size {size}": lambda c, s, size=size: c.size != size for size in (1, 10, 100)},
    "no size above 100": lambda c, s: (c.size or 0) <= 100,
    "one run": lambda c, s: s == 1,
    "fewer runs of one": lambda c, s: c.algorithm != "faf" or s < 2,
}


@pytest.mark.parametrize("lack", LACKS)
def test_a_grid_that_lacks_cells_raises_nothing(lack: str) -> None:
    # Two runs will do: an interval of more takes longer.
    scores = _made(lambda c, s: {}, among=lambda c, s: s <= 2 and LACKS[lack](c, s))
    assert {look(finding, scores).state for finding in FINDINGS} <= {"reproduced", "not reproduced", "cannot tell"}


def test_a_grid_of_zeros_raises_nothing() -> None:
    zeros = {"b_slh": 0.0, "i_slh": 0.0, "mad_d": 0.0, "sd_d": 0.0, "throughput_per_s": 0.0, "latency_s": 0.0}
    scores = _made(lambda c, s: zeros, among=lambda c, s: s == 1)
    for finding in FINDINGS:
        look(finding, scores)


@pytest.mark.parametrize("bug", [KeyError("step"), IndexError(), ValueError("x"), ZeroDivisionError(), TypeError()])
def test_a_bug_in_a_finding_surfaces(bug: Exception) -> None:
    def broken(scores: Scores) -> Outcome:
        raise bug

    with pytest.raises(type(bug)):
        look(replace(FINDINGS[0], look=broken), _made(lambda c, s: {}))


def test_finding_on_means_that_noise_blurs_cannot_tell() -> None:
    (finding,) = (finding for finding in FINDINGS if finding.name == "pmbaf-leads-batched")
    blurred = _made(lambda c, s: {"b_slh": 50.0 + 7 * ((s + (c.algorithm == "pmbaf")) % 3)})
    assert look(finding, blurred).state == "cannot tell"
