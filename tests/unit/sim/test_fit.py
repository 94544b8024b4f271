"""A plant fitted to journals: what was put in comes out, and what cannot be fitted is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from penstock.errors import BadInputError
from penstock.journal import Journal
from penstock.sample import BatchSample, Status
from penstock.sim.fit import fit_plant, write_plant
from penstock.sim.plant import Plant, load_plant

TRUE = Plant("spark", a_batch_s=0.3, an_item_s=1e-5, volume_s=8e-8, noise=0.08, memory=0.4, stall_share=0.02, stall=1.5)


def journal_of(plant: Plant, path: Path, batches: int = 400, seed: int = 1, load: bool = True) -> Path:
    random = np.random.default_rng(seed)
    noise, _ = plant.noise_of(seed)
    with Journal.open(path / "journal.jsonl", {"app": "made", "controller": "none"}) as journal:
        for number in range(batches):
            items = int(random.integers(500, 20_000))
            cost = float(np.exp(random.uniform(np.log(256), np.log(7744)))) if load else 1.0
            took_s = plant.ideal_s(items, cost) * noise[number]
            journal.sample(BatchSample(number, items, items, float(took_s), load=cost if load else None))
        # Neither a warm-up nor an empty batch may count.
        journal.sample(BatchSample(batches, 100, 100, 90.0, load=256.0, status=Status.WARM_UP))
        journal.sample(BatchSample(batches + 1, 0, 0, 0.2, status=Status.EMPTY))
    return path


def test_what_was_put_in_comes_out(tmp_path: Path):
    folders = []
    for seed in range(3):
        folder = tmp_path / str(seed)
        folder.mkdir()
        folders.append(journal_of(TRUE, folder, seed=seed))
    fitted = fit_plant(folders)
    found = Plant(**fitted["plant"] | {"shares": (1.0,)})
    assert found.a_batch_s == pytest.approx(TRUE.a_batch_s, rel=0.1)
    assert found.an_item_s == pytest.approx(TRUE.an_item_s, rel=0.15)
    assert found.volume_s == pytest.approx(TRUE.volume_s, rel=0.03)
    assert found.noise == pytest.approx(TRUE.noise, rel=0.15)
    assert found.memory == pytest.approx(TRUE.memory, abs=0.12)
    assert found.stall_share == pytest.approx(TRUE.stall_share, rel=0.5)
    assert found.stall == pytest.approx(TRUE.stall, rel=0.5)
    assert fitted["batches"] == 1200
    assert [run["app"] for run in fitted["runs"]] == ["made"] * 3


def test_a_fitted_file_is_a_plant_again(tmp_path: Path):
    fitted = fit_plant([journal_of(TRUE, tmp_path)])
    write_plant(fitted, tmp_path / "mine.json")
    assert load_plant(str(tmp_path / "mine.json")).a_batch_s == fitted["plant"]["a_batch_s"]


def test_without_loads_items_cost_one_each(tmp_path: Path):
    plain = replace(TRUE, an_item_s=0.0, volume_s=1e-4, stall_share=0.0)
    found = fit_plant([journal_of(plain, tmp_path, load=False)])["plant"]
    assert found["volume_s"] == pytest.approx(1e-4, rel=0.05)
    assert (found["low_cost"], found["high_cost"]) == (1.0, 1.0)


def test_too_few_batches_and_batches_all_alike_are_refused(tmp_path: Path):
    few, alike = tmp_path / "few", tmp_path / "alike"
    few.mkdir()
    alike.mkdir()
    with pytest.raises(BadInputError, match="usable batches"):
        fit_plant([journal_of(TRUE, few, batches=5)])
    with Journal.open(alike / "journal.jsonl", {}) as journal:
        for number in range(100):
            journal.sample(BatchSample(number, 1000, 1000, 0.5, load=100.0))
    with pytest.raises(BadInputError, match="about the same work"):
        fit_plant([alike])
    with pytest.raises(BadInputError, match="no journal"):
        fit_plant([tmp_path / "none"])
