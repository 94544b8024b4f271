"""The queries and the collection, and which images of the collection are of a query's family: the truth.

Families of an even number are simple, the others busy. Queries come in stretches of simple and of busy scenes, so that
the load swings. A query is an arrangement of its family that the collection does not have.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.apps.ferret.scenes import BUSY, SIMPLE, scene
from penstock.apps.suite.inputs import Input
from penstock.patterns.hashing import hashed

QUERIES, STRETCH = 240, 24
FAMILIES, MEMBERS = 200, 3
IMAGES = FAMILIES * MEMBERS

_FAMILY_STREAM = 1 << 40


def family_of_query(index: int, seed: int) -> int:
    """The family of a distinct query.

    >>> [family_of_query(index, seed=1) % 2 for index in (0, 23, 24, 47, 48)]
    [0, 0, 1, 1, 0]
    """
    drawn = int(hashed(index, seed, _FAMILY_STREAM)[0]) % (FAMILIES // 2)
    return 2 * drawn + index // STRETCH % 2


def family_of_image(image: NDArray[np.int64]) -> NDArray[np.int64]:
    """The families of images of the collection."""
    return image % FAMILIES


def query(index: int, seed: int) -> NDArray[np.uint8]:
    """A distinct query, as pixels."""
    return _arranged(family_of_query(index, seed), MEMBERS + index, seed)


def image(index: int, seed: int) -> NDArray[np.uint8]:
    """An image of the collection, as pixels."""
    return _arranged(index % FAMILIES, index // FAMILIES, seed)


def _arranged(family: int, arrangement: int, seed: int) -> NDArray[np.uint8]:
    return scene(family, arrangement, seed, BUSY if family % 2 else SIMPLE)


INPUT = Input("ferret", query, QUERIES)
