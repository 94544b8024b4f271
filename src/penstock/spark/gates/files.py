"""The gate of Spark's file source."""

from __future__ import annotations

import math
from typing import Any

from penstock.errors import UnsupportedError
from penstock.sample import Decision
from penstock.spark.jvm import LiveQuery
from penstock.spark.progress import SourceRange
from penstock.spark.reader import FIRST_FILES
from penstock.spark.sampler import Admitted


class FileGate:
    """The engine gate: the read limit of Spark's file source, in files."""

    unit = "files"
    first_size = float(FIRST_FILES)
    waits = False

    def __init__(self, query: LiveQuery, source: int, user_limit: Any) -> None:
        self._query = query
        self._source = source
        self._user_limit = user_limit

    def apply(self, decision: Decision) -> None:
        """Set `maxFiles`: a composite with a minimum makes the file source fail, so it is refused here."""
        if decision.min_size:
            raise UnsupportedError("Spark's file source knows no minimum; decide a size only")
        self._query.set_max_files(self._source, max(math.floor(decision.size), 1))

    def restore(self) -> None:
        """Put the user's own read limit back."""
        self._query.set_limit(self._source, self._user_limit)

    def admitted(self, sources: tuple[SourceRange, ...]) -> Admitted:
        """Files taken, from the source's own log."""
        taken = sources[self._source] if self._source < len(sources) else None
        if taken is None or taken.files is None:
            return Admitted(math.nan)
        return Admitted(float(taken.files), backlog=taken.backlog)
