"""Windows as a section of `make bench`: every program, then the ratios."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from penstock.bench.measures.measure import Measure
from penstock.bench.measures.windows import aggregates, black_box, plumbing
from penstock.bench.measures.windows.cases import Setting, Size
from penstock.bench.measures.windows.job import Finished, run_jobs
from penstock.bench.measures.windows.machine import Machine
from penstock.bench.measures.windows.peers import COMPILED, FLINK, NUMPY, PANDAS, SPARK
from penstock.bench.measures.windows.programs import all_jobs
from penstock.bench.measures.windows.results import Results
from penstock.progress import Say


def measure(size: Size, flink: bool, say: Say) -> Iterator[Measure]:
    """Run all of it, and give the ratios."""
    with tempfile.TemporaryDirectory() as folder, Machine(size) as machine:
        finished = Finished(Path(folder) / "raw.json", size)
        run_jobs(all_jobs(size, flink), machine, finished, say)
        yield from ratios(Results(finished.records.values()))


def ratios(results: Results) -> Iterator[Measure]:
    """All that the records have both sides of."""
    for setting in results.settings():
        for who in (SPARK, COMPILED, NUMPY, PANDAS, FLINK):
            ours, peer = results.rate(setting), results.rate(setting, who)
            if ours and peer:
                what = f"sustainable rate / {who} (above 1 is better)"
                yield Measure(f"windows.{_name(setting)}.{who.replace(' ', '_')}", ours, peer, "rows/s", what)
    for setting in (*results.settings(), *results.settings(keyed=True)):
        share = results.rate(setting, name="kernel_share")
        if share is not None:
            yield Measure(f"windows.{_name(setting)}.kernel", share, 1.0, "", "the kernel's share of a batch's time")
    for who in (plumbing.UNKEYED, plumbing.KEYED):
        for unit, what in (("CPU s/M rows", "cpu_s_per_million"), ("s", "fixed_s")):
            ours, peer = (
                results.fixed_s(each) if what == "fixed_s" else results.plumbing(each, what)
                for each in (who, plumbing.IDENTITY)
            )
            if ours and peer:
                name = f"windows.plumbing.{who.replace(' ', '_')}.{what}"
                yield Measure(name, ours, peer, unit, f"{who}, nothing computed / identity mapInArrow")
    yield from _kernels(results)


def _kernels(results: Results) -> Iterator[Measure]:
    for every_s in aggregates.SLIDES_S:
        if ratio := results.aggregate(every_s):
            what = f"sum and mean over 10 s every {every_s:g} s / Spark's own window()"
            yield Measure(f"windows.aggregates.{every_s:g}s", ratio, 1.0, "batch time", what)
    for each in results.select(program=black_box.PROGRAM):
        ours, peer = each[f"{black_box.BLACK_BOX} MB/s"], each[f"{black_box.RUNNING} MB/s"]
        what = "any function / running sums (above 1 is better)"
        yield Measure(f"windows.black_box.{each['every']}", ours, peer, "MB/s", what)
    for windows, ratio in results.planners():
        yield Measure(f"windows.planner.{windows}", ratio, 1.0, "time", "device auto / the best single device")


def _name(setting: Setting) -> str:
    keys = "" if setting.keys is None else f".{setting.keys}_keys"
    return f"{setting.query}.{setting.length}_{setting.every}{keys}"
