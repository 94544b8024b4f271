"""A plant from the journals of real runs: fixed cost, cost of items, noise, stalls."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from penstock.distribution import penstock_version
from penstock.errors import BadInputError
from penstock.journal import Recording, read
from penstock.json_file import write_json
from penstock.patterns.base import FloatArray
from penstock.sim.plant import Plant, plant_fields

VERSION = 1
LEAST_BATCHES = 30
LEAST_SPREAD = 2.0
# What a normal deviation exceeds once in 740 times counts as a stall.
_STALL_AT = 3.0
_MAD_TO_SD = 1.4826
_LABELS = ("app", "class", "seed", "controller", "slo", "arrivals", "cost")


def fit_plant(paths: Sequence[Path], name: str = "spark") -> dict[str, Any]:
    """The content of a fitted file, from run folders or journals.

    With n items of mean load x, a batch takes a_batch_s + an_item_s n + volume_s n x, fitted to the logarithm of its
    time with a loss that outliers cannot pull (soft L1). What remains gives the noise: its standard deviation from the
    median, how much of it lasts to the next batch, and how often and how long batches stall beyond three of them.
    """
    recordings = [_recording(path) for path in paths]
    runs = [_columns(recording) for recording in recordings]
    items, loads, took_s = (np.concatenate(column) for column in zip(*runs, strict=True))
    _check(items * loads)
    times = _times(items, loads, took_s)
    residuals = [np.log(run[2]) - np.log(_predicted_s(times, run[0], run[1])) for run in runs]
    every = np.concatenate(residuals)
    noise = _MAD_TO_SD * float(np.median(np.abs(every - np.median(every))))
    stalled = every > _STALL_AT * noise
    plant = Plant(
        name,
        a_batch_s=times[0],
        an_item_s=times[1],
        volume_s=times[2],
        noise=noise,
        memory=_memory(residuals, noise),
        stall_share=float(stalled.mean()),
        stall=float(np.expm1(every[stalled]).mean()) if stalled.any() else 0.0,
        low_cost=float(loads.min()),
        high_cost=float(loads.max()),
    )
    return {
        "version": VERSION,
        "penstock": penstock_version(),
        "fitted": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "measured": sorted({_day(recording) for recording in recordings}),
        "runs": [{key: r.header.get(key) for key in _LABELS if key in r.header} for r in recordings],
        "batches": int(items.size),
        "explained": float(1 - np.var(every) / np.var(np.log(took_s))),
        "plant": plant_fields(plant),
    }


def write_plant(fitted: dict[str, Any], path: Path) -> None:
    """Write a fitted file."""
    try:
        write_json(path, fitted, indent=2)
    except OSError as error:
        raise BadInputError("out", str(path), f"cannot be written ({error.strerror})", "give another file") from error


def _recording(path: Path) -> Recording:
    return read(path / "journal.jsonl" if path.is_dir() else path)


def _columns(recording: Recording) -> tuple[FloatArray, FloatArray, FloatArray]:
    seen = [sample for sample in recording.samples if sample.usable and sample.items > 0]
    columns = zip(*((each.items, each.load or 1.0, each.processing_s) for each in seen), strict=True)
    found = [np.array(column, dtype=np.float64) for column in columns] or [np.empty(0)] * 3
    return found[0], found[1], found[2]


def _check(work: FloatArray) -> None:
    if work.size < LEAST_BATCHES:
        reason = f"only {work.size} usable batches in the journals"
        raise BadInputError("runs", work.size, reason, f"give runs with {LEAST_BATCHES} or more")
    if work.max() < LEAST_SPREAD * work.min():
        reason = "all batches have about the same work, so a fixed cost cannot be told from that of items"
        raise BadInputError("runs", work.size, reason, "give a run whose batch sizes or loads vary")


def _times(items: FloatArray, loads: FloatArray, took_s: FloatArray) -> list[float]:
    from scipy.optimize import least_squares

    scale = np.array([np.quantile(took_s, 0.1), took_s.mean() / items.mean(), took_s.mean() / (items * loads).mean()])
    varied = loads.max() > LEAST_SPREAD * loads.min()
    # Where loads are all alike, items and their volume are one and the same, and the volume takes it all.
    start = np.array([0.5, 0.1 if varied else 1e-9, 0.5])

    def residual(share: FloatArray) -> FloatArray:
        return np.log(_predicted_s((share * scale).tolist(), items, loads)) - np.log(took_s)

    upper = [np.inf, np.inf if varied else 2e-9, np.inf]
    found = least_squares(residual, start, bounds=([1e-9, 0.0, 1e-9], upper), loss="soft_l1", f_scale=0.1)
    return [float(each) for each in found.x * scale]


def _predicted_s(times: Sequence[float], items: FloatArray, loads: FloatArray) -> FloatArray:
    return times[0] + times[1] * items + times[2] * items * loads


def _memory(residuals: Sequence[FloatArray], noise: float) -> float:
    """The correlation of a batch's deviation with that of the one before, stalls held down to where they begin."""
    held = [np.clip(each, -_STALL_AT * noise, _STALL_AT * noise) for each in residuals]
    before = np.concatenate([each[:-1] for each in held])
    after = np.concatenate([each[1:] for each in held])
    if before.size < 2 or not (before.std() > 0 and after.std() > 0):
        return 0.0
    return float(np.clip(np.corrcoef(before, after)[0, 1], 0.0, 0.99))


def _day(recording: Recording) -> str:
    opened_s = float(recording.header.get("opened_s", 0.0))
    return datetime.datetime.fromtimestamp(opened_s, datetime.UTC).date().isoformat()
