"""The stages of Ferret, each a pure function on Arrow record batches: read, segment, extract, index, rank."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.apps.ferret import collection
from penstock.apps.ferret.emd import distances
from penstock.apps.ferret.input import INPUT, MEMBERS, QUERIES, family_of_image, family_of_query
from penstock.apps.ferret.regions import COLUMNS, REGIONS, described, segmented
from penstock.apps.ferret.scenes import HEIGHT, WIDTH
from penstock.apps.suite.results import RESULT_DDL, results
from penstock.stages.arrow import matrix, packed, vector
from penstock.stages.stage import Stage

BEST = 10
"""Images that a query gets."""
RANKED_DDL = f"{RESULT_DDL}, best_right int"
"""Of each query also whether the best image is of its family: 1 or 0."""


def stages_for(candidates: int) -> tuple[Stage, ...]:
    """The stages where `rank` compares a query with so many images at most."""
    numbers = "id bigint, seed bigint"
    return (
        Stage("read", f"{numbers}, pixels binary", read),
        Stage("segment", f"{numbers}, pixels binary, labels binary", segment),
        Stage("extract", f"{numbers}, regions binary", extract),
        Stage("index", f"{numbers}, regions binary, candidates binary", partial(look_up, most=candidates)),
        Stage("rank", RANKED_DDL, rank),
    )


def read(batch: Any) -> Any:
    """Adds the pixels of each query."""
    pixels = [INPUT.items(seed)[item % QUERIES].ravel() for item, seed in _numbers(batch)]
    return batch.append_column("pixels", packed(_stacked(pixels, HEIGHT * WIDTH * 3, np.uint8)))


def segment(batch: Any) -> Any:
    """Adds the segment that each pixel is in."""
    labels = [segmented(pixels).ravel() for pixels in _images(batch)]
    return batch.append_column("labels", packed(_stacked(labels, HEIGHT * WIDTH, np.uint16)))


def extract(batch: Any) -> Any:
    """Features and weight of the largest regions, in place of the pixels."""
    labels = matrix(batch, "labels", np.uint16, HEIGHT * WIDTH).reshape(-1, HEIGHT, WIDTH)
    regions = [described(*each).ravel() for each in zip(_images(batch), labels, strict=True)]
    column = packed(_stacked(regions, REGIONS * COLUMNS, np.int16))
    return batch.drop_columns(["pixels", "labels"]).append_column("regions", column)


def look_up(batch: Any, most: int) -> Any:
    """Adds the images of the collection that have regions alike; -1 where there are fewer."""
    rows = np.full((batch.num_rows, most), -1, np.int16)
    for row, (_, seed), regions in zip(rows, _numbers(batch), _regions(batch), strict=True):
        found = collection.index(seed).candidates(regions, most)
        row[: len(found)] = found
    return batch.append_column("candidates", packed(rows))


def rank(batch: Any) -> Any:
    """The images nearest by the earth mover's distance, of equals the first; right are those of the query's family."""
    values, found, matched, best_right = [], [], [], []
    for (item, seed), regions, row in zip(_numbers(batch), _regions(batch), batch.column("candidates"), strict=True):
        padded = np.frombuffer(row.as_buffer(), np.int16)
        candidates = np.sort(padded[padded >= 0]).astype(np.int64)
        apart = distances(regions, collection.index(seed).regions[candidates])
        nearest = np.argsort(apart, kind="stable")[:BEST]
        right = family_of_image(candidates[nearest]) == family_of_query(item % QUERIES, seed)
        values.append(np.stack([candidates[nearest], apart[nearest]], axis=1))
        found.append(len(nearest))
        matched.append(int(right.sum()))
        best_right.append(int(right[:1].sum()))
    more = np.array(best_right, np.int32)
    return results(vector(batch, "id"), values, found, [MEMBERS] * len(found), matched, best_right=more)


def _numbers(batch: Any) -> list[tuple[int, int]]:
    """Number and seed of each item."""
    return list(zip(vector(batch, "id").tolist(), vector(batch, "seed").tolist(), strict=True))


def _images(batch: Any) -> NDArray[np.uint8]:
    return matrix(batch, "pixels", np.uint8, HEIGHT * WIDTH * 3).reshape(-1, HEIGHT, WIDTH, 3)


def _regions(batch: Any) -> NDArray[np.int16]:
    return matrix(batch, "regions", np.int16, REGIONS * COLUMNS).reshape(-1, REGIONS, COLUMNS)


def _stacked(rows: list[NDArray[Any]], width: int, dtype: type) -> NDArray[Any]:
    """Rows as one array, also where there are none."""
    return np.stack(rows) if rows else np.empty((0, width), dtype)
