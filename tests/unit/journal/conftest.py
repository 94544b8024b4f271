"""What the tests of the journal share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.sample import BatchSample


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a journal will be."""
    return tmp_path / "runs" / "run.jsonl"


@pytest.fixture
def header() -> dict[str, str]:
    """The header of a journal, as a run gives it."""
    return {"slo": "1 s ± 10%", "unit": "rows", "controller": "faf"}


@pytest.fixture
def a_sample() -> Callable[..., BatchSample]:
    """Makes the sample of a batch, given its id and what is special about it."""

    def make(batch_id: int, **other: Any) -> BatchSample:
        return BatchSample(**{"batch_id": batch_id, "size": 10.0, "items": 10, "processing_s": 1.0, **other})

    return make


@pytest.fixture
def lines() -> Callable[[Path], list[dict[str, Any]]]:
    """Reads the records of a file as they stand there."""
    return lambda path: [json.loads(line) for line in path.read_text().splitlines()]
