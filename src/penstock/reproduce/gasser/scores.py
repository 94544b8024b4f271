"""What findings, tables and figures look at: the measurements, and table 4 as computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.bench.measures.windows.cases import Setting, Size
from penstock.bench.measures.windows.results import Results
from penstock.reproduce.finding import NoDataError
from penstock.reproduce.gasser.published import Extent


@dataclass(frozen=True)
class Scores:
    """The measurements of a size, and the rows of table 4."""

    results: Results
    extents: Mapping[tuple[int, int], Extent]
    size: Size

    def gains(self, who: str, query: str | None = None) -> dict[Setting, float]:
        """Our rate over a peer's, in every case without keys that both have."""
        cases = [setting for setting in self.results.settings() if query in (None, setting.query)]
        return {setting: gain for setting in cases if (gain := self.results.gain(setting, who)) is not None}

    def known_gains(self, who: str, query: str | None = None) -> dict[Setting, float]:
        """The same, where there has to be some."""
        found = self.gains(who, query)
        if not found:
            raise NoDataError(f"no rate beside {who}")
        return found


def known(value: Any, what: str) -> Any:
    """A value that has to be there."""
    if value is None:
        raise NoDataError(what)
    return value


def case(setting: Setting) -> str:
    """A case as tables name it.

    >>> case(Setting("q1", 10_000, 5))
    'Q1 10k/5'
    """
    return f"{setting.query.upper()} {setting.length // 1000}k/{setting.every}"
