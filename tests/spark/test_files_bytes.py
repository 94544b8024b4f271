"""Files of every format, gated in files and in bytes, and never below one file."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.errors import BadInputError
from penstock.spark.attach import attach
from penstock.spark.reader import gated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader

SCHEMA = "id bigint, text string"
# Lengths of the one row of each file: some alike, some far apart, one larger than any limit below.
LENGTHS = (100, 100, 900, 50, 2000, 300, 300, 300, 700, 100, 6000, 100, 400, 400, 400, 1200, 60, 60)


def write_json(path: Path, number: int, text: str) -> None:
    path.write_text(json.dumps({"id": number, "text": text}) + "\n")


def write_csv(path: Path, number: int, text: str) -> None:
    with path.open("w", newline="") as out:
        csv.writer(out).writerow((number, text))


def write_parquet(path: Path, number: int, text: str) -> None:
    pq.write_table(pa.table({"id": pa.array([number]), "text": [text]}), path, compression="none")


WRITERS: dict[str, Callable[[Path, int, str], None]] = {
    "json": write_json,
    "csv": write_csv,
    "parquet": write_parquet,
}


class Folder:
    """Files of one row each, in the order in which Spark takes them."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.path = folder / "in"
        self.path.mkdir()
        self.kind = kind
        self._staging = folder / "staging"
        self.sizes: list[int] = []

    def put(self, lengths: tuple[int, ...]) -> None:
        """Add files that a query sees all at once: they come as one renamed folder."""
        self._staging.mkdir()
        for length in lengths:
            number = len(self.sizes)
            file = self._staging / f"{number:04}.{self.kind}"
            WRITERS[self.kind](file, number, "".join(chr(97 + (number * i) % 26) for i in range(length)))
            os.utime(file, (1_700_000_000 + number,) * 2)
            self.sizes.append(file.stat().st_size)
        self._staging.rename(self.path / f"{len(self.sizes):04}")

    def load(self, reader: DataStreamReader) -> DataFrame:
        return reader.schema(SCHEMA).format(self.kind).load(str(self.path / "*"))


def cut(sizes: list[int], limit: float) -> list[list[int]]:
    """The batches that a limit in bytes cuts these files into: one file at least, and no more than fit."""
    batches: list[list[int]] = []
    for size in sizes:
        if not batches or sum(batches[-1]) + size > limit:
            batches.append([])
        batches[-1].append(size)
    return batches


@pytest.mark.parametrize("kind", ["json", "csv", "parquet"])
def test_files_of_every_format_are_gated_in_files_and_in_bytes(
    spark: SparkSession, start, until, sizes, tmp_path: Path, kind: str
) -> None:
    folder = Folder(tmp_path, kind)
    for unit, limit in (("files", 5), ("bytes", 3000)):
        seen: list[int] = []

        def each(df: DataFrame, batch_id: int, seen: list[int] = seen) -> None:
            seen.extend(row["id"] for row in df.collect())

        known = len(folder.sizes)
        query = start(folder.load(spark.readStream.option("maxFilesPerTrigger", 100)), unit, each=each)
        until(lambda query=query, known=known: sum(sizes(query)) == known)
        before = len(sizes(query))
        journal = tmp_path / f"{unit}.jsonl"
        handle = attach(query, "1 s", "fixed", size=limit, unit=unit, journal=journal, warm_up_batches=0)
        folder.put(LENGTHS)
        until(lambda seen=seen: len(seen) == len(folder.sizes))
        until(lambda handle=handle: sum(s.items for s in handle.recording().samples if s.confirmed) == len(LENGTHS))
        query.stop()
        handle.detach()
        assert sorted(seen) == list(range(len(folder.sizes)))
        new = folder.sizes[known:]
        batches = cut(new, limit) if unit == "bytes" else [new[i : i + limit] for i in range(0, len(new), limit)]
        assert sizes(query)[before:] == [len(batch) for batch in batches]
        recording = handle.recording()
        assert recording.header["unit"] == unit
        taken = [sample.size for sample in recording.samples if sample.items]
        assert taken == [sum(batch) if unit == "bytes" else len(batch) for batch in batches]
        assert any(sample.backlog for sample in recording.samples)


def test_a_limit_below_one_file_still_takes_one_file_at_a_time(
    spark: SparkSession, start, until, sizes, tmp_path: Path
) -> None:
    folder = Folder(tmp_path, "json")
    query = start(folder.load(gated(spark.readStream)))
    with attach(query, "1 s", "fixed", size=1, unit="bytes", journal=tmp_path / "j.jsonl"):
        folder.put(LENGTHS[:5])
        until(lambda: sum(sizes(query)) == 5)
    assert sizes(query) == [1] * 5


def test_a_user_who_limits_bytes_is_gated_in_bytes_from_that_limit_on_and_gets_it_back(
    spark: SparkSession, start, until, sizes, tmp_path: Path
) -> None:
    folder = Folder(tmp_path, "json")
    folder.put((100,))
    # Two files, and not quite three: later ones have a digit more in them.
    limit = 5 * folder.sizes[0] // 2
    query = start(folder.load(spark.readStream.option("maxBytesPerTrigger", limit)))
    until(lambda: sizes(query) == [1])
    handle = attach(query, "1 min", journal=tmp_path / "j.jsonl", warm_up_batches=0)
    assert handle.recording().header["unit"] == "bytes"
    assert handle.decision.size == limit
    folder.put((100,) * 30)
    until(lambda: sum(sizes(query)) == 31)
    # Far below a minute every batch may grow, also in bytes.
    assert max(sizes(query)) >= 8
    handle.detach()
    grown = len(sizes(query))
    folder.put((100,) * 6)
    until(lambda: sum(sizes(query)) == 37)
    assert sizes(query)[grown:] == [2, 2, 2]


def test_a_unit_that_files_do_not_have_is_refused(spark: SparkSession, start, tmp_path: Path) -> None:
    query = start(Folder(tmp_path, "json").load(spark.readStream))
    with pytest.raises(BadInputError, match="files or bytes"):
        attach(query, "1 s", unit="rows", journal=tmp_path / "j.jsonl")
