"""The digests of Q1 and Q2: the reference against brute force, and what is committed against the code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from penstock.apps.digest import Digest
from penstock.apps.gasser import reference
from penstock.apps.gasser.app import GasserApp
from penstock.apps.gasser.digest import result_hashes
from penstock.apps.gasser.queries import Q1, Q2, QUERIES, Query
from penstock.errors import BadInputError
from penstock.patterns import parse, parse_arrivals
from penstock.workloads.workload import Workload

FEW = 2_000
BOTH = pytest.mark.parametrize("query", [Q1, Q2], ids=["q1", "q2"])


def small(query: Query, window: str, keys: str | None, seed: int = 1) -> tuple[GasserApp, Workload]:
    """An app, and the first rows of its stream."""
    options = {"window": window} | ({} if keys is None else {"keys": keys})
    app = GasserApp(query).configured("test", options)
    return app, replace(app.workload("test", seed), items=FEW)


def brute_force(app: GasserApp, workload: Workload) -> Digest:
    """Every window as it reads: the rows of a key, then windows of them one by one, interpreted."""
    columns, window, found = workload.columns(0, FEW), app.chosen.window, Digest()
    keys = np.asarray(columns[app.query.key]) if app.chosen.keys else np.zeros(FEW, dtype=int)
    for key in sorted(set(keys.tolist())):
        values = [np.asarray(columns[name])[keys == key] for name in app.query.columns]
        for number in range(len(values[0])):
            start = number * window.every
            rows = [column[start : start + window.length] for column in values]
            if len(rows[0]) < window.length:
                break
            scratch = [np.zeros(int(app.query.kernel.scratch))] * bool(app.query.kernel.scratch)
            outputs = np.array([app.query.kernel.function(*rows, *scratch)])
            at = np.array([number])
            found += Digest.of(result_hashes(key, at, at * window.every, at * window.every + window.length, outputs))
    return found


@BOTH
@pytest.mark.parametrize(("window", "keys"), [("100/25", None), ("7/7", "3"), ("1/1", "1"), ("50/40", "20")])
@pytest.mark.parametrize("chunk", [FEW, 333, 40])
def test_the_reference_is_brute_force_in_chunks_of_any_length(
    query: Query, window: str, keys: str | None, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reference, "_CHUNK", chunk)
    app, workload = small(query, window, keys, seed=4)
    found = reference.reference_digest(app.query, app.chosen, workload)
    assert found == brute_force(app, workload)
    assert found.count > 10


def test_a_digest_depends_on_everything_but_the_order_of_results() -> None:
    random = np.random.default_rng(3)
    windows, outputs = np.arange(50), random.normal(scale=100, size=(50, 4))
    starts = 25 * windows

    def digest(order: np.ndarray, key: int = 2, moved: int = 0, more: float = 0.0) -> Digest:
        at = starts[order] + moved
        return Digest.of(result_hashes(key, windows[order], at, at + 100, outputs[order] + more))

    straight = np.arange(50)
    assert digest(straight) == digest(random.permutation(50))
    halves = [digest(part) for part in (straight[30:], straight[:30])]
    assert halves[0] + halves[1] == digest(straight)
    others = [digest(straight, key=3), digest(straight, moved=25), digest(straight, more=0.001), digest(straight[1:])]
    assert digest(straight) not in others


def test_the_last_bit_of_an_output_decides_nothing() -> None:
    (price,) = (np.asarray(GasserApp(Q1).workload("test").columns(0, 5000)["price"]),)
    outputs = np.array([Q1.kernel.function(price[at : at + 500]) for at in range(0, 4500, 25)])
    at = np.arange(len(outputs))
    once, nearly = (result_hashes(0, at, at, at, each) for each in (outputs, np.nextafter(outputs, np.inf)))
    assert np.array_equal(once, nearly)


def test_committed_digests_are_of_the_code_as_it_is() -> None:
    entries = reference.DIGESTS.entries()
    wanted = set()
    for query in QUERIES.values():
        for size_class in ("test", "small"):
            for options in ({}, {"keys": "500"}):
                app = GasserApp(query).configured(size_class, options)
                name = reference.name_of(query, size_class, app.chosen, seed=1)
                wanted.add(name)
                parts = (query, app.chosen, app.workload(size_class))
                assert entries[name]["sample"] == str(reference.sample_digest(*parts))
                assert app.known_digest(size_class) == entries[name]["whole"]
    assert set(entries) == wanted


def test_the_digest_of_a_whole_class_is_the_committed_one() -> None:
    app = GasserApp(Q1).configured("test", {"keys": "500"})
    digest = reference.reference_digest(app.query, app.chosen, app.workload("test"))
    assert str(digest) == app.known_digest("test")


@BOTH
def test_any_other_digest_is_computed_once_and_depends_on_class_window_keys_and_seed(
    query: Query, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    query = replace(query, rows={"test": FEW, "small": 2 * FEW})
    app, seen = GasserApp(query).configured("test", {"window": "100/25"}), list[int]()
    assert app.known_digest("test", 7) is None
    digest = app.reference_digest("test", 7, progress=lambda done, _: seen.append(done))
    assert seen == [FEW]
    assert app.configured("test", {"window": "100/25", "device": "numpy"}).known_digest("test", 7) == digest
    others = [{"window": "100/50"}, {"window": "100/25", "keys": "2"}]
    assert [app.configured("test", each).known_digest("test", 7) for each in others] == [None, None]
    assert (app.known_digest("test", 8), app.known_digest("small", 7)) == (None, None)
    # A class that has other rows by now is another class.
    assert replace(app, query=replace(query, rows={"test": FEW + 1})).known_digest("test", 7) is None


def test_an_endless_workload_has_no_digest() -> None:
    endless = Workload(parse_arrivals("saturated"), parse("constant:value=1"))
    with pytest.raises(BadInputError, match="endless"):
        reference.reference_digest(Q1, GasserApp(Q1).chosen, endless)
