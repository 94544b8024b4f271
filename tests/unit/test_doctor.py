from __future__ import annotations

import sys

import pytest

from penstock.bench import doctor
from penstock.bench.doctor import gpu, healthy, java, package, spark


@pytest.mark.parametrize(
    ("said", "ok", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', True, "17.0.15"),
        ('java version "21" 2023-09-19 LTS', True, "21"),
        ('openjdk version "11.0.2"', False, "11.0.2"),
        ('java version "1.8.0_392"', False, "1.8.0_392"),
        ("no such thing", False, None),
        (None, False, None),
    ],
)
def test_java_must_be_17_or_newer(said: str | None, ok: bool, version: str | None) -> None:
    found = java(lambda command: said)
    assert (found.ok, found.version) == (ok, version)
    assert bool(found.advice) is not ok


def test_java_home_is_looked_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setenv("JAVA_HOME", "/opt/java")
    found = java(lambda command: asked.append(command[0]))
    assert asked == ["/opt/java/bin/java"]
    assert "JAVA_HOME = /opt/java" in found.advice


@pytest.mark.parametrize(
    ("version", "ok", "advice"),
    [
        ("3.5.1", False, "4.0 to 4.3"),
        ("4.0.0", True, "need 4.2"),
        ("4.2.0", True, ""),
        ("4.3.1", True, ""),
        ("4.4.0", False, "4.0 to 4.3"),
        ("5.0.0.dev1", False, "4.0 to 4.3"),
    ],
)
def test_spark_versions(version: str, ok: bool, advice: str) -> None:
    found = spark({"pyspark": version}.get)
    assert found.ok is ok
    assert advice in found.advice
    assert bool(advice) is bool(found.advice)


@pytest.mark.parametrize(
    ("name", "version", "ok"),
    [
        ("pandas", "2.3.3", True),
        ("pandas", "3.0.0", False),
        ("pandas", "2.1.0", False),
        ("numba", "0.60.0", True),
        ("numba", "0.59.1", False),
        ("protobuf", "7.36.2", True),
    ],
)
def test_package_versions(name: str, version: str, ok: bool) -> None:
    assert package(name, {name: version}.get).ok is ok


def test_what_is_absent_comes_with_its_install_command() -> None:
    absent = [spark({}.get), package("numba", {}.get), package("matplotlib", {}.get)]
    assert [check.advice for check in absent] == [
        "not installed: pip install 'penstock[spark]'",
        "not installed: pip install 'penstock[spark]'",
        "not installed: pip install 'penstock[report]'",
    ]
    assert [healthy([check]) for check in absent] == [False, False, True]


@pytest.mark.parametrize(
    ("said", "usable", "ok", "version"),
    [
        (None, True, False, None),
        ("A100, 550.1\n", True, True, "A100, 550.1"),
        ("A100, 550.1", False, False, "A100, 550.1"),
    ],
)
def test_a_gpu_is_never_needed(said: str | None, usable: bool, ok: bool, version: str | None) -> None:
    found = gpu(lambda command: said, lambda: usable)
    assert (found.ok, found.version, found.needed) == (ok, version, False)


def test_a_program_that_is_absent_or_fails_says_nothing() -> None:
    assert doctor.output_of(["penstock-no-such-program"]) is None
    assert doctor.output_of([sys.executable, "-c", "raise SystemExit(1)"]) is None
    assert doctor.output_of([sys.executable, "-c", "import sys; print(1); print(2, file=sys.stderr)"]) == "1\n2\n"


def test_examine_looks_at_everything() -> None:
    names = [check.name for check in doctor.examine()]
    assert names == ["Python", "Java", "Spark", "pyarrow", "pandas", "protobuf", "numba", "matplotlib", "plotly", "GPU"]
