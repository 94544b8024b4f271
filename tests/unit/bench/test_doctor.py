from __future__ import annotations

import sys
from pathlib import Path

import pytest

from penstock.bench.doctor import kafka_trial as trial_module
from penstock.bench.doctor import machine as doctor
from penstock.bench.doctor.kafka_visit import connector, retention, visit
from penstock.bench.doctor.machine import gpu, healthy, java, package, shuffle_partitions, spark, spark_defaults
from penstock.errors import BadInputError


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
        "not installed: pip install 'penstock-spark[spark]'",
        "not installed: pip install 'penstock-spark[spark]'",
        "not installed: pip install 'penstock-spark[report]'",
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
    packages = [
        "pyarrow",
        "pandas",
        "protobuf",
        "numba",
        "matplotlib",
        "plotly",
        "jinja2",
        "confluent-kafka",
        "prometheus-client",
    ]
    devices = ["device numpy", "device numba", "device numba-parallel", "device cuda"]
    assert names == ["Python", "Java", "Spark", *packages, "GPU", *devices, "spark.sql.shuffle.partitions"]


def test_no_device_is_needed() -> None:
    found = doctor.devices({"numpy": None, "numba": "numba is not installed"})
    assert [(check.name, check.ok) for check in found] == [("device numpy", True), ("device numba", False)]
    assert "numba is not installed" in found[1].advice
    assert healthy(found)


@pytest.mark.parametrize(
    ("set_to", "cores", "warned"),
    [(None, 2, True), (None, 64, False), ("200", 4, True), ("16", 2, False), ("17", 2, True)],
)
def test_many_shuffle_partitions_are_told_and_never_fail_the_doctor(
    set_to: str | None, cores: int, warned: bool
) -> None:
    found = shuffle_partitions({} if set_to is None else {"spark.sql.shuffle.partitions": set_to}, cores)
    assert bool(found.advice) is warned
    assert healthy([found])
    assert (found.version or "").startswith(set_to or "200 (Spark's default)")
    if warned:
        assert "20 times slower" in found.advice
        assert "checkpoint freezes the number" in found.advice
        assert f"e.g. {2 * cores} for" in found.advice


def test_the_defaults_of_spark_are_read_where_spark_reads_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    assert spark_defaults() == {}
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert spark_defaults() == {}
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(
        "# a comment\n\nspark.sql.shuffle.partitions   8\nspark.jars.packages=a:b:1\nspark.alone\n"
    )
    assert spark_defaults() == {"spark.sql.shuffle.partitions": "8", "spark.jars.packages": "a:b:1"}
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert spark_defaults() == {}


@pytest.mark.parametrize(
    ("config", "kept", "advice"),
    [
        ({"retention.ms": "604800000"}, "7 days", "admits more from a lag of 3.5 days on"),
        ({"retention.ms": "60000", "retention.bytes": "-1"}, "60 s", "admits more from a lag of 30 s on"),
        ({"retention.ms": "7200000", "retention.bytes": "5000"}, "2 hours", "past 5k bytes a partition"),
        ({"retention.ms": "-1"}, "for ever", "knows no limit; give attach a max_lag"),
        ({}, None, "give attach a max_lag"),
        (None, None, "give attach a max_lag"),
    ],
)
def test_a_topics_retention_tells_what_the_lag_guard_will_use(
    config: dict[str, str] | None, kept: str | None, advice: str
) -> None:
    found = retention("clicks", config)
    assert found.version == kept
    assert advice in found.advice
    assert healthy([found])


def test_the_connector_is_found_in_sparks_jars_or_defaults(tmp_path: Path) -> None:
    absent = connector(tmp_path, {"spark.jars": "/opt/other.jar"})
    assert (absent.ok, absent.needed) == (False, False)
    assert "spark.jars.packages = org.apache.spark:spark-sql-kafka-0-10_2.13:" in absent.advice
    assert connector(tmp_path, {"spark.jars": "/opt/spark-sql-kafka-0-10_2.13-4.2.0.jar"}).version == "by spark.jars"
    (tmp_path / "spark-sql-kafka-0-10_2.13-4.2.0.jar").touch()
    assert connector(tmp_path, {}).version == "spark-sql-kafka-0-10_2.13-4.2.0"


def test_an_address_without_a_port_is_refused() -> None:
    with pytest.raises(BadInputError, match="write HOST:PORT"):
        list(visit("localhost", None, lambda line: None))


def test_a_spark_without_a_pinned_connector_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_module, "version", lambda name: "4.0.1")
    (found,) = trial_module.trial(lambda line: None)
    assert (found.name, found.ok) == ("Kafka connector", False)
    assert "this is 4.0.1" in found.advice
    assert "spark-sql-kafka-0-10_2.13:4.0.1" in found.advice


def test_a_trial_ends_with_the_step_that_failed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PENSTOCK_JARS", str(tmp_path))
    said: list[str] = []
    (found,) = trial_module.trial(said.append)
    assert (found.name, found.ok, found.needed) == ("Kafka connector", False, True)
    assert "is not there" in found.advice
    assert said == ["looking for the connector's jars", "stopping what was started"]
