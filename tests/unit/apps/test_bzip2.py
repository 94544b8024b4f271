"""Bzip2: its input, its stages, the proof that an output gives the input back, and what is refused."""

from __future__ import annotations

import bz2
import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.apps.bzip2 import blocks, own_file
from penstock.apps.bzip2.app import Bzip2
from penstock.apps.bzip2.input import CHUNK_BYTES, MIX, base64, chunk, kind_of, table
from penstock.apps.digest import Digest
from penstock.apps.suite.app import chunked, number_batch
from penstock.errors import BadInputError
from penstock.stages.stage import run_stages
from penstock.workloads.workload import column_names

SAMPLE = 32


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENSTOCK_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def _few_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    # Compressing all of them beforehand takes seconds; the first ones are the same.
    monkeypatch.setattr(blocks, "_ALL_CHUNKS", 36)


def done(app: Bzip2, items: int, rows: int = 4, seed: int = 1) -> pa.Table:
    """The results of the first items, by the stages."""
    batches = chunked([number_batch(0, items, seed)], rows)
    return pa.Table.from_batches(list(run_stages(app.stages(), batches)))


def digest(table: pa.Table) -> str:
    return str(Digest.of(table.column("hash").to_numpy().view(np.uint64)))


def output(directory: Path, *tables: pa.Table) -> Path:
    """A run's output directory: a file a batch, each committed in the sink's log."""
    log = directory / "_spark_metadata"
    log.mkdir(parents=True)
    for batch, each in enumerate(tables):
        pq.write_table(each, directory / f"{batch}.parquet")
        (log / str(batch)).write_text("v1\n" + json.dumps({"path": f"file:///{batch}.parquet"}))
    return directory


def with_data(table: pa.Table, data: list[bytes]) -> pa.Table:
    at = table.schema.get_field_index("data")
    return table.set_column(at, "data", pa.array(data, pa.binary()))


# Digests


def test_committed_digests_are_of_the_code_as_it_is() -> None:
    wanted = set()
    entries = Bzip2.digests.entries()
    for options in ({}, {"data": "mix"}, {"block": "900k"}):
        for size_class in ("test", "small", "medium"):
            app = Bzip2().configured(size_class, options)
            name = app._digest_name(size_class, 1)
            wanted.add(name)
            assert entries[name]["sample"] == str(app.plain_digest(SAMPLE))
            assert app.known_digest(size_class) == entries[name]["whole"]
            assert entries[name]["whole"].startswith(f"{app.count(size_class)}-")
    assert set(entries) == wanted


def test_the_digest_of_a_whole_class_is_the_committed_one() -> None:
    app = Bzip2().configured("test", {})
    seen: list[int] = []
    assert str(app.plain_digest(app.count("test"), progress=lambda at, _: seen.append(at))) == app.known_digest("test")
    assert seen[-1] == app.count("test")


@pytest.mark.parametrize("options", [{}, {"data": "mix"}], ids=["text", "mix"])
def test_stages_give_the_committed_digest_of_the_sample(options: dict[str, str]) -> None:
    app = Bzip2().configured("test", options)
    assert digest(done(app, SAMPLE)) == app.digests.entries()[app._digest_name("test", 1)]["sample"]


@pytest.mark.usefixtures("_few_blocks")
def test_compressing_and_decompressing_have_the_same_digest() -> None:
    app = Bzip2().configured("test", {"decompress": "yes"})
    results = done(app, SAMPLE)
    assert digest(results) == app.digests.entries()["bzip2-test-1"]["sample"]
    assert results.column("data").to_pylist()[3] == chunk(3, 1).tobytes()


def test_a_block_of_900_kb_is_nine_of_100_kb() -> None:
    app = Bzip2().configured("test", {"block": "900k", "data": "mix"})
    whole = b"".join(chunk(at, 1, "mix").tobytes() for at in range(9))
    (data,) = done(app, 1).column("data").to_pylist()
    assert bz2.decompress(data) == whole
    assert digest(done(app, 1)) == str(app.plain_digest(1))


def test_a_digest_depends_on_seed_data_and_block_and_on_no_default_that_is_spelled_out() -> None:
    digests = [Bzip2().plain_digest(3, seed=2), *(Bzip2(each).plain_digest(3) for each in ({}, {"data": "mix"}))]
    digests.append(Bzip2({"block": "900k"}).plain_digest(3))
    assert len(set(digests)) == 4
    assert Bzip2({"data": "text", "block": "100k", "decompress": "yes"})._digest_name("test", 1) == "bzip2-test-1"


# Stages


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(order=st.permutations(range(8)), rows=st.integers(1, 8))
def test_results_depend_on_no_chunk_and_no_order(order: list[int], rows: int) -> None:
    app = Bzip2().configured("test", {})
    batch = number_batch(0, 8, 1).take(pa.array(order))
    parts = list(run_stages(app.stages(), chunked([batch], rows)))
    assert pa.Table.from_batches(parts).sort_by("id").equals(done(app, 8, rows=8))


@pytest.mark.usefixtures("_few_blocks")
@pytest.mark.parametrize("decompress", ["no", "yes"])
def test_every_stage_gives_the_columns_that_it_says(decompress: str) -> None:
    app = Bzip2().configured("test", {"decompress": decompress})
    types = {"bigint": pa.int64(), "int": pa.int32(), "binary": pa.binary()}
    for items in (3, 0):
        batch = number_batch(0, items, 1)
        for stage in app.stages():
            batch = stage.run(batch)
            assert batch.schema.names == column_names(stage.output_ddl)
            assert batch.schema.types == [types[each.split()[1]] for each in stage.output_ddl.split(", ")]
            assert batch.num_rows == items
    assert app.stages()[-1].output_ddl == app.result_ddl


def test_a_block_that_does_not_decompress_is_one_line() -> None:
    _, decompress, _ = Bzip2({"decompress": "yes"}).stages()
    batch = number_batch(7, 8, 1).append_column("data", pa.array([b"BZh9" + b"1AY&SY" + bytes(40)], pa.binary()))
    with pytest.raises(BadInputError, match="item = 7: does not decompress"):
        decompress.run(batch)


# Truth


@pytest.mark.usefixtures("_few_blocks")
@pytest.mark.parametrize(("decompress", "least"), [("no", 3.0), ("yes", 0.25)])
def test_an_output_gives_its_input_back(decompress: str, least: float, tmp_path: Path) -> None:
    app = Bzip2().configured("test", {"decompress": decompress})
    results = done(app, 45)  # more than there are distinct blocks
    truth = app.truth(output(tmp_path / "out", results.slice(20), results.slice(0, 20), results.slice(10, 5)))
    assert (truth["recall"], truth["precision"], truth["checked_items"]) == (1.0, 1.0, 45)
    assert truth["decompresses"] is True
    # Measured: text is compressed to 30% of its bytes.
    assert least < truth["ratio"] < 1.4 * least


def test_an_output_with_another_byte_block_order_or_seed_is_not_its_input(tmp_path: Path) -> None:
    app = Bzip2().configured("test", {})
    results = done(app, 6)
    data = results.column("data").to_pylist()
    other = bz2.compress(b"\0" + bz2.decompress(data[2])[1:])
    wrong = {
        "missing": pa.concat_tables([results.slice(0, 2), results.slice(3)]),
        "another byte": with_data(results, [*data[:2], other, *data[3:]]),
        "swapped": with_data(results, [data[1], data[0], *data[2:]]),
        "truncated": with_data(results, [*data[:5], data[5][:-9]]),
        "no stream": with_data(results, [*data[:5], b"none"]),
        "another seed": results.set_column(5, "seed", pa.array([2] * 6)),
    }
    for name, each in wrong.items():
        assert app.truth(output(tmp_path / name, each))["decompresses"] is False, name
    twice = output(tmp_path / "twice", results, with_data(results, [other] * 6))
    assert app.truth(twice)["decompresses"] is False
    assert app.truth(output(tmp_path / "none", results.slice(0, 0)))["decompresses"] is False


def test_a_block_of_a_wrong_length_does_not_match() -> None:
    read, compress, write = Bzip2().stages()
    batch = read.run(number_batch(0, 2, 1))
    short = pa.Table.from_batches([batch])
    short = with_data(short, [b"short", short.column("data")[1].as_py()]).to_batches()[0]
    assert write.run(compress.run(short)).column("matched").to_pylist() == [0, 1]


# Input


def test_the_input_is_a_pure_function_of_index_and_seed() -> None:
    for data in ("text", "mix"):
        some = [chunk(index, 3, data).tobytes() for index in (0, 40, 80)]
        assert some == [chunk(index, 3, data).tobytes() for index in (0, 40, 80)]
        assert {len(each) for each in some} == {CHUNK_BYTES}
    texts = [chunk(index, seed).tobytes() for index in range(6) for seed in (1, 2)]
    assert len(set(texts)) == len(texts)


def test_text_has_words_whose_frequency_falls_with_their_rank() -> None:
    words = chunk(5, 1).tobytes().replace(b",", b"").replace(b".", b"").split()
    _, counts = np.unique(np.array(words), return_counts=True)
    counts = np.sort(counts)[::-1]
    assert len(words) > 10_000
    assert 3 < counts[0] / counts[9] < 30
    assert 2.5 < CHUNK_BYTES / len(bz2.compress(chunk(5, 1).tobytes())) < 5.0


def test_a_mix_has_every_kind_in_stretches() -> None:
    kinds = [kind_of(index, 1) for index in range(216)]
    assert set(kinds) == set(MIX)
    assert sum(one != other for one, other in pairwise(kinds)) == 11
    sizes = {kind_of(index, 1): len(bz2.compress(chunk(index, 1, "mix").tobytes())) for index in range(0, 216, 18)}
    assert sizes["zeros"] < 100 < sizes["repeats"] < 10_000 < sizes["table"] < 20_000 < sizes["text"] < sizes["base64"]
    assert set(base64(1, 1).tobytes().splitlines()[5]) <= set(
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    )
    number, day, amount, state = table(1, 1).tobytes().splitlines()[5].decode().split(",")
    assert (len(number), day[:8], len(amount), len(state)) == (8, "2026-11-", 7, 8)


@pytest.mark.usefixtures("_few_blocks")
def test_the_input_is_made_once_and_told() -> None:
    app, seen = Bzip2({"decompress": "yes"}), list[int]()
    first = app.make_input(9, lambda at, _: seen.append(at))
    assert first is not None
    assert seen == list(range(1, 37))
    assert app.make_input(9, lambda at, _: seen.append(at)) == first
    assert len(seen) == 36


# A file of one's own


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    path = tmp_path / "own.txt"
    path.write_bytes(chunk(0, 5).tobytes() + chunk(1, 5).tobytes() + b"the end")
    return path


def test_an_own_file_is_cut_into_blocks_and_comes_back(plain: Path, tmp_path: Path) -> None:
    app = Bzip2().configured("test", {"input": str(plain)})
    assert app.make_input(1) is None
    results = done(app, 6)  # twice the file
    given_back = b"".join(bz2.decompress(each) for each in results.column("data").to_pylist())
    assert given_back == 2 * plain.read_bytes()
    assert digest(results) == str(app.plain_digest(6))
    truth = app.truth(output(tmp_path / "out", results))
    assert (truth["decompresses"], truth["recall"]) == (True, 1.0)
    plain.write_bytes(plain.read_bytes().replace(b"end", b"And"))
    assert app.truth(tmp_path / "out")["decompresses"] is False


def test_an_own_bzip2_file_is_cut_at_its_streams(plain: Path, tmp_path: Path) -> None:
    bytes_ = plain.read_bytes()
    cuts = [bytes_[:150_000], bytes_[150_000:199_000], bytes_[199_000:]]
    path = tmp_path / "own.bz2"
    path.write_bytes(b"".join(map(bz2.compress, cuts)))
    app = Bzip2().configured("test", {"input": str(path), "decompress": "yes"})
    results = done(app, 3)
    assert results.column("data").to_pylist() == cuts
    truth = app.truth(output(tmp_path / "out", results))
    assert (truth["decompresses"], truth["recall"]) == (True, 1.0)
    assert truth["ratio"] == pytest.approx(path.stat().st_size / len(bytes_))


def test_the_digest_of_an_own_file_is_forgotten_when_it_changes(plain: Path) -> None:
    app = Bzip2().configured("test", {"input": str(plain)})
    before = app._digest_name("test", 1)
    os.utime(plain, ns=(1, 1))
    assert app._digest_name("test", 1) != before
    assert Bzip2().configured("test", {"input": str(plain), "block": "900k"})._digest_name("test", 1) != before


STREAM = bz2.compress(b"some text " * 9000)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (None, {}, "no such file; give the path of a file"),
        (b"", {}, "it is empty; give a file with bytes in it"),
        (b"", {"decompress": "yes"}, "it is empty"),
        (b"plain text", {"decompress": "yes"}, "no bzip2 data; give a .bz2 file, or leave decompress out"),
        (b"text before" + STREAM, {"decompress": "yes"}, "no bzip2 data"),
        (2 * STREAM[:-20], {"decompress": "yes"}, "truncated: its last stream has no end; copy the whole file"),
        (STREAM + STREAM[:40] + bytes(99), {"decompress": "yes"}, "its last stream does not decompress"),
        (b"text", {"data": "mix"}, "a file of your own is not generated; leave it out"),
        (STREAM, {"decompress": "yes", "block": "900k"}, "a .bz2 file has blocks of its own; leave it out"),
    ],
)
def test_an_own_file_that_cannot_work_is_refused(
    content: bytes | None, options: dict[str, str], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "own"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadInputError, match=message):
        Bzip2().configured("test", {"input": str(path), **options})


def test_a_stream_too_long_for_a_worker_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_file, "MOST_STREAM_BYTES", len(STREAM) - 1)
    path = tmp_path / "own.bz2"
    path.write_bytes(STREAM)
    with pytest.raises(BadInputError, match="compress it by pbzip2"):
        Bzip2().configured("test", {"input": str(path), "decompress": "yes"})


# Options and classes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data": "video"}, "data = 'video': no such choice; write one of text, mix"),
        ({"decompress": "maybe"}, "write one of no, yes"),
        ({"block": "1M"}, "write one of 100k, 900k"),
        ({"chunk-rows": "0"}, "chunk-rows"),
        ({"input": "."}, "no such file"),
    ],
)
def test_bad_options_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        Bzip2().configured("test", options)


def test_a_class_has_the_same_bytes_in_blocks_of_either_length() -> None:
    app, large = (Bzip2().configured("small", {"block": block}) for block in ("100k", "900k"))
    assert (app.count("small"), large.count("small")) == (24_000, 2_666)
    assert (app.first_size("small"), large.first_size("small")) == (160, 17)
    assert app.classes["test"].startswith("3,000 items, 0.3 GB")
    with pytest.raises(BadInputError, match="no such size class"):
        Bzip2().configured("giant", {})
