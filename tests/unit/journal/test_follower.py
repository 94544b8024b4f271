"""Following a journal that is being written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.journal import Follower, Journal
from penstock.journal.records import to_line
from penstock.sample import BatchSample

Sampled = Callable[..., BatchSample]


def test_a_follower_sees_each_record_once_across_rotations(
    path: Path, header: dict[str, str], a_sample: Sampled
) -> None:
    follower = Follower(path)
    assert follower.poll() == []
    journal = Journal.open(path, header, segment_bytes=600)
    seen = []
    for batch_id in range(40):
        journal.sample(a_sample(batch_id))
        if batch_id % 7 == 0:
            seen += follower.poll()
    seen += follower.poll()
    assert [record["batch_id"] for record in seen if record["kind"] == "sample"] == list(range(40))
    assert (follower.poll(), follower.torn) == ([], 0)


@pytest.mark.parametrize("tail", [b'{"kind":"event","t":0,', b'{"kind":"ev\n', b"\x00\n\x00\n"])
def test_a_follower_waits_at_a_torn_tail_and_survives_its_repair(
    path: Path, tail: bytes, header: dict[str, str]
) -> None:
    Journal.open(path, header).close()
    follower = Follower(path)
    follower.poll()
    with path.open("ab") as file:
        file.write(tail)
    assert follower.poll() == []
    with Journal.open(path, header) as journal:
        journal.event("after")
    names = [record.get("name") for record in follower.poll() if record["kind"] == "event"]
    assert names == ["resumed", "journal-repaired", "after"]
    assert follower.torn == 0


def test_a_follower_counts_torn_lines_once_something_follows_them(path: Path, header: dict[str, str]) -> None:
    Journal.open(path, header).close()
    follower = Follower(path)
    for text in (b'{"kind":"ev\n', to_line({"kind": "event", "t": 0.0, "name": "after"})):
        with path.open("ab") as file:
            file.write(text)
        names = [record.get("name") for record in follower.poll()]
    assert (names, follower.torn) == (["after"], 1)
