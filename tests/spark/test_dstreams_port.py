"""Our rate estimator and Spark's own class give the same numbers."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import pytest

from penstock.control.dstreams import RateEstimator

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

UPDATES = 2_000
GAINS = [
    (1.0, 0.2, 0.0, 100.0),
    (1.0, 0.0, 0.0, 1.0),
    (0.5, 0.3, 0.1, 20.0),
    (0.0, 1.0, 0.2, 0.5),
    (1.3, 0.05, 0.3, 10.0),
]


@pytest.mark.parametrize(("kp", "ki", "kd", "min_rate"), GAINS)
def test_ten_thousand_updates_agree_with_spark(
    spark: SparkSession, kp: float, ki: float, kd: float, min_rate: float
) -> None:
    seed = GAINS.index((kp, ki, kd, min_rate))
    source = random.Random(seed)
    interval_ms = source.choice([1000, 2500])
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    theirs = jvm.org.apache.spark.streaming.scheduler.rate.PIDRateEstimator(interval_ms, kp, ki, kd, min_rate)
    ours = RateEstimator(interval_ms / 1000, kp, ki, kd, min_rate)
    time_ms, refused = 0, 0
    for update in range(UPDATES):
        # Times that stand still or go back, batches without elements or without duration: one in ten of each.
        time_ms += (
            source.choice([0, -50]) if source.random() < 0.1 else source.randint(interval_ms // 2, 3 * interval_ms)
        )
        elements = 0 if source.random() < 0.1 else source.randint(1, 10 ** source.randint(1, 7))
        processing_ms = 0 if source.random() < 0.1 else source.randint(1, 4 * interval_ms)
        scheduling_ms = source.choice([0, source.randint(0, 5 * interval_ms)])
        answer = theirs.compute(time_ms, elements, processing_ms, scheduling_ms)
        expected = answer.get() if answer.isDefined() else None
        assert expected is None or math.isfinite(expected), "gains that explode prove nothing"
        rate = ours.compute(time_ms, elements, processing_ms, scheduling_ms)
        assert rate == (None if expected is None else pytest.approx(expected, rel=1e-9)), (
            f"update {update}, seed {seed}"
        )
        refused += expected is None
    assert 0.15 * UPDATES < refused < 0.45 * UPDATES, "both kinds must have been seen"
