from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from penstock.testing.kafka import jars
from penstock.testing.kafka.jars import Jar, JarList, JarsError, cached, fetch, find

CONTENT = {"a": b"the jar of a", "b": b"the jar of b"}
TWO = JarList(
    "two", tuple(Jar(hashlib.sha256(content).hexdigest(), "org.none", name, "1.0") for name, content in CONTENT.items())
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("PENSTOCK_JARS", raising=False)
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def put(folder: Path, **content: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in content.items():
        (folder / f"{name}-1.0.jar").write_bytes(data)


class Network:
    """Fills a folder as Ivy would, and counts."""

    def __init__(self, **content: bytes) -> None:
        self.content = content or CONTENT
        self.asked = 0

    def __call__(self, wanted: JarList, folder: Path, progress: object) -> None:
        self.asked += 1
        put(folder, **self.content)


def refuse(wanted: JarList, folder: Path, progress: object) -> None:
    raise AssertionError("the network was asked")


def test_jars_are_fetched_once() -> None:
    network = Network()
    assert find(TWO) is None
    paths = fetch(TWO, fill=network)
    assert [path.read_bytes() for path in paths] == list(CONTENT.values())
    assert fetch(TWO, fill=network) == paths == find(TWO)
    assert network.asked == 1


@pytest.mark.parametrize("damage", ["a jar is cut short", "a jar is gone"])
def test_a_torn_cache_is_seen_and_fetched_anew(damage: str) -> None:
    first, _ = fetch(TWO, fill=Network())
    if damage == "a jar is gone":
        first.unlink()
    else:
        first.write_bytes(CONTENT["a"][:-1])
    assert find(TWO) is None
    assert fetch(TWO, fill=Network())[0].read_bytes() == CONTENT["a"]


def test_a_jar_with_a_wrong_sum_is_never_used() -> None:
    with pytest.raises(JarsError, match=r"a-1\.0\.jar has the sha256 .* not used"):
        fetch(TWO, fill=Network(a=b"something else", b=CONTENT["b"]))
    assert find(TWO) is None
    assert not cached(TWO).exists()


def test_a_fetch_that_fails_leaves_nothing_behind(cache: Path) -> None:
    def half(wanted: JarList, folder: Path, progress: object) -> None:
        put(folder, a=CONTENT["a"])
        raise JarsError("the network went away")

    with pytest.raises(JarsError, match="went away"):
        fetch(TWO, fill=half)
    assert sorted(path.name for path in (cache / "jars").iterdir()) == [".lock"]


def _stuck(ready: str) -> None:
    def half(wanted: JarList, folder: Path, progress: object) -> None:
        put(folder, a=b"the ja")
        Path(ready).touch()
        time.sleep(60)

    fetch(TWO, fill=half)


def test_a_killed_fetch_leaves_no_half_cache_and_no_lock(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    process = multiprocessing.get_context("fork").Process(target=_stuck, args=[str(ready)])
    process.start()
    while not ready.exists():
        time.sleep(0.01)
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join()
    assert find(TWO) is None
    assert fetch(TWO, fill=Network())[0].read_bytes() == CONTENT["a"]


def test_a_folder_of_the_user_is_used_and_the_network_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "mine", **CONTENT, other=b"and more")
    monkeypatch.setenv("PENSTOCK_JARS", str(tmp_path / "mine"))
    assert [path.parent for path in fetch(TWO, fill=refuse)] == [tmp_path / "mine"] * 2


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ({}, r"a-1\.0\.jar is not there \(and 1 more\)"),
        ({"a": CONTENT["a"]}, r"b-1\.0\.jar is not there;"),
        ({"a": CONTENT["a"], "b": b"another"}, r"b-1\.0\.jar has the sha256"),
    ],
)
def test_what_is_wrong_in_the_users_folder_is_named(
    content: dict[str, bytes], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch(TWO, fill=Network())  # a good cache does not hide it
    put(tmp_path / "mine", **content)
    monkeypatch.setenv("PENSTOCK_JARS", str(tmp_path / "mine"))
    with pytest.raises(JarsError, match=f"PENSTOCK_JARS = .*{complaint}"):
        fetch(TWO, fill=refuse)


def test_the_cache_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    name = f"two-{TWO.digest}"
    assert cached(TWO) == tmp_path / "cache" / "jars" / name
    monkeypatch.delenv("PENSTOCK_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cached(TWO) == tmp_path / "xdg" / "penstock" / "jars" / name
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cached(TWO) == tmp_path / "home" / ".cache" / "penstock" / "jars" / name


def test_another_version_of_one_jar_has_a_folder_of_its_own() -> None:
    newer = JarList("two", (TWO.jars[0], Jar("0" * 64, "org.none", "b", "1.1")))
    assert cached(newer) != cached(TWO)


def test_a_cache_that_cannot_be_written_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(JarsError, match="set PENSTOCK_CACHE, or put the jars into a folder"):
        fetch(TWO, fill=refuse)


def test_without_java_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JarsError, match="no Java on the PATH: install one"):
        fetch(TWO)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JarsError, match="no Java in JAVA_HOME"):
        fetch(TWO)


def test_without_a_network_the_error_names_the_command_and_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho '\tServer access ERROR: unknown host'\nexit 1\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JarsError) as refused:
        fetch(TWO)
    assert "2 of 2 two jars could not be fetched" in str(refused.value)
    assert "unknown host" in str(refused.value)
    assert jars.COMMAND in str(refused.value)
    assert "PENSTOCK_JARS" in str(refused.value)


@pytest.mark.parametrize("pinned", [jars.BROKER, jars.CONNECTOR], ids=lambda pinned: pinned.name)
def test_the_pinned_lists_are_well_formed(pinned: JarList) -> None:
    assert all(len(jar.sha256) == 64 and jar.group and jar.version for jar in pinned.jars)
    files = [jar.file for jar in pinned.jars]
    assert len(set(files)) == len(files) > 3
