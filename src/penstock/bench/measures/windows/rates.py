"""The highest sustainable rate of Q1 and Q2 through the operator: table 3 and figure 7, without keys and with 500.

A saturated stream; the rate is windows a second times the slide. Without keys a few of Gasser's B are tried, and n is
the number of cores. `peers` has the same settings for everybody else, job by job beside ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.bench.measures.windows import peers
from penstock.bench.measures.windows.cases import CORES, QUERIES, Setting, Size
from penstock.bench.measures.windows.files import stream_of
from penstock.bench.measures.windows.job import Job, Record, about_rate
from penstock.bench.measures.windows.machine import Machine
from penstock.bench.measures.windows.streaming import run_stream
from penstock.spark.windows.api import windows

OURS = "penstock"
# With keys the state is rewritten in every batch, and batches are long: fewer of them count.
_KEYED_BATCHES = 3


def jobs(size: Size, flink: bool = False) -> Iterator[Job]:
    """Every setting: ours, and the peers right after it; every other round begins with the peers."""
    for number in range(1, size.rounds + 1):
        for setting in settings(size):
            mine = [_job(setting, number, batch) for batch in size.batch_lengths]
            others = list(peers.jobs(setting, number, flink=flink and number == 1))
            yield from (*mine, *others) if number % 2 else (*others, *mine)
    for setting in settings(size, size.keys):
        yield _job(setting, 1, None)


def settings(size: Size, keys: int | None = None) -> Iterator[Setting]:
    """The rows of table 3."""
    for query in QUERIES:
        for length in size.lengths if keys is None else size.keyed_lengths:
            for every in size.slides:
                yield Setting(query, length, every, keys)


def _job(setting: Setting, number: int, batch: int | None) -> Job:
    return Job(about_rate(OURS, setting, number, batch), lambda machine: _measure(machine, setting, batch))


def _measure(machine: Machine, setting: Setting, batch: int | None) -> Record:
    size, query = machine.size, QUERIES[setting.query]
    keyed = setting.keys is not None
    rows = setting.batch_rows(size.keyed_batch_s if keyed else size.batch_s)
    # One batch fills the windows, the next ones warm up.
    warm, counted = 1 + size.warm, min(size.batches, _KEYED_BATCHES) if keyed else size.batches
    df = stream_of(setting, rows, size.warm + counted).load(machine)
    if keyed:
        over = windows(df, by=query.key, order="id").rows(setting.length, every=setting.every)
    else:
        over = windows(df, order="id").rows(setting.length, every=setting.every, batch=batch, replicas=CORES)
    found = run_stream(machine, over.apply(query.kernel, *query.columns), warm)
    return {**found.record(setting.every), "replicas": None if keyed else CORES}
