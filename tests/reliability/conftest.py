"""Start, kill and inspect: the processes of `child.py`, and what they leave on disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from numpy.typing import NDArray

from penstock.journal import Follower, Record

HERE = Path(__file__).parent
WAIT_S = 180.0
_MARK = "PENSTOCK_TEST_MARK"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark by folder, so that `-m "not kill"` leaves out all of them."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.kill)
            item.add_marker(pytest.mark.timeout(900))


@dataclass
class Place:
    """A query's checkpoint, output and journal."""

    folder: Path

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def numbers(self, log: str) -> list[int]:
        """The batches in a log of the checkpoint; files that are still being written have other names."""
        folder = self.checkpoint / log
        return sorted(int(name) for name in os.listdir(folder) if name.isdecimal()) if folder.is_dir() else []

    def last(self, log: str) -> int:
        return max(self.numbers(log), default=-1)

    def pending(self) -> int | None:
        """The batch that was planned and not committed: the next run must run it again."""
        planned = self.last("offsets")
        return planned if planned > self.last("commits") else None

    def log_entries(self) -> Iterator[tuple[Path, list[Any]]]:
        """Every file of every log under its final name, parsed; a torn one raises."""
        logs = [self.checkpoint / "offsets", self.checkpoint / "commits", self.folder / "output" / "_spark_metadata"]
        for path in (path for log in logs if log.is_dir() for path in log.iterdir()):
            if path.name.removesuffix(".compact").isdecimal():
                version, *lines = path.read_text().splitlines()
                assert version.startswith("v"), f"{path} is torn: {version!r}"
                yield path, [json.loads(line) for line in lines if line != "-"]

    def rows(self) -> NDArray[np.int64]:
        """(id, hash) of every committed row, sorted; a row that was committed twice is there twice."""
        import pyarrow.parquet as pq

        from penstock.apps.digest import committed_files

        files = committed_files(self.folder / "output")
        assert len(files) == len(set(files)), "a file is named twice in _spark_metadata"
        tables = [pq.read_table(path, columns=["id", "hash"]) for path in files]
        rows = np.concatenate([np.stack([t.column(n).to_numpy() for n in ("id", "hash")], axis=1) for t in tables])
        return rows[np.lexsort((rows[:, 1], rows[:, 0]))]

    def journaled_runs(self) -> tuple[list[list[Record]], int]:
        """The journal's records, apart for each opening, and the number of torn lines."""
        follower = Follower(self.folder / "journal.jsonl")
        runs: list[list[Record]] = []
        for record in follower.poll() + follower.drain_tail():
            if record["kind"] == "header":
                runs.append([])
            runs[-1].append(record)
        follower.close()
        return runs, follower.torn


class Child:
    """One run of `child.py` and every process that comes from it, known by a mark in the environment."""

    def __init__(self, folder: Path, scenario: str, profile: str, queries: int, items: int, size: int) -> None:
        self.mark = uuid.uuid4().hex
        scratch = folder / "scratch"
        scratch.mkdir(parents=True, exist_ok=True)
        self._log = folder / f"child-{self.mark}"
        where = {"TMPDIR": str(scratch), "SPARK_LOCAL_DIRS": str(scratch), "PYSPARK_PYTHON": sys.executable}
        command = [sys.executable, HERE / "child.py", scenario, folder, profile, queries, items, size]
        with open(self._log.with_suffix(".out"), "wb") as out, open(self._log.with_suffix(".err"), "wb") as err:
            self.process = subprocess.Popen(
                [str(word) for word in command],
                cwd=scratch,
                env={**os.environ, **where, _MARK: self.mark},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )

    @property
    def out(self) -> str:
        return self._log.with_suffix(".out").read_text()

    @property
    def err(self) -> str:
        return self._log.with_suffix(".err").read_text()

    def alive(self) -> list[psutil.Process]:
        """Its processes, also those whose parent is gone; a zombie has no environment left."""
        every = psutil.process_iter(["environ"])
        return [each for each in every if (each.info["environ"] or {}).get(_MARK) == self.mark]

    def jvm(self) -> psutil.Process:
        return next(each for each in self.alive() if each.name() == "java")

    def kill(self, target: str) -> None:
        """SIGKILL to the "jvm", to "python", or to "both"; returns when nothing of this run is left."""
        victims: list[psutil.Process | subprocess.Popen[bytes]] = []
        if target in ("jvm", "both"):
            victims.append(self.jvm())
        if target in ("python", "both"):
            victims.append(self.process)
        for victim in victims:
            victim.kill()
        self.process.wait(WAIT_S)
        # A JVM whose Python was killed shuts down in order and lives some seconds longer.
        wait_until(lambda: not self.alive(), f"the end of {self.mark} after a kill of {target}")

    def finish(self) -> int:
        """Wait for its own end."""
        code = self.process.wait(WAIT_S)
        wait_until(lambda: not self.alive(), "the end of its JVM and workers")
        return code

    def clean_up(self) -> None:
        for each in self.alive():
            with suppress(psutil.NoSuchProcess):
                each.kill()
        self.process.wait(WAIT_S)
        wait_until(lambda: not self.alive(), "the end of every process")


@dataclass
class Runs:
    """The runs of one test on one folder."""

    folder: Path
    profile: str = "fast"
    queries: int = 1
    items: int = 20_000
    size: int = 500
    children: list[Child] = field(default_factory=list)

    @property
    def places(self) -> list[Place]:
        return [Place(self.folder / f"q{number}") for number in range(self.queries)]

    def start(self, scenario: str = "finish") -> Child:
        assert all(not child.alive() for child in self.children), "a former run is still alive"
        child = Child(self.folder, scenario, self.profile, self.queries, self.items, self.size)
        self.children.append(child)
        return child

    def wait_for_commits(self, child: Child, more: int) -> None:
        """Until every query of the child has committed so many more batches."""
        until = [place.last("commits") + more for place in self.places]

        def come() -> bool:
            assert child.process.poll() is None, f"ended before it was killed:\n{child.out}\n{child.err[-3000:]}"
            return all(place.last("commits") >= number for place, number in zip(self.places, until, strict=True))

        wait_until(come, f"{more} more batches")

    def finish(self, scenario: str = "finish") -> Child:
        """A run that nobody kills."""
        child = self.start(scenario)
        assert child.finish() == 0, f"{child.out}\n{child.err[-3000:]}"
        assert child.out.endswith("DONE\n")
        return child

    def assert_exactly_once(self) -> None:
        """Every item of every query committed once, with the value that plain NumPy gives it."""
        from penstock.workloads.workload import uniform

        for number, place in enumerate(self.places):
            ids = np.arange(self.items)
            bits = uniform(ids, seed=1 + number).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            rows = place.rows()
            assert len(rows) == self.items
            assert np.array_equal(rows, np.stack([ids, bits.view(np.int64)], axis=1))


def wait_until(true: Callable[[], bool], what: str) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < deadline_s, f"waited in vain for {what}"
        time.sleep(0.02)


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    """A folder for runs; at the end none of their processes is left, whatever the test did."""
    runs = Runs(tmp_path)
    try:
        yield runs
    finally:
        for child in runs.children:
            child.clean_up()
        assert all(not child.alive() for child in runs.children)
