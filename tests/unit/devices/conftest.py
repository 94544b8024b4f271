"""Kernels of these tests are compiled into a cache of their own, one for the run: most files use the same ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def _kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture(scope="module", autouse=True)
def _own_cache(_kernels: Path) -> Iterator[None]:
    # By module: a fixture of a package that is none lives until the session's end, and would hide Kafka's jars.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENSTOCK_CACHE", str(_kernels))
        yield
