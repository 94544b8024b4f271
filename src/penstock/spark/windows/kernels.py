"""The kernel of an operator: compiled when the query is defined, loaded by workers before the first batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from penstock.devices.auto import Auto, runner
from penstock.spark.windows.operator import Operator


def kernel_of(operator: Operator) -> Auto:
    """What runs the operator's kernel; compiled code and what is known of devices stay in the process."""
    return runner(operator.kernel, operator.shape.dtypes, operator.args, operator.errors, operator.device)


def compile_kernel(operator: Operator) -> None:
    """Compile on the driver, into the cache on disk: what is wrong with a kernel is told here."""
    kernel_of(operator).load()


def warm_up(spark: SparkSession, operator: Operator) -> None:
    """Let every worker load the kernel, so that no batch of a stream waits for it. A second or two."""
    tasks = spark.sparkContext.defaultParallelism
    loaded = spark.range(0, tasks, 1, tasks).mapInArrow(partial(_load, operator), "id bigint")
    loaded.write.format("noop").mode("overwrite").save()


def _load(operator: Operator, batches: Iterable[Any]) -> Iterator[Any]:
    kernel_of(operator).load()
    yield from batches
