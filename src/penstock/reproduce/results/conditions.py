"""The controller that learns under other conditions, and without its parts: two sections of docs/results.md.

`python -m penstock.reproduce.results.conditions` makes both anew in some minutes, in virtual time. The real traces are
among the conditions where PENSTOCK_DATA names the folder that has them.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.bench.compare.virtual import compare_plant
from penstock.progress import Progress
from penstock.reproduce.page import PAGE, mean, replace_section, spread, table
from penstock.sim.run import LIVE_SLO
from penstock.units import format_count

PLANT = "spark"
SEEDS = 10
BANDS = ("5%", "10%", "15%", "20%")
PARTS = {
    "predictive": "all of it",
    "predictive:changes=false": "without change detection",
    "predictive:recall=false": "without known levels (spikes that pass, jumps back)",
    "predictive:trends=false": "without trends",
    "predictive:cycles=false": "without cycles",
    "predictive:admit=cost": "with declared costs",
}
OTHERS = ("das", "pid", "pmbaf", "dybbs")
_JUMPS = "binary:min=256,max=7525"
_WALK = "random-walk:min=256,max=7525"
_RATES = "min=4k,max=20k"
CONDITIONS: dict[str, dict[str, Any]] = {
    "as fitted": {},
    **{f"samples {delay} late": {"delay": delay} for delay in (1, 3, 5)},
    "noise 2x": {"noise": 2.0},
    "costs jump 30:1": {"cost": f"{_JUMPS},period=200k", "items": 2_000_000},
    "costs jump 30:1, often": {"cost": f"{_JUMPS},period=60k", "items": 1_000_000},
    "costs swing slowly, samples 3 late": {
        "cost": "wave:min=256,max=7525,period=1M",
        "items": 5_000_000,
        "delay": 3,
    },
    "costs walk at random": {"cost": f"{_WALK},period=10k,step=500,seed=3", "items": 1_000_000},
    "costs walk slowly": {"cost": f"{_WALK},period=5k,step=100,seed=4", "items": 1_000_000},
    "costs walk in large steps": {"cost": f"{_WALK},period=20k,step=2500,seed=5", "items": 1_500_000},
    "costs stay": {"cost": "constant:value=2000", "items": 1_000_000},
    "costs rise evenly": {"cost": "increasing:min=256,max=7525,period=2M", "items": 2_000_000},
    "costs fall evenly": {"cost": "decreasing:min=256,max=7525,period=2M", "items": 2_000_000},
    "costs swing 2:1": {"cost": "wave:min=2000,max=4000,period=100k", "items": 1_000_000},
    "costs spike every four batches": {"cost": "spike:min=256,max=7525,period=50k", "items": 1_000_000},
    "arrivals: wave": {"arrivals": f"wave:{_RATES},period=60s"},
    "arrivals: binary": {"arrivals": f"binary:{_RATES},period=60s"},
    "arrivals: spike": {"arrivals": f"spike:{_RATES},period=60s"},
    "arrivals: increasing": {"arrivals": f"increasing:{_RATES},period=300s"},
    "arrivals: decreasing": {"arrivals": f"decreasing:{_RATES},period=300s"},
}
_TRACES = {"elb-request-count.csv": "30k", "tweet-volume-goog.csv": "60k"}

_PARTS_INTRO = """## What the parts of `predictive` are worth

I-SLH in percent of items at four bands, then for each load pattern at the band of the SLO, and MAD-D; intervals of 95%
over {seeds} seeds. With declared costs a batch is admitted by what its items are known to cost before they are
processed: that is another problem, and no row to set against the others.

Made by `{command}` on {date}.
"""
_CONDITIONS_INTRO = """## Under other conditions

I-SLH in percent of items within {slo}, plant `{plant}`, {seeds} seeds each, 95% intervals; in the last columns
`oracle-reported`, which is told the true cost of every batch that was reported, and `oracle-causal`, which knows that
of the last processed item. Where arrivals are slower than the machine, no controller fills a batch, and items are late
by no fault of theirs: the columns differ less there. The last rows replay traces of real systems, which are not part of
the project; where PENSTOCK_DATA names no folder with them, they are left out.

Made by `python -m penstock.reproduce.results.conditions`; a row is what
`penstock compare --plant {plant} --controllers {controllers} --seeds {seeds}` prints with its options added.
"""


def write_parts(progress: Progress | None = None, seeds: int = SEEDS) -> None:
    """Switch the parts of the controller off one by one, and write that section."""
    command = f'penstock compare --plant {PLANT} --slo "{LIVE_SLO}" --controllers {",".join(PARTS)} --seeds {seeds}'
    found = compare_plant(PLANT, LIVE_SLO, tuple(PARTS), seeds=seeds, progress=progress)
    replace_section(PAGE, "parts", parts_section(command, found))


def write_conditions(progress: Progress | None = None, seeds: int = SEEDS) -> None:
    """Compare under every condition, and write that section."""
    found = [
        (name, fields, compare_plant(PLANT, LIVE_SLO, ("predictive", *OTHERS), seeds, progress=progress, **fields))
        for name, fields in {**CONDITIONS, **_traces(os.environ.get("PENSTOCK_DATA"))}.items()
    ]
    replace_section(PAGE, "conditions", conditions_section(found, seeds))


def parts_section(command: str, found: Mapping[str, Any]) -> str:
    """One line a part, as Markdown."""
    rows = found["rows"]
    patterns = list(rows[0]["patterns"])
    lines = [
        [
            PARTS.get(row["controller"], row["controller"]),
            *(mean(row["at"][band]["i_slh"]) for band in BANDS),
            *(spread(row["patterns"][name]["i_slh"]) for name in patterns),
            mean(row["mad_d"]),
        ]
        for row in rows
    ]
    about = found["about"]
    intro = _PARTS_INTRO.format(command=command, date=about["date"], seeds=about["seeds"])
    return f"{intro}\n{table(['', *BANDS, *patterns, 'MAD-D'], lines)}"


def conditions_section(found: Sequence[tuple[str, Mapping[str, Any], Mapping[str, Any]]], seeds: int) -> str:
    """One line a condition, as Markdown."""
    names = ("predictive", *OTHERS, "oracle-reported", "oracle-causal")
    lines = []
    for name, fields, each in found:
        by_name = {row["controller"]: row for row in each["rows"]}
        lines.append([name, _options(fields), *(spread(by_name[which]["i_slh"]) for which in names)])
    intro = _CONDITIONS_INTRO.format(slo=LIVE_SLO, plant=PLANT, seeds=seeds, controllers=",".join(names[:-2]))
    return f"{intro}\n{table(['condition', 'options', *names], lines)}"


def _options(fields: Mapping[str, Any]) -> str:
    words = []
    for key, value in fields.items():
        text = format_count(value) if key == "items" else f"{value:g}x" if key == "noise" else str(value)
        # A folder of this machine is nobody's business.
        text = re.sub(r"path=[^,]*/", "path=", text)
        words.append(f'--{key} "{text}"' if "," in text else f"--{key} {text}")
    return f"`{' '.join(words)}`" if words else ""


def _traces(folder: str | None) -> dict[str, dict[str, Any]]:
    """The real traces as arrivals, a value a second, scaled to a highest rate."""
    if folder is None:
        return {}
    return {
        f"arrivals: {name}": {"arrivals": f"trace:path={Path(folder) / name},period=1s,max={most}"}
        for name, most in _TRACES.items()
    }


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m penstock.reproduce.results.conditions", description=__doc__).parse_args()

    def told(done: int, of: int) -> None:
        """A line every ten runs."""
        if done % 10 == 0:
            print(f"penstock: run {done} of {of}", file=sys.stderr, flush=True)

    write_parts(told)
    write_conditions(told)
