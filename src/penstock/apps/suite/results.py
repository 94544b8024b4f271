"""What the last stage of an application gives for each item: its number, a hash of its result, how right it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.apps.digest import committed_files
from penstock.errors import BadInputError
from penstock.patterns.hashing import hashed
from penstock.stages.arrow import record_batch

RESULT_DDL = "id bigint, hash bigint, found int, expected int, matched int"
"""`found` things in the item, `expected` ones by the generator's truth, `matched` ones that are both."""


def hash_of(values: NDArray[np.int64] | list[int]) -> int:
    """A hash of 64 bits of whole numbers, in this order; the same on every machine. Never give it fractions.

    >>> hash_of([1, 2, 3]) != hash_of([1, 3, 2]), hash_of([]) == hash_of(np.empty(0, np.int64))
    (True, True)
    """
    numbers = np.asarray(values, dtype=np.int64).ravel().view(np.uint64)
    placed = hashed(numbers ^ hashed(np.arange(len(numbers)), seed=len(numbers)), seed=0)
    return int(hashed(np.bitwise_xor.reduce(placed, initial=np.uint64(len(numbers))), seed=0).view(np.int64)[0])


def results(
    ids: NDArray[np.int64],
    values: list[NDArray[np.int64]],
    found: list[int],
    expected: list[int],
    matched: list[int],
    **more: Any,
) -> Any:
    """The record batch of results: for each item its whole numbers, which are hashed with its number."""
    hashes = [
        hash_of(np.append(np.asarray(each, np.int64).ravel(), item)) for item, each in zip(ids, values, strict=True)
    ]
    counts = {"found": found, "expected": expected, "matched": matched}
    columns = {name: np.asarray(each, np.int32) for name, each in counts.items()}
    return record_batch({"id": ids, "hash": np.asarray(hashes, np.int64), **columns, **more})


def truth_of(directory: Path) -> Mapping[str, float | int | None]:
    """How right the results in a run's output directory are, by the generator's truth."""
    import pyarrow.parquet

    totals = np.zeros(3, np.int64)
    seen: set[int] = set()
    for path in committed_files(directory):
        table = pyarrow.parquet.read_table(path, columns=["id", "found", "expected", "matched"])
        ids = table.column("id").to_numpy()
        fresh = np.array([item not in seen for item in ids.tolist()], np.bool_)
        seen.update(ids.tolist())
        totals += [int(table.column(name).to_numpy()[fresh].sum()) for name in ("found", "expected", "matched")]
    found, expected, matched = totals.tolist()
    return {
        "recall": matched / expected if expected else None,
        "precision": matched / found if found else None,
        "checked_items": len(seen),
    }


def whole_number(options: Mapping[str, str], name: str, default: int, least: int = 1) -> int:
    """An option that is a whole number."""
    text = options.get(name)
    if text is None:
        return default
    if not text.lstrip("-").isdecimal() or int(text) < least:
        raise BadInputError(name, text, f"not a whole number of {least} or more", f"write e.g. {default}")
    return int(text)


def one_of(options: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    """An option with a few choices, of which the first is the default."""
    text = options.get(name, choices[0])
    if text not in choices:
        raise BadInputError(name, text, "no such choice", f"write one of {', '.join(choices)}")
    return text
