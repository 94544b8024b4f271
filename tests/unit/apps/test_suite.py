"""What the suite's applications share, on the example that CONTRIBUTING prints."""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from penstock.apps.digest import Digest
from penstock.apps.suite.app import chunked, number_batch, run_app
from penstock.apps.suite.inputs import Input
from penstock.apps.suite.results import hash_of
from penstock.errors import BadInputError
from penstock.stages.arrow import vector

CONTRIBUTING = Path(__file__).parents[3] / "CONTRIBUTING.md"


@pytest.fixture
def primes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class that the page prints, as a module of its own."""
    blocks = re.findall(r"```python\n(.*?)```", CONTRIBUTING.read_text(encoding="utf-8"), re.DOTALL)
    (text,) = [block for block in blocks if "class Primes(SuiteApp)" in block]
    (tmp_path / "digests.json").write_text("{}")
    module = ModuleType("printed_primes")
    module.__file__ = str(tmp_path / "app.py")
    monkeypatch.setitem(sys.modules, "printed_primes", module)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    exec(compile(text, module.__file__, "exec"), module.__dict__)
    return module.Primes()


def digest(app: Any, batches: list[Any]) -> Digest:
    hashes = [vector(done, "hash").astype(np.int64).view(np.uint64) for done in run_app(app, batches)]
    return sum((Digest.of(each) for each in hashes), Digest())


@pytest.mark.parametrize("chunk_rows", ["1", "3", "1000"])
def test_the_printed_application_gives_the_same_in_any_batches_and_chunks(primes: Any, chunk_rows: str) -> None:
    app = primes.configured("test", {"chunk-rows": chunk_rows})
    cuts = [0, 7, 8, 30, 50]
    batches = [number_batch(start, stop, 1) for start, stop in itertools.pairwise(cuts)]
    assert digest(app, batches[::-1]) == primes.plain_digest(50, seed=1) != primes.plain_digest(50, seed=2)


def test_the_printed_application_is_right_and_remembers_its_digest(primes: Any) -> None:
    (done,) = run_app(primes.configured("test", {"chunk-rows": "40"}), [number_batch(0, 40, 1)])
    assert vector(done, "matched").sum() == vector(done, "expected").sum() == 40
    assert primes.known_digest("test") is None
    assert primes.reference_digest("test") == primes.known_digest("test") == str(primes.plain_digest(2_000))


@pytest.mark.parametrize("options", [{"chunk-rows": "0"}, {"chunk-rows": "many"}, {"chunk-rows": "-1"}])
def test_chunks_of_no_items_are_refused(primes: Any, options: dict[str, str]) -> None:
    with pytest.raises(BadInputError, match=r"chunk-rows = .*: not a whole number of 1 or more"):
        primes.configured("test", options)


def test_a_class_that_does_not_exist_is_refused(primes: Any) -> None:
    with pytest.raises(BadInputError, match="class = 'enormous': no such size class; choose one of: test, small"):
        primes.configured("enormous", {})


def test_chunks_keep_all_rows_in_order() -> None:
    chunks = chunked([number_batch(0, 5, 1), number_batch(5, 6, 1)], 2)
    assert [vector(chunk, "id").tolist() for chunk in chunks] == [[0, 1], [2, 3], [4], [5]]


def test_an_input_is_made_once_whole_and_mapped_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    made: list[int] = []

    def make(index: int, seed: int) -> Any:
        made.append(index)
        return np.full((2, 3), index + seed, np.uint8)

    told: list[tuple[int, int]] = []
    source = Input("toy", make, distinct=4)
    path = source.ready(7, lambda done, of: told.append((done, of)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert source.ready(7) == path
    assert made == [0, 1, 2, 3]
    assert source.items(7)[:, 0, 0].tolist() == [7, 8, 9, 10]
    with pytest.raises(ValueError, match="read-only"):
        source.items(7)[0] = 0
    assert list(path.parent.iterdir()) == [path]


def test_an_input_that_could_not_be_made_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))

    def make(index: int, seed: int) -> Any:
        if index == 2:
            raise OSError("no space left")
        return np.zeros(3)

    with pytest.raises(OSError, match="no space left"):
        Input("toy", make, distinct=4).ready(1)
    assert not list((tmp_path / "inputs").iterdir())


def test_a_damaged_input_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    source = Input("toy", lambda index, seed: np.zeros(3), distinct=4)
    path = source.path(1)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not an array")
    with pytest.raises(BadInputError, match="delete it, and it is made anew"):
        source.items(1)


def test_hashes_tell_order_length_and_sign() -> None:
    values = [[], [0], [0, 0], [1, 2], [2, 1], [-1], [2**40]]
    assert len({hash_of(each) for each in values}) == len(values)
