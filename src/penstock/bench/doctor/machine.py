"""What a machine has and lacks for Penstock, and what to do about it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from penstock.devices.registry import why_not_here
from penstock.distribution import install_command
from penstock.spark.defaults import spark_defaults

PYTHON_FROM = (3, 11)
JAVA_FROM = 17
SHUFFLE, SHUFFLE_DEFAULT, MANY_PARTITIONS = "spark.sql.shuffle.partitions", 200, 8
SPARK_FROM, SPARK_BELOW, SPARK_SOURCE_FROM = (4, 0), (4, 4), (4, 2)
_PACKAGES = {
    "pyarrow": (True, (15,), None),
    "pandas": (True, (2, 2), (3,)),
    "protobuf": (True, (5, 28), None),
    "numba": (True, (0, 60), None),
    "matplotlib": (False, (3, 8), None),
    "plotly": (False, (6, 0), None),
    "jinja2": (False, (3, 1), None),
    "confluent-kafka": (False, (2, 5), None),
    "prometheus-client": (False, (0, 20), None),
}
_SPARK_EXTRA = install_command("spark")
_INSTALL = {
    "matplotlib": install_command("report"),
    "plotly": install_command("report"),
    "jinja2": install_command("report"),
    "confluent-kafka": install_command("kafka"),
    "prometheus-client": install_command("metrics"),
}
_JAVA_HELP = "apt-get install openjdk-17-jre-headless, or point JAVA_HOME to a Java 17+"

Run = Callable[[Sequence[str]], str | None]
Find = Callable[[str], str | None]


@dataclass(frozen=True)
class Check:
    """One thing that was looked for. `advice` says what to do, or what the thing is good for."""

    name: str
    ok: bool
    needed: bool
    version: str | None
    advice: str


def examine() -> list[Check]:
    """Everything, looked at on this machine."""
    packages = [package(name, installed) for name in _PACKAGES]
    machine = [python(), java(), spark(installed), *packages, gpu(), *devices(why_not_here())]
    return [*machine, shuffle_partitions(spark_defaults())]


def healthy(checks: Sequence[Check]) -> bool:
    """Whether all that is needed is there.

    >>> healthy([Check("gpu", ok=False, needed=False, version=None, advice="none is needed")])
    True
    """
    return all(check.ok for check in checks if check.needed)


def python() -> Check:
    """The Python that runs this."""
    here = ".".join(map(str, sys.version_info[:3]))
    ok = sys.version_info >= PYTHON_FROM
    return Check("Python", ok, True, here, "" if ok else "install Python 3.11 or newer")


def java(run: Run | None = None) -> Check:
    """The Java that Spark would start.

    >>> java(lambda command: 'openjdk version "1.8.0_392"').advice
    'too old, Spark 4 needs 17 or newer: apt-get install openjdk-17-jre-headless, or point JAVA_HOME to a Java 17+'
    """
    home = os.environ.get("JAVA_HOME")
    said = (run or output_of)([os.path.join(home, "bin", "java") if home else "java", "-version"])
    found = re.search(r'version "([^"]+)"', said or "")
    if found is None:
        where = f"none in JAVA_HOME = {home}: " if home else "not found: "
        return Check("Java", False, True, None, where + _JAVA_HELP)
    # Before 9 the first number was always 1.
    major, minor, *_ = (*_numbers(found[1]), 0)
    ok = (minor if major == 1 else major) >= JAVA_FROM
    return Check("Java", ok, True, found[1], "" if ok else f"too old, Spark 4 needs 17 or newer: {_JAVA_HELP}")


def spark(find: Find) -> Check:
    """PySpark: attach works from 4.0 on, the source of the benchmark from 4.2 on.

    >>> spark({"pyspark": "4.0.1"}.get).advice
    'attach works; penstock run and demo need 4.2 or newer'
    """
    here = find("pyspark")
    if here is None:
        return Check("Spark", False, True, None, f"not installed: {_SPARK_EXTRA}")
    release = _numbers(here)
    if not SPARK_FROM <= release < SPARK_BELOW:
        return Check("Spark", False, True, here, f"4.0 to 4.3 are supported: {_SPARK_EXTRA}")
    advice = "" if release >= SPARK_SOURCE_FROM else "attach works; penstock run and demo need 4.2 or newer"
    return Check("Spark", True, True, here, advice)


def package(name: str, find: Find) -> Check:
    """A Python package that Penstock uses.

    >>> package("pandas", {"pandas": "3.0.1"}.get).advice
    "below 3 is supported: pip install 'penstock-spark[spark]'"
    """
    needed, least, below = _PACKAGES[name]
    install = _INSTALL.get(name, _SPARK_EXTRA)
    here = find(name)
    if here is None:
        return Check(name, False, needed, None, f"not installed: {install}")
    if _numbers(here) < least:
        return Check(name, False, needed, here, f"{_dotted(least)} or newer is supported: {install}")
    if below is not None and _numbers(here) >= below:
        return Check(name, False, needed, here, f"below {_dotted(below)} is supported: {install}")
    return Check(name, True, needed, here, "")


def gpu(run: Run | None = None, usable: Callable[[], bool] | None = None) -> Check:
    """An NVIDIA GPU, and whether Numba can use it; never needed."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    said = ((run or output_of)(query) or "").strip()
    if not said:
        return Check("GPU", False, False, None, "none found; none is needed, kernels run on the CPU")
    first = said.splitlines()[0]
    if (usable or (lambda: why_not_here()["cuda"] is None))():
        return Check("GPU", True, False, first, "")
    return Check("GPU", False, False, first, "Numba cannot use it: pip install numba-cuda and a CUDA toolkit")


def devices(why_not: Mapping[str, str | None]) -> list[Check]:
    """What can run kernels over windows; `numpy` always can, so that none of them is needed.

    >>> [check.advice for check in devices({"numpy": None, "cuda": "no NVIDIA driver"})]
    ['', 'no NVIDIA driver; none is needed']
    """
    return [
        Check(f"device {name}", why is None, False, None, f"{why}; none is needed" if why else "")
        for name, why in why_not.items()
    ]


def shuffle_partitions(defaults: Mapping[str, str], cores: int | None = None) -> Check:
    """How many partitions Spark's defaults cut the state of a query into.

    >>> shuffle_partitions({"spark.sql.shuffle.partitions": "8"}, cores=4).advice
    ''
    """
    cores = cores or os.cpu_count() or 1
    set_to = defaults.get(SHUFFLE)
    count = int(set_to) if set_to and set_to.isdigit() else SHUFFLE_DEFAULT
    here = str(count) if set_to else f"{count} (Spark's default)"
    if count <= MANY_PARTITIONS * cores:
        return Check(SHUFFLE, True, False, here, "")
    advice = (
        "200 made small batches of a stateful query 20 times slower than 2 (1,000 rows took 6.3 s and 0.29 s), and a "
        f"checkpoint freezes the number: set it to a small multiple of the cores, e.g. {2 * cores} for the {cores} "
        "here, before the first start"
    )
    return Check(SHUFFLE, True, False, here, advice)


def installed(name: str) -> str | None:
    """The version of an installed package, found without importing it."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def output_of(command: Sequence[str]) -> str | None:
    """What a program says on both of its outputs, or None where it cannot be run."""
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout + done.stderr


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])


def _dotted(release: tuple[int, ...]) -> str:
    return ".".join(map(str, release))
