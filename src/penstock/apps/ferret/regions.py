"""Regions of an image: graph segmentation, and 14 whole-number features and a weight for each.

Segmentation is that of Felzenszwalb and Huttenlocher (2004), from OpenCV. Features and weights are those that the
paper of Ferret describes (Lv, Josephson, Wang, Charikar, Li 2006): three moments of each colour channel, the
shape of the bounding box, its size, the part of it that is filled, the centre; a weight by the square root of the area.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.apps.ferret.scenes import HEIGHT, WIDTH
from penstock.apps.suite.opencv import opencv

REGIONS, FEATURES = 24, 14
COLUMNS = FEATURES + 1
"""Features, then the weight; a region that is not there has weight 0."""
WEIGHTS = 256
"""What the weights of an image sum to: a power of two, so that dividing by it is exact."""

_SIGMA, _SCALE, _LEAST_PIXELS = 0.6, 500.0, 50
Whole = NDArray[np.int64]
_XS: Whole = np.tile(np.arange(WIDTH), HEIGHT)
_YS: Whole = np.repeat(np.arange(HEIGHT), WIDTH)


def segmented(pixels: NDArray[np.uint8]) -> NDArray[np.uint16]:
    """The number of the segment that each pixel is in."""
    method = opencv().ximgproc.segmentation.createGraphSegmentation(_SIGMA, _SCALE, _LEAST_PIXELS)
    labels: NDArray[np.int32] = method.processImage(np.ascontiguousarray(pixels))
    return labels.astype(np.uint16)


def described(pixels: NDArray[np.uint8], labels: NDArray[np.uint16]) -> NDArray[np.int16]:
    """The largest regions, largest first: features and weight of each, rows of zeros where there are fewer.

    >>> pixels, labels = np.zeros((HEIGHT, WIDTH, 3), np.uint8), np.zeros((HEIGHT, WIDTH), np.uint16)
    >>> pixels[:48], labels[:48] = 200, 1
    >>> found = described(pixels, labels)
    >>> found[:2, 0].tolist(), found[:2, -1].tolist(), int(found[2:].sum())
    ([0, 200], [128, 128], 0)
    """
    areas = np.bincount(labels.ravel())
    largest = np.argsort(-areas, kind="stable")[:REGIONS]
    largest = largest[areas[largest] > 0]
    area, count = areas[largest], len(largest)
    place = np.full(len(areas), REGIONS, np.uint8)
    place[largest] = np.arange(count)
    # Pixels of the first region, then of the second, and so on; those of smaller regions are left out.
    order = np.argsort(place[labels.ravel()], kind="stable")[: area.sum()]
    starts = np.cumsum(area) - area

    regions = np.zeros((REGIONS, COLUMNS), np.int16)
    regions[:count, :9] = _colours(pixels.reshape(-1, 3)[order].astype(np.int64), starts, area)
    regions[:count, 9:FEATURES] = _shapes(_XS[order], _YS[order], starts, area)
    regions[:count, FEATURES] = _weights(area)
    return regions


def _colours(values: Whole, starts: Whole, area: Whole) -> Whole:
    """Mean, spread and skew of each channel, in levels: the roots of the second and of the third central moment."""
    count = area[:, None]
    mean = np.add.reduceat(values, starts) // count
    apart = values - np.repeat(mean, area, axis=0)
    spread = np.sqrt(np.add.reduceat(apart**2, starts) // count).astype(np.int64)
    third = np.add.reduceat(apart**3, starts) // count
    root = np.rint(np.cbrt(np.abs(third))).astype(np.int64)
    root -= root**3 > np.abs(third)  # cube roots differ by machine in the last bit
    return np.concatenate([mean, spread // 2, np.sign(third) * root // 2], axis=1)


def _shapes(xs: Whole, ys: Whole, starts: Whole, area: Whole) -> Whole:
    """Width over width and height of the box, its size, how full it is, and the centre: all from 0 to about 128."""
    across = np.maximum.reduceat(xs, starts) - np.minimum.reduceat(xs, starts) + 1
    up = np.maximum.reduceat(ys, starts) - np.minimum.reduceat(ys, starts) + 1
    box = across * up
    size = 128 * np.sqrt(box).astype(np.int64) // 110  # the box of the whole image has a root of 110
    centres = [np.add.reduceat(each, starts) // area // 2 for each in (xs, ys)]
    return np.stack([128 * across // (across + up), size, 128 * area // box, *centres], axis=1)


def _weights(area: Whole) -> Whole:
    """Weights by the square root of the area, of 1 at least; what rounding leaves goes to the largest."""
    roots = np.sqrt(area).astype(np.int64)
    weights: Whole = 1 + (WEIGHTS - len(area)) * roots // roots.sum()
    weights[: WEIGHTS - weights.sum()] += 1
    return weights
