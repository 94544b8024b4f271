"""Ferret as an application of the suite: search by similarity in a collection of 600 images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from penstock.apps.ferret import collection
from penstock.apps.ferret.input import IMAGES, INPUT, QUERIES
from penstock.apps.ferret.stages import BEST, RANKED_DDL, stages_for
from penstock.apps.ferret.truth import best_right
from penstock.apps.known_digests import KnownDigests
from penstock.apps.suite.app import SuiteApp
from penstock.apps.suite.opencv import opencv
from penstock.apps.suite.results import whole_number
from penstock.errors import BadInputError
from penstock.progress import Progress
from penstock.stages.stage import Stage

CANDIDATES = "candidates"
_CANDIDATES = 200


@dataclass(frozen=True)
class Ferret(SuiteApp):
    """The images of a collection that are most like a query: segment, extract, index, rank; rank is the heaviest.

    >>> [stage.name for stage in Ferret().stages()]
    ['read', 'segment', 'extract', 'index', 'rank']
    """

    name: ClassVar[str] = "ferret"
    description: ClassVar[str] = "SPBench's Ferret: images of a collection by similarity; segment, extract, index, rank"
    items: ClassVar[Mapping[str, int]] = {
        "test": 1_600,
        "small": 10_000,
        "medium": 50_000,
        "large": 250_000,
        "huge": 1_250_000,
    }
    first: ClassVar[int] = 64
    own_options: ClassVar[Mapping[str, str]] = {
        CANDIDATES: f"images that rank compares with a query, at most; {_CANDIDATES} of {IMAGES} by default",
    }
    result_ddl: ClassVar[str] = RANKED_DDL
    digests: ClassVar[KnownDigests] = KnownDigests(Path(__file__).with_name("digests.json"), "ferret-digests")

    @property
    def candidates(self) -> int:
        """Images that rank compares with a query, at most."""
        return whole_number(self.chosen, CANDIDATES, _CANDIDATES, least=BEST)

    def check(self) -> None:
        """Refuse options that cannot be, and a machine without OpenCV, before Spark starts."""
        super().check()
        if self.candidates > IMAGES:
            reason = f"the collection has {IMAGES} images"
            raise BadInputError(CANDIDATES, self.chosen[CANDIDATES], reason, f"write {IMAGES} or fewer")
        opencv()

    def stages(self) -> tuple[Stage, ...]:
        """The stages with these options."""
        return stages_for(self.candidates)

    def make_input(self, seed: int, progress: Progress | None = None) -> Path | None:
        """Make the index of the collection and the queries; the file of the queries."""

        def after(before: int) -> Progress | None:
            return None if progress is None else lambda done, _: progress(before + done, IMAGES + QUERIES)

        collection.ready(seed, after(0))
        return INPUT.ready(seed, after(IMAGES))

    def truth(self, directory: Path) -> Mapping[str, Any]:
        """Recall: the part of a family's 3 images that is among the 10 best. Precision: how often the best is of it."""
        return {**super().truth(directory), "precision": best_right(directory)}
