"""A simulated run as a run: the same summary and, where wanted, the same journal."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from penstock.bench.run import make_empty
from penstock.clock import ManualClock
from penstock.control.sample_value import begin
from penstock.journal import Journal
from penstock.json_file import write_json
from penstock.sample import BatchSample, Decision
from penstock.score import responses, settling_batches, summarise
from penstock.sim.form import KERNEL_ORACLES
from penstock.sim.run import PreparedSim, SimRun, SimSpec, prepare, simulate


def simulate_run(spec: SimSpec, out: Path | None = None) -> dict[str, Any]:
    """Run a spec in virtual time; the summary has the fields of `penstock run`, and `settling_batches`.

    With `out`, leaves `journal.jsonl` and `summary.json` there, so that a report can be made of it.
    """
    began_s = time.monotonic()
    prepared = prepare(spec)
    if out is None:
        run = simulate(spec)
    else:
        make_empty(out)
        run = _journaled(prepared, out)
    summary = _summary(run, spec) | {"wall_s": time.monotonic() - began_s}
    if out is not None:
        write_json(out / "summary.json", summary, indent=2)
    return summary


def _summary(run: SimRun, spec: SimSpec) -> dict[str, Any]:
    samples = run.samples()
    return {
        "app": None,
        "class": None,
        "plant": spec.plant,
        **summarise(samples, run.slo),
        "settling_batches": settling_batches(run.values.tolist(), run.slo),
        # Nothing of a simulation's own work is in its virtual time.
        "control": {"mean_ms": None, "max_ms": None, "share_percent": None},
        "saso": [asdict(response) for response in responses(samples, run.slo)],
        "events": [],
        "digest_ok": None,
        "interrupted": False,
        "virtual_s": float(run.ended_s[-1]),
        "spec": asdict(spec) | {"settings": dict(spec.settings)},
    }


def _journaled(prepared: PreparedSim, out: Path) -> SimRun:
    """The run with a decision after each batch, as its journal has them; the kernel's oracles have none."""
    spec = prepared.spec
    header = {"slo": str(prepared.slo), "unit": spec.admit, "simulated": True, "live": spec.live}
    header |= {name: value for name, value in asdict(spec).items() if name not in ("slo", "size")}
    header["settings"] = dict(spec.settings)
    decisions: dict[int, Decision] = {}

    def watch(batch_id: int, sample: BatchSample, decision: Decision) -> None:
        decisions[batch_id] = decision

    run = simulate(spec, watch)
    clock = ManualClock()
    with Journal.open(out / "journal.jsonl", header, clock=clock) as journal:
        if spec.controller not in KERNEL_ORACLES:
            journal.decision(-1, begin(prepared.size), applied=True)
        before = prepared.size
        for sample, ended_s in zip(run.samples(), run.ended_s.tolist(), strict=True):
            clock.advance(max(ended_s - clock.monotonic_s(), 0.0))
            journal.sample(sample)
            if sample.batch_id in decisions:
                decision = decisions[sample.batch_id].coded(before)
                journal.decision(sample.batch_id, decision, applied=True)
                before = decision.size
    return run
