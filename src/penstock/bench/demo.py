"""The demonstration: the same stream with an adaptive and with a fixed batch size, side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from penstock.bench.picture import check, draw, draw_pair
from penstock.bench.run import RunSpec, prepare
from penstock.journal import read

# One slow swing of the load, 6:1, over the items of the class `test`: about 45 batches of 1 s on two cores. The least
# size keeps the demonstration short on a machine that is too busy for the objective.
SPEC = RunSpec(
    app="military",
    size_class="test",
    slo="1 s ± 20%",
    controller="pmbaf",
    settings={"step": "30%", "min_size": "2k"},
    cost="wave:min=500,max=3k,period=219k",
)

Runner = Callable[[RunSpec, Path], dict[str, Any]]


@dataclass(frozen=True)
class Demo:
    """What the demonstration left: a summary for each run, and the pictures; `fixed` is None after a Ctrl-C."""

    adaptive: dict[str, Any]
    fixed: dict[str, Any] | None
    pictures: list[Path]


def demonstrate(out: Path, runner: Runner, spec: RunSpec = SPEC) -> Demo:
    """Run `spec`, then the same with a fixed size, and draw both.

    The fixed size is the mean batch of the adaptive run: as many batches for the same stream, so whatever differs is
    where the sizes were large and where they were small.
    """
    slo = prepare(spec).slo
    alone, together = out / "adaptive.png", out / "comparison.png"
    check(alone)
    adaptive = runner(spec, out / "adaptive")
    if adaptive["interrupted"]:
        return Demo(adaptive, None, [])
    first = read(out / "adaptive" / "journal.jsonl")
    draw(first, slo, alone)
    fixed = runner(replace(spec, controller="fixed", settings={}, size=mean_size(adaptive)), out / "fixed")
    if fixed["interrupted"]:
        return Demo(adaptive, fixed, [alone])
    draw_pair([first, read(out / "fixed" / "journal.jsonl")], slo, together)
    return Demo(adaptive, fixed, [alone, together])


def mean_size(summary: dict[str, Any]) -> float:
    """The items of a run over its batches, whole.

    >>> mean_size({"items": 1000, "batches": 30})
    33.0
    """
    return float(max(round(summary["items"] / max(summary["batches"], 1)), 1))
