"""How a gate and our source talk: two small files in a folder, each replaced whole, so that neither is ever torn."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from collections import deque
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from penstock.json_file import read_json, write_json


@dataclass(frozen=True, slots=True)
class Admission:
    """From the gate to the source: at most `size`, at least `min_size` or `max_wait_s`, in `partitions` parts.

    Sizes are in `unit`: rows, or the summed cost of the rows. `item_s` is what each of a unit adds to the wait.
    """

    size: float | None = None
    min_size: float | None = None
    max_wait_s: float | None = None
    partitions: int | None = None
    unit: str = "rows"
    item_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Receipt:
    """From the source to the gate: the range of items last admitted, and what is known of it.

    `load` is the mean cost of an item, from a few of them; `cost` the exact sum, where the source admits by cost.
    """

    start: int
    stop: int
    wait_s: float
    backlog: int
    load: float | None = None
    part: str | None = None
    cost: float | None = None


_RECEIPTS = 8


def make_mailbox() -> str:
    """A new folder for a mailbox, removed when this process ends: in memory where the system has a place for it.

    `TMPDIR` is obeyed where it is set.

    On a disk, replacing a file makes some file systems write it out at once, which takes 2 ms; in memory it is free.
    """
    memory = "/dev/shm" if "TMPDIR" not in os.environ and os.access("/dev/shm", os.W_OK) else None
    folder = tempfile.mkdtemp(prefix="penstock-", dir=memory)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


class Mailbox:
    """The folder between a source gate and its source.

    >>> import tempfile
    >>> mailbox = Mailbox(tempfile.mkdtemp())
    >>> mailbox.admission()
    Admission(size=None, min_size=None, max_wait_s=None, partitions=None, unit='rows', item_s=0.0)
    >>> mailbox.admit(Admission(size=500))
    >>> mailbox.admission().size
    500
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._admission = self.folder / "admit.json"
        self._receipt = self.folder / "admitted.json"
        self._given: deque[dict[str, Any]] = deque(maxlen=_RECEIPTS)

    def admit(self, admission: Admission) -> None:
        """Tell the source what to admit from its next poll on."""
        write_json(self._admission, asdict(admission), indent=None)

    def as_file(self, admission: Admission) -> tuple[str, str]:
        """The path and the content with which somebody else can tell the source the same."""
        return str(self._admission), json.dumps(asdict(admission))

    def admission(self) -> Admission:
        """What the gate last said; no limit where it said nothing."""
        fields = read_json(self._admission)
        return Admission(**fields) if fields else Admission()

    def acknowledge(self, receipt: Receipt) -> None:
        """Tell the gate what was admitted."""
        self._given.append(asdict(receipt))
        write_json(self._receipt, {"receipts": list(self._given)}, indent=None)

    def receipts(self) -> list[Receipt]:
        """What the source admitted of late, the latest last: a busy driver may ask when the next batch is under way."""
        fields = read_json(self._receipt) or {}
        return [Receipt(**receipt) for receipt in fields.get("receipts", ())]

    def receipt(self) -> Receipt | None:
        """What the source last admitted."""
        return next(reversed(self.receipts()), None)
