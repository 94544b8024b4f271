"""How often the best image is of the query's family.

With 10 results and 3 images in a family, precision among all results could not pass 0.3: here it is that of the best.
"""

from __future__ import annotations

from pathlib import Path

from penstock.apps.digest import committed_files


def best_right(directory: Path) -> float | None:
    """The part of the queries in a run's output directory whose best image is right; an item counts once."""
    import pyarrow.parquet

    right: dict[int, int] = {}
    for path in committed_files(directory):
        table = pyarrow.parquet.read_table(path, columns=["id", "best_right"])
        right.update(zip(*(table.column(name).to_pylist() for name in ("id", "best_right")), strict=True))
    return sum(right.values()) / len(right) if right else None
