"""The jars of a Kafka broker and of Spark's Kafka connector: pinned lists, fetched once into a cache, checked by sum.

`python -m penstock.testing.kafka.jars` fetches both lists. The cache is `$PENSTOCK_CACHE`, else
`$XDG_CACHE_HOME/penstock`, else `~/.cache/penstock`. Where no network can be reached, put the jars of `broker.txt` and
`connector.txt` into a folder and name it in `PENSTOCK_JARS`.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path

from penstock.distribution import install_command
from penstock.errors import MissingExtraError, PenstockError
from penstock.progress import Say

log = logging.getLogger("penstock")

COMMAND = "python -m penstock.testing.kafka.jars"
_CLOSED = "or put the jars into a folder and name it in PENSTOCK_JARS (docs/kafka.md)"
_QUIET_S = 2.0
_PATIENCE_S = 900.0

Fill = Callable[["JarList", Path, Say], None]


class JarsError(PenstockError):
    """Jars that are not there, not the right ones, or cannot be fetched; the text says what to do."""


@dataclass(frozen=True)
class Jar:
    """One jar, by its coordinates and the sum of its content.

    >>> Jar("0" * 64, "org.apache.kafka", "kafka-clients", "3.9.2").file
    'kafka-clients-3.9.2.jar'
    """

    sha256: str
    group: str
    artifact: str
    version: str

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.artifact}-{self.version}.jar"

    def fault_in(self, folder: Path) -> str | None:
        """What is wrong with this jar in a folder, or None where it is there and whole."""
        try:
            with (folder / self.file).open("rb") as content:
                found = hashlib.file_digest(content, "sha256").hexdigest()
        except OSError:
            return f"{self.file} is not there"
        return None if found == self.sha256 else f"{self.file} has the sha256 {found}, not {self.sha256}"


@dataclass(frozen=True)
class JarList:
    """Jars that belong together."""

    name: str
    jars: tuple[Jar, ...]

    @classmethod
    def read(cls, name: str) -> JarList:
        """The pinned list that lies beside this module."""
        lines = resources.files("penstock.testing.kafka").joinpath(f"{name}.txt").read_text("utf-8").splitlines()
        pairs = (line.split() for line in lines if not line.startswith("#"))
        return cls(name, tuple(Jar(sha256, *coordinates.split(":")) for sha256, coordinates in pairs))

    @cached_property
    def digest(self) -> str:
        """Names this very list: another version of one jar gives another digest."""
        text = "\n".join(f"{jar.sha256} {jar.file}" for jar in self.jars)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def paths(self, folder: Path) -> tuple[Path, ...]:
        """Where the jars are in a folder that holds them."""
        return tuple(folder / jar.file for jar in self.jars)

    def faults(self, folder: Path) -> list[str]:
        """What is missing or wrong in a folder."""
        return [fault for jar in self.jars if (fault := jar.fault_in(folder)) is not None]


BROKER = JarList.read("broker")
CONNECTOR = JarList.read("connector")


def find(jars: JarList) -> tuple[Path, ...] | None:
    """The jars, if they are on this machine already; never touches the network.

    A folder named by `PENSTOCK_JARS` is the user's word: what is wrong in it is an error, and the cache is not asked.
    """
    if (given := os.environ.get("PENSTOCK_JARS")) is not None:
        if faults := jars.faults(Path(given)):
            more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            raise JarsError(
                f"PENSTOCK_JARS = {given!r}: {faults[0]}{more}; the {jars.name} needs the jars of {jars.name}.txt"
            )
        return jars.paths(Path(given))
    folder = cached(jars)
    return None if jars.faults(folder) else jars.paths(folder)


def fetch(jars: JarList, progress: Say = log.info, fill: Fill | None = None) -> tuple[Path, ...]:
    """The jars, fetched if they are not on this machine yet.

    They come into a folder beside the cache's and get their name there in one step, when all sums are right: a fetch
    that is killed leaves nothing that looks like a cache.
    """
    if (found := find(jars)) is not None:
        return found
    folder = cached(jars)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _alone(folder.parent):
            # Another process may have fetched them while this one waited.
            if jars.faults(folder):
                _replace(folder, jars, progress, fill or by_ivy)
    except OSError as error:
        raise JarsError(f"no cache at {folder.parent} ({error.strerror}): set PENSTOCK_CACHE, {_CLOSED}") from error
    return jars.paths(folder)


def cached(jars: JarList) -> Path:
    """The cache's folder for a list, whether or not it is there."""
    base = os.environ.get("PENSTOCK_CACHE")
    if not base:
        base = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "penstock")
    return Path(base) / "jars" / f"{jars.name}-{jars.digest}"


def _replace(folder: Path, jars: JarList, progress: Say, fill: Fill) -> None:
    coming = folder.parent / ".coming"
    # What a killed fetch left; nobody else is here.
    shutil.rmtree(coming, ignore_errors=True)
    coming.mkdir()
    try:
        fill(jars, coming, progress)
        if faults := jars.faults(coming):
            raise JarsError(f"fetched, but {faults[0]}: not used; try again, {_CLOSED}")
        shutil.rmtree(folder, ignore_errors=True)
        coming.rename(folder)
    finally:
        shutil.rmtree(coming, ignore_errors=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One fetch at a time; a killed one gives its lock up with its life."""
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def by_ivy(jars: JarList, folder: Path, progress: Say) -> None:
    """Fetch a list with the Ivy that PySpark brings; it needs Java and the network."""
    with tempfile.TemporaryDirectory(prefix="penstock-ivy-") as scratch:
        wanted = Path(scratch) / "ivy.xml"
        wanted.write_text(_ivy_file(jars), "utf-8")
        settings = resources.files("penstock.testing.kafka").joinpath("ivysettings.xml")
        said = _run_ivy(
            [
                *("-settings", str(settings), "-ivy", str(wanted), "-cache", os.path.join(scratch, "cache")),
                *("-retrieve", f"{folder}/[artifact]-[revision].[ext]", "-types", "jar", "-confs", "default"),
            ],
            jars,
            progress,
        )
    if absent := [jar.file for jar in jars.jars if not (folder / jar.file).exists()]:
        why = next(
            (line.strip() for line in said if "ERROR" in line or "Exception" in line), "the network gave nothing"
        )
        raise JarsError(
            f"{len(absent)} of {len(jars.jars)} {jars.name} jars could not be fetched, e.g. {absent[0]} ({why}): "
            f"see to the network and run: {COMMAND}, {_CLOSED}"
        )


def _ivy_file(jars: JarList) -> str:
    lines = "".join(
        f'<dependency org="{jar.group}" name="{jar.artifact}" rev="{jar.version}" transitive="false" conf="default"/>'
        for jar in jars.jars
    )
    return (
        f'<ivy-module version="2.0"><info organisation="penstock" module="{jars.name}"/>'
        f'<configurations><conf name="default"/></configurations><dependencies>{lines}</dependencies></ivy-module>'
    )


def _run_ivy(arguments: Sequence[str], jars: JarList, progress: Say) -> list[str]:
    """What Ivy said; past two seconds, how far it is."""
    command = [java(), "-jar", str(_ivy_jar()), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    patience = threading.Timer(_PATIENCE_S, process.kill)
    patience.start()
    said: list[str] = []
    done, shown_s = 0, time.monotonic()
    try:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            done += "[SUCCESSFUL" in line
            if time.monotonic() - shown_s > _QUIET_S:
                progress(f"fetching the jars of the {jars.name}: {done} of {len(jars.jars)}")
                shown_s = time.monotonic()
        process.wait()
    finally:
        patience.cancel()
        process.kill()
        process.wait()
    return said


def java() -> str:
    """The Java that Spark would start."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(os.path.join(home, "bin", "java") if home else "java")
    if found is None:
        where = f"in JAVA_HOME = {home}" if home else "on the PATH"
        raise JarsError(
            f"no Java {where}: install one, e.g. apt-get install openjdk-17-jre-headless; see: penstock doctor"
        )
    return found


def _ivy_jar() -> Path:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("pyspark", "spark")
    jars = Path(spec.submodule_search_locations[0], "jars")
    found = sorted(jars.glob("ivy-*.jar"))
    if not found:
        raise JarsError(f"this PySpark brings no Ivy ({jars}): install the whole one: {install_command('spark')}")
    return found[0]


def main() -> None:
    """Fetch both lists and say where they are."""
    try:
        for jars in (CONNECTOR, BROKER):
            paths = fetch(jars, lambda line: print(f"penstock: {line}", flush=True))
            print(f"penstock: {len(paths)} {jars.name} jars in {paths[0].parent}")
    except PenstockError as error:
        print(f"penstock: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
