"""The synthetic application: as much work, and as evenly over its stages, as an experiment asks for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from penstock.apps.digest import Digest
from penstock.apps.known_digests import KnownDigests
from penstock.apps.suite.app import SuiteApp
from penstock.apps.suite.results import one_of, whole_number
from penstock.apps.synthetic import calibration
from penstock.apps.synthetic.stages import BALANCES, WORK, Load, result, stages, values_of
from penstock.errors import BadInputError
from penstock.progress import Progress
from penstock.stages.arrow import vector
from penstock.stages.stage import Stage

_ITEM_MS = 24
_MOST_SPREAD = 0.9
# Items whose results are hashed at a time.
_CHUNK = 1024


@dataclass(frozen=True)
class Synthetic(SuiteApp):
    """Three stages of calibrated work.

    >>> app = Synthetic().configured("test", {"balance": "unbalanced", "work": "wait", "item-ms": "6"})
    >>> [stage.name for stage in app.stages()], app.first_size("test")
    (['work1', 'work2', 'work3'], 166)
    """

    unit_ns: float | None = None
    """Nanoseconds of a unit of work on the driver: all workers then do the same work."""

    name: ClassVar[str] = "synthetic"
    description: ClassVar[str] = "three stages of calibrated work, CPU or waiting, balanced or not"
    items: ClassVar[Mapping[str, int]] = {
        "test": 1_000,
        "small": 6_000,
        "medium": 30_000,
        "large": 150_000,
        "huge": 750_000,
    }
    first: ClassVar[int] = 1000 // _ITEM_MS
    own_options: ClassVar[Mapping[str, str]] = {
        "balance": "balanced (default): the stages take 2-2-2 sixths of an item's time; unbalanced: 1-3-2",
        "work": "cpu (default), or wait: time passes as in a call to another system",
        "item-ms": f"milliseconds that an item takes in all; {_ITEM_MS} by default",
        "spread": f"how far items differ from that, as a share of it: 0 (default) to {_MOST_SPREAD}",
    }
    digests: ClassVar[KnownDigests] = KnownDigests(Path(__file__).with_name("digests.json"), "synthetic-digests")

    def configured(self, size_class: str, options: Mapping[str, str]) -> Self:
        """The same application with these options, calibrated on this machine where it needs the processor."""
        app = super().configured(size_class, options)
        return replace(app, unit_ns=calibration.unit_ns()) if app._work == "cpu" else app

    def stages(self) -> tuple[Stage, ...]:
        """Stages work1, work2 and work3."""
        unit_ns = None if self._work == "wait" else self.unit_ns or calibration.unit_ns()
        return stages(Load(self._item_ms, self._spread, unit_ns), self._balance)

    def check(self) -> None:
        """Refuse options that cannot be."""
        super().check()
        _ = self._balance, self._work, self._item_ms, self._spread  # each refuses what it cannot be

    def first_size(self, size_class: str) -> int:
        """About half a second of work on two cores."""
        return min(max(1000 // self._item_ms, 1), self.count(size_class))

    def plain_digest(self, items: int, seed: int = 1, progress: Progress | None = None) -> Digest:
        """The digest of the first items, without the work: it gives every value back."""
        total = Digest()
        for start in range(0, items, _CHUNK):
            ids = np.arange(start, min(start + _CHUNK, items))
            values = values_of(ids, np.full(len(ids), seed))
            done = result(ids, values, np.ones(len(ids), np.bool_))
            total += Digest.of(vector(done, "hash").view(np.uint64))
            if progress is not None:
                progress(int(ids[-1]) + 1, items)
        return total

    @property
    def _balance(self) -> str:
        return one_of(self.chosen, "balance", tuple(BALANCES))

    @property
    def _work(self) -> str:
        return one_of(self.chosen, "work", WORK)

    @property
    def _item_ms(self) -> int:
        return whole_number(self.chosen, "item-ms", _ITEM_MS)

    @property
    def _spread(self) -> float:
        text = self.chosen.get("spread", "0")
        try:
            spread = float(text)
        except ValueError:
            spread = math.nan
        if not 0 <= spread <= _MOST_SPREAD:
            raise BadInputError("spread", text, f"not a share from 0 to {_MOST_SPREAD}", "write e.g. 0.5")
        return spread

    def _digest_name(self, size_class: str, seed: int) -> str:
        """Options change the work and not the result."""
        return f"{self.name}-{size_class}-{seed}"
