"""What workers echo of a plan is a record of its own in the journal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.journal import Journal, read
from penstock.plan import BatchEcho


def test_echoes_read_back_in_order_and_leave_samples_alone(path: Path, header: Any, a_sample: Any) -> None:
    told = [
        BatchEcho(0, (1,), 2, {"denoise": 0.25, "detect": 1.5}, {"row": 99.0}, {"windows": 40.0}),
        BatchEcho(1, (1, 2), 2),
    ]
    with Journal.open(path, header) as journal:
        journal.sample(a_sample(0))
        for echo in told:
            journal.echo(echo)
    recording = read(path)
    assert recording.echoes == told
    assert [echo.version for echo in recording.echoes] == [1, None]
    assert len(recording.samples) == 1
    assert recording.torn == 0


def test_a_kind_of_record_from_a_later_release_is_passed_over(path: Path, header: Any) -> None:
    with Journal.open(path, header) as journal:
        journal._write({"kind": "from_the_future", "t": 1.0})
        journal.echo(BatchEcho(3, (2,), 1))
    assert [echo.batch_id for echo in read(path).echoes] == [3]
    assert read(path).torn == 0
