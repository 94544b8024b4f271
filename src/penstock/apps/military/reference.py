"""The right answer, by a plain loop without Spark.

Digests of seed 1 are in `digests.json`, made by `python -m penstock.apps.military.reference
test small "test=COST OF THE DEMO"`. Those of other seeds and costs are kept in the user's cache directory once they
were computed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from penstock.apps.digest import Digest
from penstock.apps.known_digests import KnownDigests
from penstock.apps.military import sizes
from penstock.apps.military.stages import STAGES
from penstock.errors import BadInputError
from penstock.progress import Progress
from penstock.workloads.workload import Workload

DIGESTS = KnownDigests(Path(__file__).with_name("digests.json"), "military")

# Raise it when items, terrain or kernels change: cached digests are then forgotten.
VERSION = 1
_CHUNK = 4096
_SAMPLE_SLICES = 16
_SAMPLE_SLICE_ITEMS = 128


def slice_digest(workload: Workload, start: int, stop: int) -> Digest:
    """The digest of items start to stop - 1."""
    from penstock.stages.arrow import record_batch, vector

    batch = record_batch(workload.columns(start, stop))
    for stage in STAGES:
        batch = stage.run(batch)
    return Digest.of(vector(batch, "hash").view(np.uint64))


def reference_digest(workload: Workload, progress: Progress | None = None) -> Digest:
    """The digest of a whole workload, in chunks on all cores: the kernels release the lock."""
    items, digest = _checked_items(workload), Digest()
    starts = range(0, items, _CHUNK)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        parts = threads.map(lambda start: slice_digest(workload, start, min(start + _CHUNK, items)), starts)
        for part in parts:
            digest += part
            if progress is not None:
                progress(digest.count, items)
    return digest


def sample_digest(workload: Workload) -> Digest:
    """The digest of a few slices, evenly spread over the workload: cheap, and touches every part."""
    last = _checked_items(workload) - _SAMPLE_SLICE_ITEMS
    starts = [last * number // (_SAMPLE_SLICES - 1) for number in range(_SAMPLE_SLICES)]
    return sum((slice_digest(workload, start, start + _SAMPLE_SLICE_ITEMS) for start in starts), Digest())


def known(size_class: str, seed: int, cost: str) -> str | None:
    """A digest computed before: committed with the source, or in the user's cache."""
    return DIGESTS.find(key(size_class, seed, cost), _about(size_class))


def remember(size_class: str, seed: int, cost: str, digest: str) -> None:
    """Keep a digest in the user's cache directory."""
    DIGESTS.remember(key(size_class, seed, cost), digest, _about(size_class))


def key(size_class: str, seed: int, cost: str) -> str:
    """The name of a digest in `digests.json`."""
    return f"{size_class} seed={seed} cost={cost}"


def _checked_items(workload: Workload) -> int:
    if workload.items is None:
        raise BadInputError("items", None, "an endless workload has no digest", "give a number of items")
    return workload.items


def _about(size_class: str) -> object:
    return VERSION, sizes.layout(size_class).counts, sizes.LOW_COST, sizes.HIGH_COST


def main(wanted: Sequence[str]) -> None:
    """Compute the digests of these classes (CLASS or CLASS=COST) at seed 1 and put them in `digests.json`."""
    from penstock.apps.military.app import MilitaryServer

    for text in wanted:
        size_class, _, cost = text.partition("=")
        cost = cost or "thesis"
        workload = MilitaryServer().workload(size_class, seed=1, cost=cost)
        whole = reference_digest(workload, _print_progress)
        DIGESTS.commit(key(size_class, 1, cost), whole, sample_digest(workload))
        print(f"\r{size_class}: {whole}")


def _print_progress(done: int, items: int) -> None:
    print(f"\r{done / items:.0%}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
