"""What a controller has learned, kept in a file beside the journal: a restart of the application begins with it."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path

from penstock.control.memory import Snapshot, fits, from_json, restore_to, snapshot_of, to_json
from penstock.control.protocol import Controller
from penstock.distribution import penstock_version
from penstock.json_file import read_json, write_json

log = logging.getLogger("penstock")

FORMAT = 1
"""Of the file. Another one is ignored, and so is a file of another version of Penstock."""


class Learned:
    """The file of one query. It is read only where all that `about` says is the same as when it was written.

    >>> from tempfile import mkdtemp
    >>> from penstock.control.registry import create
    >>> from penstock.sample import BatchSample
    >>> from penstock.slo import Slo
    >>> slo, file = Slo.parse("1 s ± 10%"), Learned(Path(mkdtemp()) / "journal.jsonl", {"unit": "rows"})
    >>> controller, fresh = create("predictive", slo, 100.0), create("predictive", slo, 100.0)
    >>> decision = controller.decide(BatchSample(0, 100, 100, processing_s=0.3))
    >>> file.keep(controller.snapshot()), file.recall(fresh)
    (None, True)
    >>> fresh.size == controller.size
    True
    """

    def __init__(self, journal: Path, about: Mapping[str, object]) -> None:
        self.path = journal.with_name(f"{journal.name}.learned.json")
        self._about = {"format": FORMAT, "penstock": penstock_version(), **about}

    def keep(self, snapshot: Snapshot) -> None:
        """Replace the file, whole or not at all; a disk that is full loses it and nothing else."""
        try:
            write_json(self.path, {**self._about, "learned": json.dumps(snapshot, default=to_json)})
        except (OSError, TypeError, ValueError) as error:
            log.debug("penstock: what was learned is not kept: %r", error)

    def recall(self, controller: Controller) -> bool:
        """Let a new controller begin with what was learned; False, and the controller as it was, where nothing fits."""
        kept = read_json(self.path)
        if kept is None or any(kept.get(key) != value for key, value in self._about.items()):
            return False
        before = snapshot_of(controller)
        try:
            snapshot = json.loads(kept["learned"], object_hook=from_json)
            if not fits(snapshot, before):
                raise ValueError("the controller has other attributes by now")
            restore_to(controller, snapshot)
        except Exception as error:
            log.debug("penstock: what was learned does not fit: %r", error)
            restore_to(controller, before)
            return False
        return True
