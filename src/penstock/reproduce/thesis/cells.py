"""Running cells in processes, each result kept in a file as it comes, so that a killed run goes on where it stopped.

Every line of `cells.jsonl` stands alone: the cell's key, a stamp, and the numbers. The stamp is a hash of the format's
version, the plant's parameters and what the cell's algorithm does in a short run, so that a change of the simulator or
of a formula is noticed for the algorithms that it changes. A line that is torn, or has another stamp, is as good as
absent.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import random
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from penstock.bench.compare.grid import STEPPING
from penstock.progress import Progress
from penstock.reproduce.thesis.grid import ORACLES, THRESHOLDS, Cell, Config
from penstock.score import hits
from penstock.sim.plant import load_plant, plant_fields
from penstock.sim.run import SimRun, SimSpec, simulate

FILE = "cells.jsonl"
VERSION = 1
PARTS = ("increasing", "spike", "decreasing", "binary", "wave")

Numbers = Mapping[str, Any]

# Below this, compiling would take longer than it saves.
_WORTH_COMPILING = 20
_PARENT_POLL_S = 0.5
# Long enough to meet all five load patterns, to grow and to shrink.
_PROBE_ITEMS = 1000
_PROBES = (
    *(Config(name, THRESHOLDS[0], step=5, sample=2) for name in STEPPING),
    Config("pid", kp=10, ki=15, kd=3, sample=2),
    *(Config(name) for name in ORACLES),
    Config("fixed", size=10),
)


def numbers_of(run: SimRun, thresholds: Sequence[int]) -> dict[str, Any]:
    """What is kept of a run: hits at the thresholds, whole and by part, distances, throughput, batches."""
    items = run.items.astype(np.float64)
    parts, count = run.parts, len(run.load.names)
    batches_in, items_in = np.bincount(parts, minlength=count), np.bincount(parts, items, minlength=count)
    whole = run.metrics(thresholds[0] / 100)
    at = {}
    for threshold in thresholds:
        hit = hits(run.values, run.slo, threshold / 100)
        batch_hits, item_hits = np.bincount(parts[hit], minlength=count), np.bincount(parts[hit], items[hit], count)
        at[str(threshold)] = {
            "b_slh": 100.0 * float(hit.mean()),
            "i_slh": 100.0 * float(items[hit].sum() / items.sum()),
            "parts_b_slh": _shares(batch_hits, batches_in),
            "parts_i_slh": _shares(item_hits, items_in),
        }
    return {
        "at": at,
        "mad_d": whole.mad_d,
        "sd_d": whole.sd_d,
        "latency_s": float(run.values.mean()),
        "throughput_per_s": float(items.sum() / run.ended_s[-1]),
        "batches": int(run.items.size),
    }


def _shares(part: Any, whole: Any) -> list[float | None]:
    return [round(100.0 * float(a) / float(b), 4) if b else None for a, b in zip(part, whole, strict=True)]


def stamps() -> dict[str, str]:
    """By algorithm, what changes with the plant, the format, or what the algorithm does, and with nothing else."""
    fields = json.dumps({"version": VERSION, "plant": plant_fields(load_plant("thesis"))}, sort_keys=True)
    answer = {}
    for probe in _PROBES:
        run = simulate(Cell(probe, seed=1, items=_PROBE_ITEMS).spec())
        content = fields.encode() + run.items.tobytes() + run.ended_s.tobytes()
        answer[probe.algorithm] = hashlib.sha256(content).hexdigest()[:16]
    return answer


def read_cells(path: Path) -> dict[str, Numbers]:
    """The numbers that a file has for the present plant and version, by key."""
    known: dict[str, Numbers] = {}
    if not path.exists():
        return known
    wanted = stamps()
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                record = json.loads(line)
                if record["stamp"] == wanted[record["key"]["algorithm"]]:
                    known[_text(record["key"])] = record["numbers"]
            except (ValueError, KeyError, TypeError):
                continue
    return known


@dataclass(frozen=True)
class Ran:
    """The numbers of all cells, and how many of them were computed now."""

    numbers: Mapping[Cell, Numbers]
    computed: int


def run_cells(cells: Sequence[Cell], folder: Path, progress: Progress, processes: int | None = None) -> Ran:
    """The numbers of all cells: from the folder where it has them, else computed and kept there."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    known = read_cells(path)
    found: dict[Cell, Numbers] = {cell: known[key] for cell in cells if (key := _text(cell.key())) in known}
    missing = [cell for cell in cells if cell not in found]
    # Long and short runs mixed, so that the time left can be told from the time spent.
    random.Random(0).shuffle(missing)
    if missing:
        stamp = stamps()
        _end_torn_line(path)
        with path.open("a", encoding="utf-8") as file:
            for cell, numbers, seconds in _computed(missing, progress, processes or os.cpu_count() or 1):
                record = {
                    "stamp": stamp[cell.config.algorithm],
                    "key": cell.key(),
                    "numbers": numbers,
                    "cpu_s": round(seconds, 4),
                }
                file.write(json.dumps(record) + "\n")
                file.flush()
                found[cell] = numbers
    return Ran({cell: found[cell] for cell in cells}, len(missing))


def _computed(
    missing: Sequence[Cell], progress: Progress, processes: int
) -> Iterator[tuple[Cell, dict[str, Any], float]]:
    compiled = len(missing) >= _WORTH_COMPILING and any(cell.items is None for cell in missing)
    if compiled:
        # Once, here: forked processes inherit it.
        simulate(SimSpec(controller="fixed", items=1000), compiled=True)
    calls = [(cell, compiled) for cell in missing]
    with multiprocessing.get_context("fork").Pool(processes, _start_worker, (os.getpid(),)) as pool:
        progress(0, len(calls))
        for done, answer in enumerate(pool.imap_unordered(_run_cell, calls, chunksize=2), start=1):
            yield answer
            progress(done, len(calls))


def _run_cell(call: tuple[Cell, bool]) -> tuple[Cell, dict[str, Any], float]:
    cell, compiled = call
    began_s = time.process_time()
    numbers = numbers_of(simulate(cell.spec(), compiled=compiled), cell.config.scored_at())
    return cell, numbers, time.process_time() - began_s


def _start_worker(parent: int) -> None:
    # Ctrl-C is the parent's to answer. When it is killed, nobody else would end a worker that waits for work.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def follow() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_POLL_S)
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _end_torn_line(path: Path) -> None:
    """What is appended must not continue a line that a killed run left half written."""
    if path.exists() and path.stat().st_size:
        with path.open("rb+") as file:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")


def _text(key: Mapping[str, Any]) -> str:
    return json.dumps(key, sort_keys=True)
