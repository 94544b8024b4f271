"""Multi-probe locality-sensitive hashing over regions, in whole numbers.

In a table, slot k of a region x is floor((a_k . x + b_k) / width) (Datar, Immorlica, Indyk, Mirrokni 2004), and its
key the sum of m_k times slot k modulo 2**64. A query also looks into the buckets next to its own, those first to whose
edge it is nearest (Lv, Josephson, Wang, Charikar, Li 2007): a step of one slot up or down changes the key by m_k.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from penstock.apps.ferret.regions import FEATURES
from penstock.patterns.hashing import hashed

TABLES, SLOTS, PROBES = 8, 4, 12
_WIDTH = 900
_SEED = 20060418  # of the tables, which are the same for every collection


def _drawn(count: int, stream: int) -> NDArray[np.uint64]:
    return hashed(np.arange(count), _SEED, stream)


# Sums of four whole numbers from -8 to 8: near enough to a bell.
_DIRECTIONS = (_drawn(4 * FEATURES * TABLES * SLOTS, 0) % np.uint64(17)).astype(np.int64).reshape(4, FEATURES, -1)
_DIRECTIONS = (_DIRECTIONS - 8).sum(axis=0)
_OFFSETS = (_drawn(TABLES * SLOTS, 1) % np.uint64(_WIDTH)).astype(np.int64)
_FACTORS = (_drawn(TABLES * SLOTS, 2) | np.uint64(1)).reshape(TABLES, SLOTS)


def _steps() -> NDArray[np.int64]:
    """What is changed at a probe: no slot, one, or two, each up or down; (probes, slots)."""
    steps = [np.zeros(SLOTS, np.int64)]
    for many in (1, 2):
        for slots, signs in product(combinations(range(SLOTS), many), product((-1, 1), repeat=many)):
            step = np.zeros(SLOTS, np.int64)
            step[list(slots)] = signs
            steps.append(step)
    return np.stack(steps)


_STEPS = _steps()
_JUMPS = (_STEPS.view(np.uint64)[None] * _FACTORS[:, None]).sum(axis=2)  # of the key, (tables, probes)


def keys_of(features: NDArray[np.int16]) -> NDArray[np.uint64]:
    """The keys of regions, (regions, tables)."""
    return _keys(_projected(features) // _WIDTH)


def probes_of(features: NDArray[np.int16]) -> NDArray[np.uint64]:
    """The keys to look for, (regions, tables, probes): the region's own, then the likeliest.

    >>> regions = np.arange(2 * FEATURES, dtype=np.int16).reshape(2, FEATURES)
    >>> bool((probes_of(regions)[..., 0] == keys_of(regions)).all())
    True
    """
    projected = _projected(features)
    above = projected % _WIDTH
    # The square of how far the edge below and the edge above are: a probe's score is the sum of its steps'.
    below_2, above_2 = above**2, (_WIDTH - above) ** 2
    scores = below_2 @ (_STEPS == -1).T + above_2 @ (_STEPS == 1).T
    likeliest = np.argsort(scores, axis=2, kind="stable")[..., :PROBES]
    jumps = np.take_along_axis(_JUMPS[None], likeliest, axis=2)
    keys: NDArray[np.uint64] = _keys(projected // _WIDTH)[..., None] + jumps
    return keys


def _projected(features: NDArray[np.int16]) -> NDArray[np.int64]:
    return (features.astype(np.int64) @ _DIRECTIONS + _OFFSETS).reshape(len(features), TABLES, SLOTS)


def _keys(slots: NDArray[np.int64]) -> NDArray[np.uint64]:
    keys: NDArray[np.uint64] = (slots.view(np.uint64) * _FACTORS).sum(axis=2)
    return keys
