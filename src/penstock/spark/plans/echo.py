"""What workers echo of a batch: the version they ran and their seconds by stage, through an accumulator of Spark."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar

from pyspark import SparkContext, TaskContext
from pyspark.accumulators import AccumulatorParam

from penstock.plan import NO_PLAN, BatchEcho, Plan
from penstock.spark.plans.in_force import BATCH_ID, QUERY_ID, plan_in_force

MOST_ECHOES = 10_000
"""Echoes that the driver keeps where nobody takes them; then the oldest go."""

Key = tuple[str, int, int, int]
"""Query id, batch id, partition, version."""
Told = tuple[dict[str, float], dict[str, float], dict[str, float]]
"""Seconds by stage, the highest value of each name, and counts."""
Echoed = dict[Key, Told]

_lock = threading.Lock()


class _Merge(AccumulatorParam[Echoed]):
    """Seconds add up, of other values the highest counts."""

    def zero(self, value: Echoed) -> Echoed:
        return {}

    def addInPlace(self, value1: Echoed, value2: Echoed) -> Echoed:  # noqa: N802 - Spark's name
        with _lock:
            for key, told in value2.items():
                _add(value1.setdefault(key, ({}, {}, {})), told)
            while len(value1) > MOST_ECHOES:
                del value1[next(iter(value1))]
        return value1


def _add(into: Told, told: Told) -> None:
    seconds, highest, counts = into
    for sums, more in ((seconds, told[0]), (counts, told[2])):
        for name, each in more.items():
            sums[name] = sums.get(name, 0.0) + each
    for name, value in told[1].items():
        highest[name] = max(highest.get(name, value), value)


class Task:
    """One task of a stage: the plan it runs with, and what it will echo; its stages may run in several threads."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.seconds: dict[str, float] = {}
        self.highest: dict[str, float] = {}
        self.counts: dict[str, float] = {}
        self._lock = threading.Lock()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a piece of work of this stage."""
        began_s = time.perf_counter()
        try:
            yield
        finally:
            took_s = time.perf_counter() - began_s
            with self._lock:
                self.seconds[name] = self.seconds.get(name, 0.0) + took_s

    def reached(self, name: str, value: float) -> None:
        """Tell how far this task came, e.g. the number of its last row; the highest of all tasks counts."""
        with self._lock:
            self.highest[name] = max(self.highest.get(name, value), value)

    def count(self, name: str, many: float) -> None:
        """Tell how many there were of something; the counts of all tasks add up."""
        with self._lock:
            self.counts[name] = self.counts.get(name, 0.0) + many


class Echo:
    """The way back from the workers of a context.

    It is made on the driver and captured by the function that workers run::

        echo = Echo.of(spark.sparkContext)

        def work(batches):
            with echo.task() as task:
                for batch in batches:
                    with task.stage("detect"):
                        found = detect(batch, task.plan.parts["devices"])
                    yield found

    Spark sends it with the result of a task and counts it before the batch's job ends. A task that fails, and a
    copy of a task that comes second, count nothing. What runs again counts again: the second action of a
    foreachBatch, and the tasks of a shuffle whose files were lost.
    """

    _of_context: ClassVar[weakref.WeakKeyDictionary[SparkContext, Echo]] = weakref.WeakKeyDictionary()

    def __init__(self, context: SparkContext) -> None:
        empty: Echoed = {}
        self._echoed = context.accumulator(empty, _Merge())

    @classmethod
    def of(cls, context: SparkContext) -> Echo:
        """The one of this context; made at first use."""
        with _lock:
            if context not in cls._of_context:
                cls._of_context[context] = cls(context)
            return cls._of_context[context]

    @classmethod
    def known(cls, context: SparkContext | None) -> Echo | None:
        """The one of this context, or None where no stage has asked for it."""
        return None if context is None else cls._of_context.get(context)

    @contextmanager
    def task(self, default: Plan = NO_PLAN) -> Iterator[Task]:
        """In a worker: run with the plan in force, and echo it at the end. Outside a streaming batch nobody listens."""
        task = Task(plan_in_force(default))
        yield task
        self.tell(task.plan, task.seconds, task.highest, task.counts)

    def tell(
        self,
        plan: Plan,
        seconds: Mapping[str, float],
        highest: Mapping[str, float] | None = None,
        counts: Mapping[str, float] | None = None,
    ) -> None:
        """In a worker: echo without `task`, where no one function sees the whole task; several calls add up."""
        context = TaskContext.get()
        query_id = None if context is None else context.getLocalProperty(QUERY_ID)
        batch_id = None if context is None else context.getLocalProperty(BATCH_ID)
        if context is None or query_id is None or batch_id is None:
            return
        key = (query_id, int(batch_id), context.partitionId(), plan.version)
        self._echoed.add({key: (dict(seconds), dict(highest or {}), dict(counts or {}))})

    def take(self, query_id: str) -> Echoed:
        """On the driver: what the workers of this query have echoed since the last call."""
        with _lock:
            echoed: Echoed = self._echoed.value
            return {key: echoed.pop(key) for key in list(echoed) if key[0] == query_id}

    def drain(self) -> Echoed:
        """On the driver: what the workers of all queries have echoed that nobody took."""
        with _lock:
            echoed: Echoed = self._echoed.value
            taken = dict(echoed)
            echoed.clear()
            return taken


class Echoes:
    """Makes one record a batch of what the partitions of a query echoed.

    >>> echoes = Echoes()
    >>> echoes.add({("q", 4, 0, 2): ({"detect": 0.5}, {"row": 90}, {})})
    >>> echoes.add({("q", 4, 1, 2): ({"detect": 0.25}, {"row": 99}, {})})
    >>> echoes.over(3), echoes.over(4)
    ([], [BatchEcho(batch_id=4, versions=(2,), partitions=2, seconds={'detect': 0.75}, highest={'row': 99}, ...)])
    """

    def __init__(self) -> None:
        self._batches: dict[int, Echoed] = {}

    def add(self, echoed: Echoed) -> None:
        """Take what has come; of one batch it may come in parts."""
        for key, told in echoed.items():
            _add(self._batches.setdefault(key[1], {}).setdefault(key, ({}, {}, {})), told)

    def over(self, batch_id: int) -> list[BatchEcho]:
        """The records of the batches up to this one, oldest first; of those after it some tasks may be done by now."""
        ended = sorted(each for each in self._batches if each <= batch_id)
        return [_one(each, self._batches.pop(each)) for each in ended]

    def clear(self) -> None:
        """Forget what has come."""
        self._batches.clear()


def _one(batch_id: int, echoed: Echoed) -> BatchEcho:
    whole: Told = ({}, {}, {})
    for told in echoed.values():
        _add(whole, told)
    versions = tuple(sorted({version for *_, version in echoed}))
    return BatchEcho(batch_id, versions, len({partition for _, _, partition, _ in echoed}), *whole)
