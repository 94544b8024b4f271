from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.spark.source.mailbox import Admission, Mailbox, Receipt

sizes = st.none() | st.floats(1, 1e18)


def test_an_empty_mailbox_limits_nothing(tmp_path: Path):
    mailbox = Mailbox(tmp_path / "not" / "there")
    assert mailbox.admission() == Admission()
    assert mailbox.receipt() is None


@given(admission=st.builds(Admission, sizes, sizes, sizes, st.none() | st.integers(1, 64), item_s=st.floats(0, 1)))
def test_what_the_gate_says_is_what_the_source_hears(
    tmp_path_factory: pytest.TempPathFactory, admission: Admission
) -> None:
    folder = tmp_path_factory.mktemp("mailbox")
    Mailbox(folder).admit(admission)
    assert Mailbox(folder).admission() == admission


def test_a_receipt_comes_back_whole(tmp_path: Path):
    receipt = Receipt(start=5, stop=2**60, wait_s=0.25, backlog=0, load=3.5, part="wave")
    Mailbox(tmp_path).acknowledge(receipt)
    assert Mailbox(tmp_path).receipt() == receipt


@pytest.mark.parametrize("torn", ["", "{", '{"size": 5', "[1, 2]", "\x00\x00"])
def test_a_torn_file_is_as_good_as_none(tmp_path: Path, torn: str):
    (tmp_path / "admit.json").write_text(torn)
    (tmp_path / "admitted.json").write_text(torn)
    assert Mailbox(tmp_path).admission() == Admission()
    assert Mailbox(tmp_path).receipt() is None


def test_a_reader_never_sees_half_an_admission(tmp_path: Path):
    mailbox, stop, seen = Mailbox(tmp_path), threading.Event(), set()

    def read() -> None:
        while not stop.is_set():
            seen.add(Mailbox(tmp_path).admission())

    mailbox.admit(Admission(size=1.0))
    reader = threading.Thread(target=read)
    reader.start()
    for size in range(300):
        mailbox.admit(Admission(size=float(size + 1), partitions=size))
    stop.set()
    reader.join()
    assert Admission() not in seen
    assert all(admission.partitions in (None, admission.size - 1) for admission in seen)
