"""End-to-end latency of every dataset and item, from the journal's batches and the known arrivals."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.bench.end_to_end import Reached, delivered, end_to_end, processed
from penstock.journal import Recording
from penstock.patterns import parse_arrivals
from penstock.patterns.constant import Constant
from penstock.sample import BatchSample, Status
from penstock.workloads.workload import Workload

EPOCH_S = 1_000_000.0


def workload(arrivals: str = "datasets:rows=10,every=1s", items: int = 40) -> Workload:
    return Workload(parse_arrivals(arrivals), Constant(1.0), items=items)


def batch(number: int, rows: int, end_s: float, processing_s: float = 0.5, **other: object) -> BatchSample:
    fields = {"items": rows, "started_s": EPOCH_S + end_s - processing_s, **other}
    return BatchSample(batch_id=number, size=float(rows), processing_s=processing_s, **fields)  # type: ignore[arg-type]


def recording(*samples: BatchSample) -> Recording:
    return Recording(header={"unit": "rows"}, samples=list(samples))


def test_a_dataset_is_delivered_with_the_batch_that_has_its_last_row() -> None:
    # Datasets of 10 rows at 1, 2, 3 and 4 s; the second one is split over two batches.
    found = end_to_end(recording(batch(0, 15, 2.5), batch(1, 25, 6.0)), workload(), Reached(40, EPOCH_S))
    assert found is not None
    assert found["datasets"]["count"] == 4
    assert found["datasets"]["mean"] == pytest.approx((1.5 + 4.0 + 3.0 + 2.0) / 4)
    assert found["datasets"]["max"] == pytest.approx(4.0)
    assert found["batches"]["mean"] == pytest.approx((1.5 + 4.0) / 2)
    items = [1.5] * 10 + [0.5] * 5 + [4.0] * 5 + [3.0] * 10 + [2.0] * 10
    assert found["items"]["count"] == 40
    assert found["items"]["mean"] == pytest.approx(np.mean(items))


def test_a_first_batch_that_the_journal_missed_does_not_shift_the_others() -> None:
    found = end_to_end(recording(batch(1, 25, 6.0)), workload(), Reached(40, EPOCH_S))
    assert found is not None
    assert found["datasets"]["count"] == 3
    assert found["datasets"]["mean"] == pytest.approx((4.0 + 3.0 + 2.0) / 3)


def test_a_stopped_run_tells_of_the_datasets_that_it_delivered_whole() -> None:
    found = end_to_end(recording(batch(0, 10, 1.5), batch(1, 15, 3.5)), workload(), Reached(25, EPOCH_S))
    assert found is not None
    assert found["datasets"]["count"] == 2
    assert found["datasets"]["mean"] == pytest.approx((0.5 + 1.5) / 2)
    assert found["items"]["count"] == 25


def test_the_last_dataset_may_be_cut_by_the_end_of_the_stream() -> None:
    found = end_to_end(recording(batch(0, 35, 5.0)), workload(items=35), Reached(35, EPOCH_S))
    assert found is not None
    assert found["datasets"]["count"] == 4


def test_other_arrivals_have_items_and_batches_but_no_datasets() -> None:
    found = end_to_end(recording(batch(0, 20, 3.0)), workload("constant:rate=10", items=20), Reached(20, EPOCH_S))
    assert found is not None
    assert found["datasets"] is None
    assert found["items"]["mean"] == pytest.approx(3.0 - 1.05)


def test_warm_up_counts_for_who_waits_and_batches_without_data_count_for_the_time() -> None:
    run = recording(
        batch(0, 10, 1.6, status=Status.WARM_UP),
        batch(1, 0, 1.9, processing_s=0.25, status=Status.EMPTY),
        batch(2, 30, 5.0),
        batch(3, 10, 6.0, confirmed=False),
    )
    found = end_to_end(run, workload(), Reached(40, EPOCH_S))
    assert found is not None
    assert found["batches"]["count"] == 2
    assert found["datasets"]["count"] == 4
    assert processed(run, row_bytes=64.0) == {
        "rows": 40,
        "bytes": 2560.0,
        "processing_s": 1.25,
        "rows_per_s": 32.0,
        "bytes_per_s": 2048.0,
    }
    assert processed(run, row_bytes=None)["bytes_per_s"] is None


def test_rows_that_a_self_join_scans_twice_count_once() -> None:
    run = recording(batch(0, 10, 1.6, items=20), batch(1, 30, 5.0, items=60))
    assert [sample.items for sample in delivered(run)] == [10, 30]
    assert processed(run, None)["rows"] == 40
    by_cost = Recording(header={"unit": "cost"}, samples=run.samples)
    assert [sample.items for sample in delivered(by_cost)] == [20, 60]


def test_what_is_not_known_is_none() -> None:
    good = batch(0, 40, 5.0)
    assert end_to_end(recording(good), workload(), Reached(40, None)) is None
    assert end_to_end(recording(), workload(), Reached(0, EPOCH_S)) is None
    assert end_to_end(recording(batch(0, 40, 5.0, started_s=None)), workload(), Reached(40, EPOCH_S)) is None
    assert end_to_end(recording(good), workload(), Reached(30, EPOCH_S)) is None
    assert end_to_end(recording(batch(0, 10, 2.0), batch(2, 20, 5.0)), workload(), Reached(40, EPOCH_S)) is None
    assert processed(Recording(), 64.0)["bytes_per_s"] is None
