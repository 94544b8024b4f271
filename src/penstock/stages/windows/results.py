"""What a group gives: one row a window, what it keeps, and what it counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import PenstockError
from penstock.stages.windows.blocks import Shape
from penstock.stages.windows.spec import WindowSpec

Array = NDArray[Any]
Run = Callable[
    [Sequence[Array], NDArray[np.int64], NDArray[np.int64]], tuple[Sequence[Array], "NDArray[np.bool_] | None"]
]
"""Runs the kernel: columns, first rows and ends of windows in; one array an output, and which windows failed."""


@dataclass(frozen=True)
class Results:
    """One value a window in every column; `keys` only where windows have one, `failed` only where one did."""

    window: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    outputs: Sequence[Array]
    failed: NDArray[np.bool_] | None = None
    keys: Any = None

    def __len__(self) -> int:
        return len(self.window)


@dataclass(frozen=True)
class Found:
    """What one step of a group gives: results, the value to keep, counts, and when to look again.

    `wake_us`: for windows in time, when the next one ends.
    """

    results: Results
    value: bytes
    counts: Mapping[str, float]
    wake_us: int | None = None


def results(
    spec: WindowSpec,
    windows: NDArray[np.int64],
    outputs: Sequence[Array],
    failed: NDArray[np.bool_] | None,
    keys: Any = None,
) -> Results:
    """The results of windows with these numbers."""
    start = windows * spec.every
    return Results(windows, start, start + spec.length, outputs, failed, keys)


def definition(spec: WindowSpec, shape: Shape, fixed: Mapping[str, Any]) -> dict[str, Any]:
    """What a group's kept value was made with; `fixed` has what else decides which rows come to which group."""
    key = None if shape.key is None else str(shape.key)
    return {**spec.to_record(), "columns": list(shape.dtypes), "key": key, **fixed}


def check_same(now: Mapping[str, Any], header: Mapping[str, Any]) -> None:
    """Refuse a checkpoint that was made with another definition.

    >>> made = definition(WindowSpec(4, 2), Shape(("float64",)), {"buckets": 2})
    >>> check_same({**made, "buckets": 3}, made)
    Traceback (most recent call last):
        ...
    penstock.errors.PenstockError: the checkpoint was made with buckets=2, the query has buckets=3; ...
    """
    before = {name: header.get(name) for name in now}
    if before != now:
        raise PenstockError(
            f"the checkpoint was made with {_differing(before, now)}, the query has {_differing(now, before)}; "
            "write what it was, or start with a new checkpoint"
        )


def _differing(these: Mapping[str, Any], others: Mapping[str, Any]) -> str:
    spec, other = (WindowSpec(each["length"], each["every"], each["unit"], gaps=True) for each in (these, others))
    if spec != other:
        return f"windows of {spec}"
    return ", ".join(f"{name}={value}" for name, value in these.items() if value != others[name])
