"""The earth mover's distance between images, exact.

It is the least work that moves the weights of one image's regions onto the other's, where moving one unit costs how far
the features of the two regions are apart, added up (Rubner, Tomasi, Guibas 2000).

Weights and costs are whole numbers, weights of an image sum to 256, and no two regions are 2,000 apart: all that the
simplex method of OpenCV adds and compares in fractions of 24 bits is exact, and so is the result. Its tolerance, 1e-5
of the largest cost, is far below one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.apps.ferret.regions import FEATURES, WEIGHTS
from penstock.apps.suite.opencv import opencv


def distances(query: NDArray[np.int16], images: NDArray[np.int16]) -> NDArray[np.int64]:
    """How far each image is from the query, as 256 times the mean cost; regions are features and a weight.

    >>> one = np.zeros((24, FEATURES + 1), np.int16)
    >>> one[0, FEATURES] = WEIGHTS
    >>> other = one.copy()
    >>> other[0, :3] = 1, 2, 3
    >>> (distances(one, np.stack([one, other])) / WEIGHTS).tolist()
    [0.0, 6.0]
    """
    emd, user = opencv().EMD, opencv().DIST_USER
    query = query[query[:, FEATURES] > 0]
    weights = query[:, FEATURES:].astype(np.float32)
    present = (images[..., FEATURES] > 0).sum(axis=1)
    others = images[..., FEATURES:].astype(np.float32)
    costs = _costs(query, images)
    found = np.empty(len(images), np.int64)
    for place, count in enumerate(present.tolist()):
        cost = np.ascontiguousarray(costs[place, :, :count])
        found[place] = round(emd(weights, others[place, :count], user, cost)[0] * WEIGHTS)
    return found


def _costs(query: NDArray[np.int16], images: NDArray[np.int16]) -> NDArray[np.float32]:
    """The sums of the differences of features, (images, regions of the query, regions of the image)."""
    total = np.zeros((len(images), len(query), images.shape[1]), np.int16)
    for feature in range(FEATURES):
        apart = query[None, :, None, feature] - images[:, None, :, feature]
        total += np.abs(apart, out=apart)
    return total.astype(np.float32)
