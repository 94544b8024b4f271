from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.apps.military.items import items
from penstock.apps.military.terrain import SIDE, terrain
from penstock.apps.military.units import LIMITS, NAMES, WANTED, WEIGHTS
from penstock.errors import BadInputError

arrow = pytest.importorskip("penstock.stages.arrow")
stages = pytest.importorskip("penstock.apps.military.stages")


def squares(x: int, y: int, w: int) -> list[tuple[int, int]]:
    """Top and left of the square seen to the north, east, south and west."""
    half = w // 2
    return [(y - w, x - half), (y - half, x + 1), (y + 1, x - half), (y - half, x - w)]


def slow_features(heights: Any, packed: int, w: int) -> tuple[list[int], int]:
    """The features of one coordinate, and how many cells were looked at, with NumPy on whole squares."""
    y, x = divmod(packed, SIDE)
    seen = [
        heights[np.ix_(np.arange(top, top + w) % SIDE, np.arange(left, left + w) % SIDE)].astype(object)
        for top, left in squares(x, y, w)
    ]
    count = 4 * w * w
    means = [int(square.sum()) // (w * w) for square in seen]
    steps = sum(int(abs(np.diff(square, axis=1)).sum()) for square in seen)
    everything = np.stack(seen)
    total = int(everything.sum())
    features = [total // count, everything.max() - everything.min(), 16 * steps // count, max(means) - min(means)]
    return features, everything.size


def run(batch: Any, count: int = 3) -> Any:
    for stage in stages.STAGES[:count]:
        batch = stage.run(batch)
    return batch


def features_of(batch: Any) -> Any:
    return arrow.matrix(batch, "features", np.int32, 128).reshape(-1, 32, 4)


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32), first=st.integers(0, 2**40), widths=st.lists(st.integers(1, 40), max_size=3))
def test_explore_equals_whole_squares_in_numpy(seed: int, first: int, widths: list[int]) -> None:
    batch = arrow.record_batch(items(first + np.arange(len(widths)), np.array(widths, dtype=float) ** 2, seed))
    coordinates = arrow.matrix(batch, "coordinates", np.int32, 32)
    features = features_of(run(batch, 1))
    for row, width in enumerate(widths):
        for point in range(0, 32, 5):
            expected, _ = slow_features(terrain(), int(coordinates[row, point]), width)
            assert features[row, point].tolist() == expected


@pytest.mark.parametrize("corner", [0, SIDE - 1, SIDE * (SIDE - 1), SIDE * SIDE - 1])
def test_squares_wrap_around_the_edges_of_the_map(corner: int) -> None:
    made = dict(items(np.arange(1), np.array([81.0]), seed=1))
    made["coordinates"] = np.full((1, 32), corner, dtype=np.int32)
    features = features_of(run(arrow.record_batch(made), 1))
    assert features[0, 0].tolist() == slow_features(terrain(), corner, 9)[0]


def test_choices_have_the_lowest_score_and_ties_go_to_the_lowest_index() -> None:
    batch = run(arrow.record_batch(items(np.arange(40), np.full(40, 100.0), seed=3)), 2)
    features, units = features_of(batch).astype(int), arrow.matrix(batch, "units", np.uint8, 16)
    scores = (WEIGHTS[units][:, :, None] * abs(features[:, None] - WANTED[units][:, :, None])).sum(axis=3)
    assert (arrow.matrix(batch, "choices", np.uint8, 16) == scores.argmin(axis=2)).all()

    made = dict(items(np.arange(1), np.array([100.0]), seed=3))
    made["coordinates"] = np.full((1, 32), 5, dtype=np.int32)
    assert not arrow.matrix(run(arrow.record_batch(made), 2), "choices", np.uint8, 16).any()


def test_places_and_validity_follow_the_choices() -> None:
    explored = run(arrow.record_batch(items(np.arange(200), np.full(200, 7744.0), seed=3)), 2)
    result = stages.VALIDATE.run(explored)
    choices = arrow.matrix(explored, "choices", np.uint8, 16).astype(int)
    coordinates = arrow.matrix(explored, "coordinates", np.int32, 32)
    places = np.take_along_axis(coordinates, choices, axis=1)
    assert (arrow.matrix(result, "places", np.int32, 16) == places).all()

    ground = np.take_along_axis(features_of(explored), choices[:, :, None], axis=1)[:, :, 1:3]
    bearable = (ground <= LIMITS[arrow.matrix(explored, "units", np.uint8, 16)]).all(axis=(1, 2))
    spread = np.array([len(set(row)) > 1 for row in choices])
    valid = np.array(result.column("valid").to_pylist())
    assert (valid == (bearable & spread)).all()
    assert 0 < valid.sum() < len(valid)


def test_units_on_one_spot_are_not_valid() -> None:
    made = dict(items(np.arange(1), np.array([4.0]), seed=3))
    made["coordinates"] = np.full((1, 32), 5, dtype=np.int32)
    assert run(arrow.record_batch(made)).column("valid").to_pylist() == [False]


@pytest.mark.parametrize("unit", range(16))
def test_hash_depends_on_every_choice(unit: int) -> None:
    batch = run(arrow.record_batch(items(np.arange(1), np.array([256.0]), seed=3)), 2)
    choices = arrow.matrix(batch, "choices", np.uint8, 16).copy()
    choices[0, unit] = (choices[0, unit] + 1) % 32
    at = batch.schema.get_field_index("choices")
    other = batch.set_column(at, "choices", arrow.packed(choices))
    assert stages.VALIDATE.run(other).column("hash") != stages.VALIDATE.run(batch).column("hash")


def test_every_stage_gives_the_columns_it_declares() -> None:
    batch = arrow.record_batch(items(np.arange(3), np.full(3, 9.0), seed=3))
    for stage in stages.STAGES:
        batch = stage.run(batch)
        assert batch.schema.names == [column.split()[0] for column in stage.output_ddl.split(", ")]


def test_a_batch_without_rows_passes() -> None:
    assert run(arrow.record_batch(items(np.arange(0), np.zeros(0), seed=3))).num_rows == 0


def test_a_slice_of_a_batch_gives_a_slice_of_the_result() -> None:
    batch = arrow.record_batch(items(np.arange(9), np.full(9, 64.0), seed=3))
    assert run(batch.slice(4, 3)).equals(run(batch).slice(4, 3))


def test_rows_of_another_length_are_refused() -> None:
    made = dict(items(np.arange(2), np.full(2, 4.0), seed=3))
    made["coordinates"] = np.zeros((2, 8), dtype=np.int32)
    with pytest.raises(BadInputError, match=r"column coordinates .* not 128 bytes a row"):
        run(arrow.record_batch(made))


def test_terrain_is_seeded_smooth_and_seamless() -> None:
    heights = terrain(5, 256)
    assert (heights == terrain.__wrapped__(5, 256)).all()
    assert (heights != terrain(6, 256)).any()
    for axis in (0, 1):
        steps = abs(heights - np.roll(heights, 1, axis=axis))
        assert steps.max() < 100
        assert steps.take(0, axis=axis).mean() < 2 * steps.mean()
    with pytest.raises(BadInputError, match="power of two"):
        terrain(1, 1000)


def test_heaviest_item_looks_at_about_thirty_times_the_cells_of_the_lightest() -> None:
    from penstock.apps.military.items import cells
    from penstock.apps.military.sizes import NARROW, WIDE

    light, heavy = (32 * slow_features(terrain(), 0, width)[1] for width in (NARROW, WIDE))
    assert cells(np.array([NARROW, WIDE])).tolist() == [light, heavy]
    assert 27 <= heavy / light <= 33


def test_tables_have_a_row_for_every_type() -> None:
    assert len(WANTED) == len(WEIGHTS) == len(LIMITS) == len(NAMES)
