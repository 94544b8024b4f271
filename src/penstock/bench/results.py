"""`make results`: every controller once on Military Server, class small, 1 s ± 10%; writes docs/results.md."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from penstock.bench.demo import mean_size
from penstock.bench.results_page import page
from penstock.bench.run import RunSpec, RunState, Tick, run
from penstock.bench.session import session
from penstock.journal import read
from penstock.slo import Slo

CONTROLLERS = ("pmbaf", "faf", "pbaf", "pbaf-wt", "mbaf", "pid", "fixed")
SIZE_CLASS = "small"
SLO = "1 s ± 10%"
PAGE = Path("docs/results.md")
PICTURES = {"pmbaf": Path("docs/images/pmbaf.png"), "fixed": Path("docs/images/fixed.png")}
RUNS = Path("runs/results")


def main() -> None:
    """Run all, one after another in one session, and write the page and its pictures."""
    from penstock.bench.picture import draw

    summaries: dict[str, dict[str, Any]] = {}
    with session("local[2]"):
        for controller in CONTROLLERS:
            size = None
            if controller == "fixed":
                # What a careful user would set by hand: the mean batch of a run that held the target.
                size = mean_size(summaries["pmbaf"])
            out = RUNS / controller
            spec = RunSpec("military", SIZE_CLASS, slo=SLO, controller=controller, size=size)
            summaries[controller] = run(spec, out, _progress(controller))
            if picture := PICTURES.get(controller):
                picture.parent.mkdir(parents=True, exist_ok=True)
                draw(read(out / "journal.jsonl"), Slo.parse(SLO), picture)
    PAGE.write_text(page(summaries, SLO, SIZE_CLASS, "make results"))
    print(f"written to {PAGE}, {', '.join(map(str, PICTURES.values()))}; the journals are in {RUNS}")


def _progress(controller: str) -> Tick:
    next_s = 0.0

    def tick(at: RunState) -> None:
        nonlocal next_s
        if at.elapsed_s >= next_s:
            next_s = at.elapsed_s + 10
            share = at.items_done / at.items if at.items else 0
            print(f"{controller:8} {at.phase:16} {at.elapsed_s:5.0f} s {share:5.0%}", file=sys.stderr, flush=True)

    return tick


if __name__ == "__main__":
    main()
