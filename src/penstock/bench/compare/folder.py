"""The folder of a comparison: what is finished stays, and no other comparison gets mixed in.

spec.json            what is compared
r1/pid/              round 1 of a controller: journal.jsonl, summary.json
search/8000/         a trial of the search for the best fixed size
fixed-auto.json      what that search found
comparison.json      the result
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.bench.compare.spec import CompareSpec
from penstock.errors import BadInputError
from penstock.json_file import read_json, write_json

_SPEC = "spec.json"
_FOUND = "fixed-auto.json"
# What Spark wrote is of no use after its digest was checked, and there is a lot of it.
_BULKY = ("output", "checkpoint", "warm-up")


class Folder:
    """Where the runs of one comparison are kept."""

    def __init__(self, path: Path, spec: CompareSpec) -> None:
        self.path = path
        self._spec = spec

    def open(self) -> None:
        """Make it, or find in it the same comparison; anything else is refused and left alone."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            known = read_json(self.path / _SPEC)
            if known is None:
                if strange := next(self.path.iterdir(), None):
                    reason = f"holds {strange.name!r}, which no comparison wrote"
                    raise BadInputError("out", str(self.path), reason, "give a new or empty folder")
                write_json(self.path / _SPEC, self._spec.to_json())
            elif known != self._spec.to_json():
                wanted = self._spec.to_json()
                differs = next(key for key in wanted | known if wanted.get(key) != known.get(key))
                reason = f"holds another comparison: {differs} was {known.get(differs)!r}"
                raise BadInputError("out", str(self.path), reason, "give another --out")
        except OSError as error:
            raise BadInputError(
                "out", str(self.path), f"cannot be written ({error.strerror})", "give a folder you own"
            ) from error

    def run(self, number: int, label: str) -> Path:
        """The folder of one run."""
        return self.path / f"r{number}" / label

    def trial(self, size: float) -> Path:
        """The folder of one trial of a fixed size."""
        return self.path / "search" / f"{size:.0f}"

    @property
    def found(self) -> dict[str, Any] | None:
        """What the search for the best fixed size found."""
        return read_json(self.path / _FOUND)

    @found.setter
    def found(self, found: Mapping[str, Any]) -> None:
        write_json(self.path / _FOUND, found)


def finished(folder: Path) -> dict[str, Any] | None:
    """The summary of a run that went through to its end; None where it has to be run (again)."""
    summary = read_json(folder / "summary.json")
    return None if summary is None or summary.get("interrupted", True) else summary


def trim(folder: Path) -> None:
    """Remove the bulky output of a run; journal and summary stay."""
    for name in _BULKY:
        shutil.rmtree(folder / name, ignore_errors=True)
