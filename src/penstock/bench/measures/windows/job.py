"""One measurement, and the file with those that are finished: a stopped run goes on from it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.bench.compare.about import about_here
from penstock.bench.measures.windows.cases import Setting, Size
from penstock.bench.measures.windows.machine import Machine
from penstock.errors import BadInputError, PenstockError
from penstock.json_file import read_json, write_json
from penstock.progress import Say

FORMAT = 1
Record = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """`about` names it and is part of its record; `run` measures, and returns the numbers.

    A peer that is not here returns `skipped` with the reason, one that takes too long `unfinished` with the limit in
    seconds; these are results. What raises is `failed`, and is run again the next time.
    """

    about: Mapping[str, Any]
    run: Callable[[Machine], Record]

    @property
    def name(self) -> str:
        """All that it is about.

        >>> Job({"program": "rates", "who": "ours", "round": 1}, lambda machine: {}).name
        'rates who=ours round=1'
        """
        said = (f"{key}={value}" for key, value in self.about.items() if key != "program")
        return " ".join([str(self.about["program"]), *said])


def about_rate(who: str, setting: Setting, number: int, batch: int | None) -> dict[str, Any]:
    """What names the measurement of a rate; `batch` is Gasser's B, None where nobody chose."""
    fields = {"query": setting.query, "length": setting.length, "every": setting.every, "keys": setting.keys}
    return {"program": "rates", "who": who, **fields, "round": number, "batch": batch}


class Finished:
    """The records of finished jobs by name, kept in one JSON file with the size and the machine."""

    def __init__(self, path: Path, size: Size) -> None:
        self._path = path
        known = read_json(path) or {}
        if known and (known.get("format"), known.get("size")) != (FORMAT, size.name):
            reason = f"it has format {known.get('format')}, size {known.get('size')}"
            raise BadInputError("out", str(path), reason, "give another folder, or remove the file")
        self.about: Mapping[str, Any] = known.get("about") or about_here()
        self.seconds = float(known.get("seconds", 0.0))
        self.records: dict[str, Record] = {**known.get("records", {})}
        self._size = size

    def has(self, job: Job) -> bool:
        """Whether a job has its result."""
        return job.name in self.records and "failed" not in self.records[job.name]

    def add(self, job: Job, found: Record, took_s: float) -> None:
        """Keep a record."""
        self.records[job.name] = {**job.about, **found}
        self.seconds += took_s
        fields = {"format": FORMAT, "size": self._size.name, "about": self.about, "seconds": round(self.seconds, 1)}
        write_json(self._path, {**fields, "records": self.records})


def run_jobs(jobs: Iterable[Job], machine: Machine, finished: Finished, say: Say) -> list[str]:
    """Run those that are not finished, in their order; returns what failed."""
    every = list(jobs)
    missing = [job for job in every if not finished.has(job)]
    if len(missing) < len(every):
        say(f"{len(every) - len(missing)} of {len(every)} measurements are finished, and are kept")
    failures = []
    began_s = time.monotonic()
    for at, job in enumerate(missing):
        passed_s = time.monotonic() - began_s
        left = f"; about {passed_s / at * (len(missing) - at) / 60:.0f} min left" if at >= 5 else ""
        say(f"{at + 1} of {len(missing)}: {job.name}{left}")
        started_s = time.monotonic()
        try:
            found = job.run(machine)
        # Also what Spark raises: one measurement that fails must not cost the others.
        except Exception as error:
            text = str(error) if isinstance(error, PenstockError) else f"{type(error).__name__}: {error}"
            found = {"failed": text.strip().partition("\n")[0][:300]}
            failures.append(f"{job.name}: {found['failed']}")
            say(f"failed: {failures[-1]}")
        finished.add(job, found, time.monotonic() - started_s)
    return failures
