"""Windows in the summary of a run, from what workers echoed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.bench.window_rates import window_rates
from penstock.journal import Recording
from penstock.plan import BatchEcho
from penstock.sample import BatchSample, Status


def sample(batch_id: int, processing_s: float, status: Status = Status.OK) -> BatchSample:
    return BatchSample(
        batch_id, items=1000, size=1000, processing_s=processing_s, started_s=2.0 * batch_id, status=status
    )


def echo(batch_id: int, windows: float, kernel_s: float) -> BatchEcho:
    highest = {"kernel_s": kernel_s, "row": 9.0}
    return BatchEcho(batch_id, (0,), 2, {"kernel": 2 * kernel_s}, highest, {"windows": windows, "rows": 1000.0})


def test_an_app_without_windows_has_no_such_fields() -> None:
    assert window_rates(Recording()) == {}
    told = Recording(samples=[sample(0, 1.0)], echoes=[BatchEcho(0, (1,), 2, {"detect": 0.5})])
    assert window_rates(told) == {}


def test_ignored_batches_count_windows_but_no_time() -> None:
    samples = [sample(0, 9.0, Status.WARM_UP), sample(1, 1.0), sample(2, 1.0)]
    echoes = [echo(0, 40, 8.0), echo(1, 60, 0.5), echo(2, 60, 0.75)]
    found = window_rates(Recording(samples=samples, echoes=echoes))
    assert found["windows"] == 160
    # Two batches of 60 windows from second 2 to second 5, the wait between them included.
    assert found["windows_per_s"] == pytest.approx(120 / 3)
    # Of the busiest task, not of all of them.
    assert found["kernel_share"] == pytest.approx(1.25 / 2)


def test_a_batch_without_an_echo_is_no_batch_without_a_kernel() -> None:
    recording = Recording(samples=[sample(0, 1.0), sample(1, 1.0)], echoes=[echo(0, 40, 0.5)])
    assert window_rates(recording)["kernel_share"] == pytest.approx(0.5)


def test_where_every_batch_is_ignored_nothing_is_told_of_time() -> None:
    recording = Recording(samples=[replace(sample(0, 1.0), status=Status.WARM_UP)], echoes=[echo(0, 40, 0.5)])
    assert window_rates(recording) == {"windows": 40, "windows_per_s": None, "kernel_share": None}
