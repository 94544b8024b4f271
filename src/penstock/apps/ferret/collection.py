"""The index of the collection: made once from a seed, kept in the user's cache, loaded by every worker.

It holds the regions of all images, and for each table of the hashing the keys of all regions in order, with the region
that each is of.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from penstock.apps.ferret.input import IMAGES, INPUT, image
from penstock.apps.ferret.lsh import keys_of, probes_of
from penstock.apps.ferret.regions import COLUMNS, FEATURES, REGIONS, described, segmented
from penstock.errors import BadInputError
from penstock.progress import Progress

VERSION = 1
"""Raised when images, regions or hashing change."""

_BUILDING = threading.Lock()


@dataclass(frozen=True)
class Index:
    """What a query is compared with."""

    regions: NDArray[np.int16]
    """Of each image, (images, regions, features and weight)."""
    keys: NDArray[np.uint64]
    """Of each table, in order, (tables, regions of all images)."""
    places: NDArray[np.int16]
    """The region that each key is of: its place among those of all images."""

    @classmethod
    def of(cls, regions: NDArray[np.int16]) -> Index:
        """The index of images with these regions."""
        flat = regions.reshape(-1, COLUMNS)
        places = np.flatnonzero(flat[:, FEATURES]).astype(np.int16)
        keys = keys_of(flat[places, :FEATURES]).T
        order = np.argsort(keys, axis=1, kind="stable")
        return cls(regions, np.take_along_axis(keys, order, axis=1), places[order])

    def candidates(self, query: NDArray[np.int16], most: int) -> NDArray[np.int16]:
        """The images that share most with the query, of equals the first.

        Two regions in one bucket share the smaller of their weights, once in every table.
        """
        query = query[query[:, FEATURES] > 0]
        probes, weights = probes_of(query[:, :FEATURES]), query[:, FEATURES]
        shared = np.zeros(len(self.regions))  # whole numbers, far below 2**53
        for keys, places, wanted in zip(self.keys, self.places, probes.transpose(1, 0, 2), strict=True):
            starts = np.searchsorted(keys, wanted.ravel())
            counts = np.searchsorted(keys, wanted.ravel(), side="right") - starts
            # The places of all keys that are equal to one wanted: start, start + 1, ... of each.
            hits = places[np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())]
            asking = np.repeat(np.repeat(weights, wanted.shape[1]), counts)
            offered = self.regions.reshape(-1, COLUMNS)[hits, FEATURES]
            shared += np.bincount(hits // REGIONS, np.minimum(asking, offered), len(shared))
        best = np.argsort(-shared, kind="stable")[:most]
        return best[shared[best] > 0].astype(np.int16)


def index_path(seed: int) -> Path:
    """The index's file, beside the input's."""
    return INPUT.path(seed).with_name(f"ferret-index-{seed}-{IMAGES}-v{VERSION}.npz")


def ready(seed: int, progress: Progress | None = None) -> Path:
    """The index's file, made now where it is not there: whole or not at all."""
    path = index_path(seed)
    with _BUILDING:
        if path.exists():
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        regions = []
        for number in range(IMAGES):
            pixels = image(number, seed)
            regions.append(described(pixels, segmented(pixels)))
            if progress is not None:
                progress(number + 1, IMAGES)
        index = Index.of(np.stack(regions))
        unfinished = path.with_name(f"{path.stem}.{os.getpid()}.npz")
        try:
            np.savez(unfinished, regions=index.regions, keys=index.keys, places=index.places)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    return path


def index(seed: int) -> Index:
    """The index of the collection of a seed."""
    return loaded(str(ready(seed)))


@lru_cache(maxsize=4)
def loaded(path: str) -> Index:
    """The index in a file."""
    try:
        with np.load(path) as arrays:
            return Index(arrays["regions"], arrays["keys"], arrays["places"])
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise BadInputError("index", path, f"no index ({error})", "delete it, and it is made anew") from error
