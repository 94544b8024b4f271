from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.apps import registry
from penstock.apps.military.app import MilitaryServer
from penstock.apps.military.items import COORDINATES, items
from penstock.apps.military.sizes import HIGH_COST, LOW_COST, WORK_PER_BATCH
from penstock.apps.military.terrain import SIDE
from penstock.errors import BadInputError


@given(seed=st.integers(0, 2**63), ids=st.lists(st.integers(0, 2**48), min_size=1, max_size=8))
def test_item_is_a_pure_function_of_seed_and_id(seed: int, ids: list[int]) -> None:
    together = items(np.array(ids), np.full(len(ids), 256.0), seed)
    for row, item in enumerate(ids):
        alone = items(np.array([item]), np.array([256.0]), seed)
        assert all((np.asarray(alone[name])[0] == np.asarray(together[name])[row]).all() for name in alone)


def test_seeds_and_ids_give_different_items() -> None:
    first = items(np.arange(500), np.full(500, 256.0), seed=1)
    other = items(np.arange(500), np.full(500, 256.0), seed=2)
    for made in (first, other):
        rows = {bytes(row) for row in np.asarray(made["coordinates"])}
        assert len(rows) == 500
    assert not (np.asarray(first["coordinates"]) == np.asarray(other["coordinates"])).all(axis=1).any()


def test_coordinates_and_types_cover_the_map_and_all_types_evenly() -> None:
    made = items(np.arange(4000), np.full(4000, 256.0), seed=1)
    coordinates = np.asarray(made["coordinates"]).view("<i4")
    assert coordinates.shape == (4000, COORDINATES)
    quarters = np.bincount(coordinates.ravel() // (SIDE * SIDE // 4), minlength=4)
    assert len(quarters) == 4
    assert quarters.min() > 0.95 * quarters.mean()
    types = np.bincount(np.asarray(made["units"]).ravel())
    assert len(types) == 8
    assert types.min() > 0.9 * types.mean()


@pytest.mark.parametrize(("name", "batches"), [("test", 20), ("small", 120), ("medium", 500)])
def test_classes_hold_the_work_of_their_batches(name: str, batches: int) -> None:
    workload = MilitaryServer().workload(name)
    assert workload.items is not None
    costs = np.array([workload.load(at, at + 1) for at in range(0, workload.items, workload.items // 2000)])
    assert costs.mean() * workload.items == pytest.approx(batches * WORK_PER_BATCH, rel=0.02)
    assert costs.min() >= LOW_COST
    assert costs.max() <= HIGH_COST
    assert costs.max() / costs.min() > 25


def test_large_class_is_a_million_items_in_five_parts_over_the_index() -> None:
    workload = MilitaryServer().workload("large")
    assert workload.items == 1_000_000
    parts = [workload.part(at) for at in (0, 199_999, 200_000, 300_000, 500_000, 700_000, 999_999)]
    assert parts == ["increasing", "increasing", "spike", "decreasing", "binary", "wave", "wave"]


def test_cost_may_be_a_pattern_over_the_index() -> None:
    workload = MilitaryServer().workload("test", cost="constant:value=400")
    assert np.asarray(workload.columns(7, 9)["width"]).tolist() == [20, 20]
    assert workload.items == MilitaryServer().workload("test").items


@pytest.mark.parametrize("cost", ["constant:value=0", "constant:value=1M"])
def test_a_cost_that_is_no_square_on_the_map_is_refused(cost: str) -> None:
    with pytest.raises(BadInputError, match=r"^cost = .*stay within 1\.\.262144$"):
        MilitaryServer().workload("test", cost=cost).columns(0, 1)


def test_an_unknown_class_names_the_known_ones() -> None:
    with pytest.raises(BadInputError, match=r"class = 'huge': .* test, small, medium, large"):
        MilitaryServer().workload("huge")


def test_workload_survives_pickling() -> None:
    workload = MilitaryServer().workload("test", seed=4)
    again = pickle.loads(pickle.dumps(workload))
    for name, column in workload.columns(1000, 1010).items():
        assert (np.asarray(again.columns(1000, 1010)[name]) == np.asarray(column)).all()


@settings(max_examples=5)
@given(size_class=st.sampled_from(sorted(MilitaryServer.classes)))
def test_first_batch_is_small_beside_the_class(size_class: str) -> None:
    items_in_all = MilitaryServer().workload(size_class).items
    assert items_in_all is not None
    assert 0 < MilitaryServer().first_size(size_class) < items_in_all / 100


def test_registry_creates_by_name_and_names_what_it_knows() -> None:
    assert isinstance(registry.create("military"), MilitaryServer)
    assert registry.describe()["military"] == MilitaryServer.description
    with pytest.raises(BadInputError, match=r"app = 'navy': .*military"):
        registry.create("navy")


def test_listing_applications_imports_neither_spark_nor_numba() -> None:
    code = (
        "import sys; from penstock.apps import registry; registry.describe(); "
        "assert not {'pyspark', 'numba', 'pyarrow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_kernels_without_numba_name_the_extra() -> None:
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "from penstock.errors import MissingExtraError\n"
        "try: import penstock.apps.military.kernels\n"
        "except MissingExtraError as error: print(error)"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == "numba is not installed; run: pip install 'penstock-spark[spark]'"
