"""The plan: what the workers of a query must know for a batch, as one versioned value, and what they echo of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import BadInputError

FORMAT = 1
MOST_CHARACTERS = 65_536
"""A plan travels with every task of a batch, so it stays small."""


@dataclass(frozen=True)
class Plan:
    """Parts by name (the schedule of windows, the composition, the devices), each a small value that JSON can hold.

    `version` grows by one with each change; version 0 is no plan at all. A part that nobody here knows is kept: it
    belongs to another knob, or to a later release.

    >>> plan = Plan().changed({"composition": "denoise | detect*2"}).changed({"devices": ["numba"]})
    >>> plan.to_text()
    '{"format":1,"version":2,"parts":{"composition":"denoise | detect*2","devices":["numba"]}}'
    >>> Plan.from_text(plan.to_text()) == plan
    True
    """

    version: int = 0
    parts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.version, bool) or not isinstance(self.version, int) or self.version < 0:
            raise BadInputError("version", self.version, "not a number of changes", "give a whole number from 0 on")
        if not isinstance(self.parts, Mapping) or not all(isinstance(name, str) and name for name in self.parts):
            raise BadInputError("parts", self.parts, "parts are values by name", 'write e.g. {"devices": ["numba"]}')
        try:
            text = self.to_text()
        except (TypeError, ValueError, RecursionError) as error:
            remedy = "use numbers, texts, lists and dictionaries only"
            raise BadInputError("parts", self.parts, f"JSON cannot hold it ({error})", remedy) from error
        if len(text) > MOST_CHARACTERS:
            reason = f"more than {MOST_CHARACTERS:,} characters as JSON, and it travels with every task"
            raise BadInputError("parts", f"{text[:60]}...", reason, "put what is large in a file and its name here")
        # As it arrives: JSON has no tuples, and its keys are texts. The caller's own values may change later.
        object.__setattr__(self, "parts", json.loads(text)["parts"])

    def changed(self, parts: Mapping[str, Any]) -> Plan:
        """The next version, with these parts in place of those of the same name; None takes a part away.

        Where nothing changes, it is the same version:

        >>> plan = Plan(3, {"devices": ["numba"]})
        >>> plan.changed({"devices": ["numba"]}).version, plan.changed({"devices": None})
        (3, Plan(version=4, parts={}))
        """
        if not isinstance(parts, Mapping):
            raise BadInputError("parts", parts, "parts are values by name", 'write e.g. {"devices": ["numba"]}')
        fresh = {name: part for name, part in {**self.parts, **parts}.items() if part is not None}
        after = Plan(self.version + 1, fresh)
        return self if after.parts == self.parts else after

    def to_record(self) -> dict[str, Any]:
        """The plan as an object of JSON."""
        return {"format": FORMAT, "version": self.version, "parts": self.parts}

    def to_text(self) -> str:
        """The plan as one line of JSON."""
        return json.dumps(self.to_record(), separators=(",", ":"), allow_nan=False, ensure_ascii=False)

    @classmethod
    def from_record(cls, record: object) -> Plan:
        """The plan in an object of JSON; other fields of it are left alone."""
        if not isinstance(record, Mapping) or "format" not in record:
            raise BadInputError("plan", record, "this is no plan", "give what to_text() made")
        if record["format"] != FORMAT:
            raise BadInputError(
                "plan",
                f"format {record['format']}",
                f"this release reads format {FORMAT} only",
                "run the release that wrote it on the driver and on every worker",
            )
        return cls(record.get("version"), record.get("parts"))  # type: ignore[arg-type]

    @classmethod
    def from_text(cls, text: str) -> Plan:
        """The plan in a line of JSON."""
        try:
            record = json.loads(text)
        except (TypeError, ValueError) as error:
            raise BadInputError("plan", text, f"this is no JSON ({error})", "give what to_text() made") from error
        return cls.from_record(record)


NO_PLAN = Plan()


@dataclass(frozen=True)
class BatchEcho:
    """What the workers of one batch told of it: the version that each ran, and their seconds by stage, summed up.

    `highest` has the largest value that any of them told under a name, `counts` the sums. A batch runs one version
    whole; where it did not, `versions` has several.

    >>> BatchEcho(7, versions=(3,), partitions=2, seconds={"detect": 0.4}).version
    3
    """

    batch_id: int
    versions: tuple[int, ...]
    partitions: int
    seconds: Mapping[str, float] = field(default_factory=dict)
    highest: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)

    @property
    def version(self) -> int | None:
        """The one version that all partitions ran, or None."""
        return self.versions[0] if len(self.versions) == 1 else None
