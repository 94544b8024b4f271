from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.apps.digest import Digest, committed_files, digest_of_directory
from penstock.apps.military import reference
from penstock.apps.military.app import MilitaryServer
from penstock.bench.demo import race
from penstock.errors import BadInputError

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ITEMS = 120


def write_batch(directory: Path, batch_id: int, ids: list[int], hashes: list[int], compact: str = "") -> None:
    """One file and its entry in the log, as Spark's Parquet sink leaves them."""
    log = directory / "_spark_metadata"
    log.mkdir(exist_ok=True)
    name = f"part-{batch_id}.parquet"
    parquet.write_table(pa.table({"id": ids, "hash": hashes}), directory / name)
    line = json.dumps({"path": f"file:///elsewhere/{name}", "action": "add"})
    (log / f"{batch_id}{'.compact' if compact else ''}").write_text(f"v1\n{compact}{line}")


@settings(max_examples=25)
@given(cuts=st.lists(st.integers(0, ITEMS), max_size=6))
def test_batches_of_any_size_give_the_same_digest(cuts: list[int]) -> None:
    workload = MilitaryServer().workload("test", seed=9, cost="wave:min=4,max=400,period=50")
    edges = sorted({0, *cuts, ITEMS})
    parts = [reference.slice_digest(workload, *edge) for edge in pairwise(edges)]
    assert sum(reversed(parts), Digest()) == reference.slice_digest(workload, 0, ITEMS)


def test_committed_digests_are_of_the_code_as_it_is() -> None:
    committed = reference.DIGESTS.entries()
    assert {reference.key(name, 1, "thesis") for name in ("test", "small")} <= set(committed)
    assert reference.key(race.SPEC.size_class, race.SPEC.seed, race.SPEC.cost) in committed
    for key, entry in committed.items():
        size_class, seed, cost = key.split(" ", 2)
        workload = MilitaryServer().workload(size_class, int(seed[5:]), cost=cost[5:])
        assert entry["sample"] == str(reference.sample_digest(workload))
        assert entry["whole"].startswith(f"{workload.items}-")


def test_whole_digest_is_the_sum_of_all_slices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    app, cost, seen = MilitaryServer(), "constant:value=1", list[int]()
    workload = app.workload("test", seed=77, cost=cost)
    assert workload.items is not None
    assert app.known_digest("test", 77, cost) is None
    digest = app.reference_digest("test", 77, cost, lambda done, _: seen.append(done))
    assert digest == str(reference.slice_digest(workload, 0, workload.items))
    assert seen == sorted(seen)
    assert seen[-1] == workload.items
    assert app.known_digest("test", 77, cost) == digest
    assert app.known_digest("test", 78, cost) is None


def test_a_batch_written_twice_counts_once(tmp_path: Path) -> None:
    write_batch(tmp_path, 0, [1, 2], [10, -3])
    once = digest_of_directory(tmp_path)
    write_batch(tmp_path, 1, [2, 1], [-3, 10])
    assert digest_of_directory(tmp_path) == once == Digest.of(np.array([10, -3]).view(np.uint64))


def test_an_item_with_two_results_spoils_the_digest(tmp_path: Path) -> None:
    write_batch(tmp_path, 0, [1, 2], [10, 20])
    write_batch(tmp_path, 1, [2], [21])
    assert digest_of_directory(tmp_path).count == 3


def test_files_that_no_batch_committed_do_not_count(tmp_path: Path) -> None:
    write_batch(tmp_path, 0, [1], [10])
    parquet.write_table(pa.table({"id": [5], "hash": [50]}), tmp_path / "part-crashed.parquet")
    assert digest_of_directory(tmp_path).count == 1


def test_a_compacted_log_is_read_once(tmp_path: Path) -> None:
    for batch_id in range(9):
        write_batch(tmp_path, batch_id, [batch_id], [batch_id])
    before = "".join(json.dumps({"path": f"part-{batch_id}.parquet", "action": "add"}) + "\n" for batch_id in range(9))
    write_batch(tmp_path, 9, [9], [9], compact=before)
    write_batch(tmp_path, 10, [10], [10])
    assert [path.name for path in committed_files(tmp_path)] == [f"part-{number}.parquet" for number in range(11)]
    assert digest_of_directory(tmp_path) == Digest.of(np.arange(11, dtype=np.uint64))


def test_a_directory_of_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no batch was committed there"):
        digest_of_directory(tmp_path)


def test_an_endless_workload_has_no_digest() -> None:
    from penstock.patterns import parse, parse_arrivals
    from penstock.workloads.workload import Workload

    with pytest.raises(BadInputError, match="endless"):
        reference.reference_digest(Workload(parse_arrivals("saturated"), parse("constant:value=4")))
