"""The right answers by a plain loop, without Spark, the windowed operator and its devices.

Rows are made in chunks. Each key keeps its rows from the beginning of its next window on, and every window that is full
is one call of the kernel's function, compiled by `numba.njit` alone. Digests of seed 1 are in `digests.json`, made by
`python -m penstock.apps.gasser.reference q1:test q1:test:keys=500 q1:small ...`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.apps.digest import Digest
from penstock.apps.gasser.digest import result_hashes
from penstock.apps.gasser.options import Chosen
from penstock.apps.gasser.queries import Query
from penstock.apps.known_digests import KnownDigests
from penstock.devices.kernel import Kernel
from penstock.errors import BadInputError
from penstock.patterns.base import FloatArray
from penstock.progress import Progress
from penstock.workloads.workload import Columns, Workload

DIGESTS = KnownDigests(Path(__file__).with_name("digests.json"), "gasser")
# Raise it when streams, kernels or hashes change: cached digests are then forgotten.
VERSION = 1
_CHUNK = 1_000_000
_SAMPLE_SLICES = 16
_SAMPLE_WINDOWS = 3


def name_of(query: Query, size_class: str, chosen: Chosen, seed: int) -> str:
    """The name of a digest in `digests.json`; the device is no part of it."""
    return f"{query.name} {size_class} window={chosen.window_text} keys={chosen.keys or 'none'} seed={seed}"


def reference_digest(query: Query, chosen: Chosen, workload: Workload, progress: Progress | None = None) -> Digest:
    """The digest of a query's results over a whole workload."""
    items, digest = _checked_items(workload), Digest()
    # Of each key the number of its next window, and its rows from there on.
    kept: dict[int, tuple[int, list[FloatArray]]] = {}
    nothing = [np.empty(0)] * len(query.columns)
    for start in range(0, items, _CHUNK):
        stop = min(start + _CHUNK, items)
        for name, fresh in _by_key(query, chosen, workload.columns(start, stop)):
            first, rows = kept.get(name, (0, nothing))
            rows = [np.concatenate(parts) for parts in zip(rows, fresh, strict=True)]
            hashes = window_hashes(query.kernel, chosen, name, first, rows)
            digest += Digest.of(hashes)
            gone = len(hashes) * chosen.window.every
            kept[name] = (first + len(hashes), [column[gone:] for column in rows])
        if progress is not None:
            progress(stop, items)
    return digest


def sample_digest(query: Query, chosen: Chosen, workload: Workload) -> Digest:
    """The digest of a few windows over all rows, whatever their key, in slices evenly spread over the workload."""
    rows = chosen.window.length + _SAMPLE_WINDOWS * chosen.window.every
    last, digest = _checked_items(workload) - rows, Digest()
    for number in range(_SAMPLE_SLICES):
        start = last * number // (_SAMPLE_SLICES - 1)
        columns = workload.columns(start, start + rows)
        slices = [np.asarray(columns[name]) for name in query.columns]
        digest += Digest.of(window_hashes(query.kernel, chosen, key=0, first=start, columns=slices))
    return digest


def window_hashes(
    kernel: Kernel, chosen: Chosen, key: int, first: int, columns: Sequence[FloatArray]
) -> NDArray[np.uint64]:
    """The hashes of the full windows in these rows of a key, the first of which begins window `first`."""
    function = _compiled(kernel.function)
    scratch = [np.empty(int(kernel.scratch))] if kernel.scratch else []
    length, every = chosen.window.length, chosen.window.every
    count = max((len(columns[0]) - length) // every + 1, 0)
    outputs = np.empty((count, len(kernel.outputs)))
    for number in range(count):
        begin = number * every
        outputs[number] = function(*(column[begin : begin + length] for column in columns), *scratch)
    windows = first + np.arange(count, dtype=np.int64)
    return result_hashes(key, windows, windows * every, windows * every + length, outputs)


@lru_cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    import numba

    compiled: Callable[..., Any] = numba.njit(function)
    return compiled


def _by_key(query: Query, chosen: Chosen, columns: Columns) -> Iterator[tuple[int, list[FloatArray]]]:
    """The rows of each key, in their order; of no keys, all rows under 0."""
    values = [np.asarray(columns[name]) for name in query.columns]
    if chosen.keys is None:
        yield 0, values
        return
    keys = np.asarray(columns[query.key])
    order = np.argsort(keys, kind="stable")
    names, begins = np.unique(keys[order], return_index=True)
    for name, rows in zip(names.tolist(), np.split(order, begins[1:]), strict=True):
        yield name, [column[rows] for column in values]


def _checked_items(workload: Workload) -> int:
    if workload.items is None:
        raise BadInputError("items", None, "an endless workload has no digest", "give a number of items")
    return workload.items


def main(wanted: Sequence[str]) -> None:
    """Compute the digests of these runs (QUERY:CLASS:OPTION=VALUE...) at seed 1 and put them in `digests.json`."""
    from penstock.apps.gasser.app import GasserApp
    from penstock.apps.gasser.queries import QUERIES

    for text in wanted:
        name, size_class, *options = text.split(":")
        app = GasserApp(QUERIES[name]).configured(size_class, dict(each.split("=", 1) for each in options))
        parts = (app.query, app.chosen, app.workload(size_class, seed=1))
        whole = reference_digest(*parts, _print_progress)
        DIGESTS.commit(name_of(app.query, size_class, app.chosen, seed=1), whole, sample_digest(*parts))
        print(f"\r{text}: {whole}")


def _print_progress(done: int, items: int) -> None:
    print(f"\r{done / items:.0%}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
