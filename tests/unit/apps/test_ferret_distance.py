from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from penstock.patterns.hashing import hashed

pytest.importorskip("pyarrow")
pytest.importorskip("cv2.ximgproc")

from penstock.apps.ferret import lsh
from penstock.apps.ferret.emd import distances
from penstock.apps.ferret.regions import COLUMNS, FEATURES, REGIONS, WEIGHTS, described
from penstock.apps.ferret.scenes import HEIGHT, WIDTH


def least_work(one: Any, other: Any) -> float:
    """The same distance by another method: a linear program."""
    one, other = (each[each[:, FEATURES] > 0].astype(int) for each in (one, other))
    cost = np.abs(one[:, None, :FEATURES] - other[None, :, :FEATURES]).sum(axis=2)
    leaving = sparse.kron(sparse.eye(len(one)), np.ones((1, len(other))))
    coming = sparse.kron(np.ones((1, len(one))), sparse.eye(len(other)))
    weights = np.concatenate([one[:, FEATURES], other[:, FEATURES]])
    found = linprog(cost.ravel(), A_eq=sparse.vstack([leaving, coming]).tocsr(), b_eq=weights, method="highs-ds")
    return float(found.fun)


def made_up(count: int, levels: int, seed: int) -> Any:
    """Regions with features of so many levels; few levels make many ties."""
    found = np.zeros((REGIONS, COLUMNS), np.int16)
    found[:count, :FEATURES] = (hashed(np.arange(count * FEATURES), seed) % np.uint64(levels)).reshape(count, FEATURES)
    cuts = np.sort(hashed(np.arange(count - 1), seed, 1) % np.uint64(WEIGHTS - count + 1)).astype(np.int64)
    found[:count, FEATURES] = 1 + np.diff([0, *cuts, WEIGHTS - count])
    return found


@settings(max_examples=60, deadline=None)
@given(
    counts=st.tuples(st.integers(1, REGIONS), st.integers(1, REGIONS)),
    levels=st.sampled_from([1, 2, 128]),
    seed=st.integers(0, 2**32),
)
def test_distance_is_the_least_work_to_the_unit(counts: tuple[int, int], levels: int, seed: int) -> None:
    one, other = made_up(counts[0], levels, seed), made_up(counts[1], levels, seed + 1)
    (found,) = distances(one, other[None])
    assert found == pytest.approx(least_work(one, other), abs=1e-3)


@settings(max_examples=20, deadline=None)
@given(count=st.integers(1, REGIONS), seed=st.integers(0, 2**32))
def test_distance_is_zero_to_itself_and_the_same_both_ways(count: int, seed: int) -> None:
    one, other = made_up(count, 128, seed), made_up(REGIONS, 128, seed + 1)
    there, itself = distances(one, np.stack([other, one])).tolist()
    assert itself == 0
    assert distances(other, one[None]).tolist() == [there]


@settings(max_examples=20, deadline=None)
@given(parts=st.integers(1, 40), seed=st.integers(0, 2**32))
def test_features_equal_those_of_each_region_alone(parts: int, seed: int) -> None:
    pixels = (hashed(np.arange(HEIGHT * WIDTH * 3), seed) % np.uint64(256)).astype(np.uint8).reshape(HEIGHT, WIDTH, 3)
    labels = (hashed(np.arange(HEIGHT * WIDTH), seed, 1) % np.uint64(parts)).astype(np.uint16).reshape(HEIGHT, WIDTH)
    found = described(pixels, labels)
    order = sorted(range(parts), key=lambda part: (-int((labels == part).sum()), part))[:REGIONS]
    assert (found[:, FEATURES] > 0).sum() == len(order)
    for row, part in zip(found.tolist(), order, strict=False):
        ys, xs = np.nonzero(labels == part)
        values = pixels[labels == part].astype(object)
        mean = values.sum(axis=0) // len(values)
        third = [int(each) for each in ((values - mean) ** 3).sum(axis=0) // len(values)]
        assert row[:3] == mean.tolist()
        assert [abs(abs(2 * skew) - abs(each) ** (1 / 3)) < 3 for skew, each in zip(row[6:9], third, strict=True)] == [
            True
        ] * 3
        box = (xs.max() - xs.min() + 1) * (ys.max() - ys.min() + 1)
        assert row[11:14] == [128 * len(xs) // box, xs.sum() // len(xs) // 2, ys.sum() // len(ys) // 2]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_probes_are_the_own_bucket_and_distinct_neighbours(seed: int) -> None:
    features = made_up(REGIONS, 255, seed)[:, :FEATURES]
    probes = lsh.probes_of(features)
    assert probes.shape == (REGIONS, lsh.TABLES, lsh.PROBES)
    assert (probes[..., 0] == lsh.keys_of(features)).all()
    assert (np.diff(np.sort(probes, axis=2), axis=2) > 0).all()
