from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.apps.suite.inputs import Input


def test_two_threads_that_make_an_input_at_once_both_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    both = threading.Barrier(2, timeout=60)

    def make(index: int, seed: int) -> Any:
        both.wait()  # neither may finish before the other has begun
        return np.array([index, seed])

    made = Input("threads", make, distinct=3)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(made.items, [5, 5])
    assert first.tolist() == second.tolist() == [[0, 5], [1, 5], [2, 5]]
    assert [path.name for path in (tmp_path / "inputs").iterdir()] == [made.path(5).name]
