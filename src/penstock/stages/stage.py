"""What a stage is, and a chain of them over the batches of a partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Stage:
    """A pure function from one Arrow record batch to another; `output_ddl` is the Spark schema of what it gives."""

    name: str
    output_ddl: str
    run: Callable[[Any], Any]


def run_stages(stages: Sequence[Stage], batches: Iterable[Any]) -> Iterator[Any]:
    """Each record batch through all stages, in one Python worker: what `mapInArrow` runs."""
    for batch in batches:
        for stage in stages:
            batch = stage.run(batch)
        yield batch
