"""Compiled kernels on disk, so that a worker need not compile what another process has compiled.

Numba caches functions by the file that they stand in; a function that Spark brought to a worker stands in none. Here
the generated loop has a file name with a digest of all that it depends on, `<penstock-kernel-DIGEST>`, and one folder
a digest under `kernels` of the cache: `$PENSTOCK_CACHE`, else the user's folder for caches. Numba's caching is private
to it: where it is not what we know, kernels are compiled in each process.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from platformdirs import user_cache_path

from penstock.distribution import penstock_version

# Kernels kept on disk, some 50 kB each; those that were not used for longest go first.
MOST_KERNELS = 256
_PREFIX, _SUFFIX = "<penstock-kernel-", ">"


def folder() -> Path:
    """Where compiled kernels are kept."""
    root = os.environ.get("PENSTOCK_CACHE")
    return (Path(root) if root else user_cache_path("penstock")) / "kernels"


def file_name(*parts: str) -> str:
    """The file name of a loop: a digest of these parts and of the versions that compiled code depends on."""
    import numba

    versions = (platform.python_version(), numba.__version__, np.__version__, penstock_version())
    digest = hashlib.sha256("\0".join((*parts, *versions)).encode()).hexdigest()[:32]
    return f"{_PREFIX}{digest}{_SUFFIX}"


def is_kept(name: str) -> bool:
    """Whether a loop of this file name was compiled before."""
    return any(_home(name).glob("*.nbi"))


def keep(dispatcher: Any) -> bool:
    """Let Numba read and write this loop's compiled form on disk; False where it cannot."""
    try:
        dispatcher._cache = _cache_class()(dispatcher.py_func)
    except Exception:  # Numba's private API, or a folder that cannot be written to
        return False
    return True


def touch(name: str) -> None:
    """Mark a loop as used, and drop the oldest ones beyond the most that are kept."""
    with contextlib.suppress(OSError):
        os.utime(_home(name))
        homes = [(each.stat().st_mtime, each) for each in folder().iterdir()]
        for _, home in sorted(homes)[:-MOST_KERNELS]:
            shutil.rmtree(home, ignore_errors=True)


def drop(name: str) -> None:
    """Remove a loop that cannot be read."""
    shutil.rmtree(_home(name), ignore_errors=True)


def _home(name: str) -> Path:
    return folder() / name.removeprefix(_PREFIX).removesuffix(_SUFFIX)


def _cache_class() -> Any:
    """Numba's cache of functions, with a locator that knows our file names and no others."""
    from numba.core import caching

    class Locator(caching._CacheLocator):  # type: ignore[misc,name-defined,unused-ignore]
        def __init__(self, name: str) -> None:
            self._py_file = name

        def get_cache_path(self) -> str:
            return str(_home(self._py_file))

        def get_source_stamp(self) -> str:
            return self._py_file

        def get_disambiguator(self) -> str:
            return "0"

        @classmethod
        def from_function(cls, py_func: Any, py_file: str) -> Any:
            if not py_file.startswith(_PREFIX):
                return None
            locator: Any = cls(py_file)
            locator.ensure_cache_path()
            return locator

    class Implementation(caching.CompileResultCacheImpl):  # type: ignore[misc,unused-ignore]
        _locator_classes: Any = (Locator,)

    class Kept(caching.FunctionCache):  # type: ignore[misc,unused-ignore]
        _impl_class = Implementation

    return Kept
