"""What moving rows costs: the operator with a kernel that does nothing, beside an identity `mapInArrow`, in turns.

CPU seconds per million rows are those of driver, JVM and workers together. The fixed time of a batch is where the line
through small and large batches meets zero rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import TYPE_CHECKING, Any

from penstock.bench.measures.windows.cases import CORES, Setting, Size
from penstock.bench.measures.windows.files import stream_of
from penstock.bench.measures.windows.job import Job, Record
from penstock.bench.measures.windows.machine import Machine
from penstock.bench.measures.windows.streaming import run_stream
from penstock.devices.kernel import kernel
from penstock.spark.windows.api import windows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PROGRAM = "plumbing"
IDENTITY, UNKEYED, KEYED = "identity mapInArrow", "windows", "windows by key"
_SMALL_ROWS = 2000
# As the prototype was measured: the tail of a group stays small beside a batch.
_UNKEYED, _KEYED = (10_000, 25), (1_000, 25)
_WARM = 3


def first(price: Any) -> Any:
    """Nothing worth a name."""
    return price[0]


FIRST = kernel("first double")(first)


def jobs(size: Size) -> Iterator[Job]:
    """Each of the three in turn, small and large batches, in every round."""
    for number in range(1, size.rounds + 1):
        for rows in (_SMALL_ROWS, size.plumbing_rows):
            for who in (IDENTITY, UNKEYED, KEYED):
                yield _job(size, who, rows, number)


def _job(size: Size, who: str, rows: int, number: int) -> Job:
    about = {"program": PROGRAM, "who": who, "rows": rows, "round": number}
    return Job(about, lambda machine: _measure(machine, size, who, rows))


def _measure(machine: Machine, size: Size, who: str, rows: int) -> Record:
    length, every = _KEYED if who == KEYED else _UNKEYED
    setting = Setting("q1", length, every, size.keys if who == KEYED else None)
    df = stream_of(setting, rows // CORES * CORES, _WARM + size.plumbing_batches).load(machine)
    found = run_stream(machine, _query(df, who, setting), warm=1 + _WARM)
    return {
        "batch_s": median(found.batch_s),
        "rows_per_s": found.rows / found.seconds,
        "cpu_s_per_million": 1e6 * found.cpu_s / found.rows,
    }


def _query(df: DataFrame, who: str, setting: Setting) -> DataFrame:
    if who == IDENTITY:
        return df.mapInArrow(lambda batches: batches, df.schema)
    over = windows(df, by="symbol" if who == KEYED else None, order="id")
    return over.rows(setting.length, every=setting.every).apply(FIRST, "price", device="numba")
