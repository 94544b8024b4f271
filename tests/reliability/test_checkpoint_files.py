"""The `fast` profile writes checkpoint files by one rename: a kill inside any write leaves only whole files."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from typing import Any

import pytest

SEED = 31_337
KILLS = 6
QUERIES = 2
_AIM_S = 5.0


@pytest.mark.parametrize("profile", ["fast", "raw_local_files"])
def test_kills_inside_batches_leave_only_whole_checkpoint_files(runs: Any, profile: str) -> None:
    print(f"seed {SEED}")
    runs.profile = profile
    moments = random.Random(SEED)
    # Several queries at once: one kill meets as many batches, each at another moment.
    runs.queries, runs.items, runs.size = QUERIES, 9000, 100
    inside = 0
    for number in range(KILLS):
        child = runs.start()
        runs.wait_for_commits(child, 2)
        [at_random, when_planned, when_writing][number % 3](runs, moments)
        child.kill("jvm" if number % 2 else "both")
        for place in runs.places:
            assert_whole(place)
            inside += place.pending() is not None
    print(f"{inside} batches of {KILLS * QUERIES} were killed between plan and commit")
    assert inside > 0, "no kill came inside a batch: nothing was tested"
    runs.size = 600
    runs.finish()
    runs.assert_exactly_once()


def assert_whole(place: Any) -> None:
    """Files under a final name can be parsed, no batch is missing, and at most one waits for its commit."""
    assert [path for path, _ in place.log_entries()]
    for log in ("offsets", "commits"):
        numbers = place.numbers(log)
        assert numbers == list(range(numbers[0], numbers[-1] + 1))
        strangers = [name for name in os.listdir(place.checkpoint / log) if not name.isdecimal()]
        # Unfinished files, and Hadoop's checksum of each file.
        assert all(name.startswith(".") and name.endswith((".tmp", ".crc")) for name in strangers), strangers
    assert place.last("offsets") - place.last("commits") in (0, 1)
    for path, content in place.log_entries():
        if path.parent.name == "offsets":
            metadata, offset = content
            assert "batchTimestampMs" in metadata
            assert offset["index"] > 0


def at_random(runs: Any, moments: random.Random) -> None:
    time.sleep(moments.uniform(0.0, 0.5))


def when_planned(runs: Any, moments: random.Random) -> None:
    """Just after a batch was planned, or a little later."""
    place = moments.choice(runs.places)
    before = place.last("offsets")
    _spin_until(lambda: bool(place.last("offsets") > before))
    time.sleep(moments.uniform(0.0, 0.05))


def when_writing(runs: Any, moments: random.Random) -> None:
    """While a checkpoint file still has its temporary name."""
    logs = [place.checkpoint / log for place in runs.places for log in ("offsets", "commits")]
    _spin_until(lambda: any(name.endswith(".tmp") for log in logs for name in os.listdir(log)))


def _spin_until(true: Callable[[], bool]) -> None:
    # The moment aimed at is shorter than a sleep; where it is missed, the kill is one more at random.
    deadline_s = time.monotonic() + _AIM_S
    while not true() and time.monotonic() < deadline_s:
        pass
