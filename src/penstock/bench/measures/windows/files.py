"""Streams as Parquet files that are there from the start: what a query reads at its own pace.

The first batch fills the windows; each batch has one file a core, so that reading is spread too. Files are made once
and linked into the folders of the runs that read them.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.bench.measures.windows.cases import CORES, QUERIES, Setting
from penstock.bench.measures.windows.machine import Machine
from penstock.workloads.workload import Columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Rows = Callable[[int, int], Columns]
# A file's time is its first row's, so that Spark takes files in the order of rows: so many rows a second.
_ROWS_A_SECOND = 10_000
_CHUNK = 1_000_000
_BEGAN_S = time.time()


@dataclass(frozen=True)
class Stream:
    """Which rows a run reads: `fill` in the first batch, then `batches` of `batch_rows`."""

    name: str
    rows: Rows
    fill: int
    batch_rows: int
    batches: int

    def load(self, machine: Machine) -> DataFrame:
        """The streaming DataFrame, a batch of the stream in each batch of Spark."""
        folder = Path(tempfile.mkdtemp(prefix="stream-", dir=machine.folder))
        edges = [0, *(self.fill + at * self.batch_rows for at in range(self.batches + 1))]
        schema = None
        for start, stop in pairwise(edges):
            step = -(-(stop - start) // CORES)
            for first in range(start, stop, step):
                made = self._file(machine.folder, first, min(first + step, stop))
                os.link(made, folder / made.name)
                schema = schema or machine.spark.read.parquet(str(made)).schema
        assert schema is not None
        reader = machine.spark.readStream.schema(schema).option("maxFilesPerTrigger", CORES)
        return reader.parquet(str(folder))

    def _file(self, folder: Path, start: int, stop: int) -> Path:
        path = folder / f"{self.name}-{start}-{stop}.parquet"
        if not path.exists():
            fresh = path.with_suffix(".part")
            writer = None
            for first in range(start, stop, _CHUNK):
                table = pa.table(dict(self.rows(first, min(first + _CHUNK, stop))))
                writer = writer or pq.ParquetWriter(fresh, table.schema, compression="none", use_dictionary=False)
                writer.write_table(table)
            assert writer is not None
            writer.close()
            at_s = _BEGAN_S + start / _ROWS_A_SECOND
            os.utime(fresh, (at_s, at_s))
            fresh.rename(path)
        return path


def stream_of(setting: Setting, batch_rows: int, batches: int) -> Stream:
    """The stream of a query; the first batch has as many rows as fill its windows, those of all keys on average."""
    query = QUERIES[setting.query]
    keys = setting.keys or query.usual_keys

    def rows(start: int, stop: int) -> Columns:
        columns = query.rows(start, stop, keys)
        # Only what the query reads, as Spark would read it from a table of many columns.
        return {name: columns[name] for name in ("id", query.key, *query.columns)}

    fill = setting.length * (setting.keys or 1)
    return Stream(f"{setting.query}-{keys}", rows, fill, batch_rows, batches)
