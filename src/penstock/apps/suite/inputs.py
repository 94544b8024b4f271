"""Inputs that are made once, by integer arithmetic from a seed, and then mapped into memory by every process.

An input is a NumPy array of distinct items in a file of `$PENSTOCK_CACHE`, or else of the user's folder for caches.
Item i of a run is distinct item i modulo their number. A worker on a machine that has no such file makes it there.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

from penstock.errors import BadInputError
from penstock.progress import Progress

Make = Callable[[int, int], NDArray[Any]]
"""Makes distinct item `index` from the seed: `make(index, seed)`."""


def inputs_folder() -> Path:
    """Where inputs are kept."""
    root = os.environ.get("PENSTOCK_CACHE")
    return (Path(root) if root else user_cache_path("penstock")) / "inputs"


@dataclass(frozen=True)
class Input:
    """The distinct items of an application; `version` is raised when `make` changes."""

    app: str
    make: Make
    distinct: int
    version: int = 1

    def path(self, seed: int) -> Path:
        """Its file."""
        return inputs_folder() / f"{self.app}-{seed}-{self.distinct}-v{self.version}.npy"

    def ready(self, seed: int, progress: Progress | None = None) -> Path:
        """The file, made now where it is not there: whole or not at all."""
        path = self.path(seed)
        if path.exists():
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}")
        try:
            first = np.asarray(self.make(0, seed))
            items = np.lib.format.open_memmap(unfinished, "w+", first.dtype, (self.distinct, *first.shape))
            for index in range(self.distinct):
                items[index] = first if index == 0 else self.make(index, seed)
                if progress is not None:
                    progress(index + 1, self.distinct)
            items.flush()
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
        return path

    def items(self, seed: int) -> NDArray[Any]:
        """The distinct items, read-only, mapped into memory."""
        return mapped(str(self.ready(seed)))


@lru_cache(maxsize=4)
def mapped(path: str) -> NDArray[Any]:
    """The array in a file, mapped into memory."""
    try:
        items: NDArray[Any] = np.load(path, mmap_mode="r")
    except (OSError, ValueError) as error:
        raise BadInputError("input", path, f"no array of items ({error})", "delete it, and it is made anew") from error
    return items
